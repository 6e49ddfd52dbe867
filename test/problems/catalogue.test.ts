import { STATUS_CODES } from 'node:http';
import { parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { catalogue, type ProblemCode, type ProblemKind } from '../../gateway/problems/catalogue.ts';
import { problemBody, problemFields, statusOf, typeUriOf } from '../../gateway/problems/problem.ts';

const codes = Object.keys(catalogue) as ProblemCode[];
const kinds: readonly (readonly [ProblemCode, ProblemKind])[] = codes.map((code) => [code, catalogue[code]]);

/** The error types of RFC 9209 §2.3. */
const registered = new Set(
  `dns_timeout dns_error destination_not_found destination_unavailable destination_ip_prohibited
  destination_ip_unroutable connection_refused connection_terminated connection_timeout connection_read_timeout
  connection_write_timeout connection_limit_reached tls_protocol_error tls_certificate_error tls_alert_received
  http_request_error http_request_denied http_response_incomplete http_response_header_section_size
  http_response_header_size http_response_body_size http_response_trailer_section_size http_response_trailer_size
  http_response_transfer_coding http_response_content_coding http_response_timeout http_upgrade_failed
  http_protocol_error proxy_internal_response proxy_internal_error proxy_configuration_error
  proxy_loop_detected`.split(/\s+/),
);

/** One field of an answer, by its name. */
function fieldOf(fields: readonly string[], name: string): string | undefined {
  const at = fields.indexOf(name);
  return at === -1 ? undefined : fields[at + 1];
}

describe.each(kinds)('%s', (code, kind) => {
  const body: unknown = JSON.parse(problemBody({ code }, 'id-1'));
  const fields = problemFields({ code }, 42);

  it('has an error status with a reason phrase', () => {
    expect(statusOf({ code })).toBe(kind.status);
    expect(kind.status).toBeGreaterThanOrEqual(400);
    expect(STATUS_CODES[kind.status]).toMatch(/^[A-Z]/);
  });

  it('has a title and a detail', () => {
    expect(kind.title).toMatch(/^[A-Z][^.]*[^.\s]$/);
    expect(kind.detail).toMatch(/^[A-Z].*\.$/);
  });

  // RFC 9457 §3.
  it('has the same status in body and status line', () =>
    expect(body).toEqual({
      type: typeUriOf(code),
      title: kind.title,
      status: kind.status,
      code,
      detail: kind.detail,
      request_id: 'id-1',
    }));

  // RFC 8141 §2.
  it('has a URN for its type', () =>
    expect(typeUriOf(code)).toMatch(/^urn:version-gateway:problem:[a-z]+(?:-[a-z]+)*$/));

  it('has a Proxy-Status of one member with a registered error', () => {
    const list = parseList(fieldOf(fields, 'Proxy-Status') ?? '');
    expect(list).toHaveLength(1);
    const [name, parameters] = list[0] ?? [];
    expect(String(name)).toBe('version-gateway');
    expect([...(parameters?.keys() ?? [])]).toEqual(kind.proxyError === undefined ? [] : ['error']);
    if (kind.proxyError !== undefined) expect(registered).toContain(String(parameters?.get('error')));
  });

  it('is problem+json with its length, and is not cached', () => {
    expect(fieldOf(fields, 'Content-Type')).toBe('application/problem+json');
    expect(fieldOf(fields, 'Content-Length')).toBe('42');
    expect(fieldOf(fields, 'Cache-Control')).toBe('no-store');
  });
});

// RFC 9209 §2.3: `denied` is for a request that is understood and refused, `error` for one that is malformed.
it.each<[code: ProblemCode, status: number, error: string]>([
  ['BAD_REQUEST', 400, 'http_request_error'],
  ['HTTP_VERSION_UNSUPPORTED', 505, 'http_request_denied'],
  ['METHOD_NOT_IMPLEMENTED', 501, 'http_request_denied'],
  ['INTERNAL_ERROR', 500, 'proxy_internal_error'],
  ['LOOP', 508, 'proxy_loop_detected'],
])('%s is a %i with the error %s', (code, status, error) => {
  expect(statusOf({ code })).toBe(status);
  expect(fieldOf(problemFields({ code }, 0), 'Proxy-Status')).toBe(`version-gateway; error=${error}`);
});

it('has no title, detail or type twice', () => {
  for (const values of [
    kinds.map(([, kind]) => kind.title),
    kinds.map(([, kind]) => kind.detail),
    codes.map(typeUriOf),
  ]) {
    expect(new Set(values).size).toBe(codes.length);
  }
});

describe('one occurrence', () => {
  it('has a detail and members of its own', () => {
    const problem = { code: 'BAD_REQUEST', detail: 'Here.', members: { versions: ['v1'] } } as const;
    expect(JSON.parse(problemBody(problem, undefined))).toEqual({
      type: typeUriOf('BAD_REQUEST'),
      title: catalogue.BAD_REQUEST.title,
      status: 400,
      code: 'BAD_REQUEST',
      detail: 'Here.',
      versions: ['v1'],
    });
  });

  it('has its own fields after the others', () =>
    expect(problemFields({ code: 'OVERLOADED', fields: ['Retry-After', '1'] }, 2).slice(-2)).toEqual([
      'Retry-After',
      '1',
    ]));

  it('can have its own max-age', () => {
    const fields = problemFields({ code: 'VERSION_RETIRED', fields: ['Cache-Control', 'max-age=60'] }, 2);
    expect(fields.filter((name) => name === 'Cache-Control')).toHaveLength(1);
    expect(fieldOf(fields, 'Cache-Control')).toBe('max-age=60');
  });
});
