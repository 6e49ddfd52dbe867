import { parseList } from 'structured-headers';
import { expect } from 'vitest';
import { type RawResponse, singleValueOf, valuesOf } from './response.ts';

/** RFC 9209 §2.3: the error types that a reverse proxy can report. */
const proxyErrors = new Set([
  'dns_timeout',
  'dns_error',
  'destination_not_found',
  'destination_unavailable',
  'destination_ip_prohibited',
  'destination_ip_unroutable',
  'connection_refused',
  'connection_terminated',
  'connection_timeout',
  'connection_read_timeout',
  'connection_write_timeout',
  'connection_limit_reached',
  'tls_protocol_error',
  'tls_certificate_error',
  'tls_alert_received',
  'http_request_error',
  'http_request_denied',
  'http_response_incomplete',
  'http_response_header_section_size',
  'http_response_header_size',
  'http_response_body_size',
  'http_response_trailer_section_size',
  'http_response_trailer_size',
  'http_response_transfer_coding',
  'http_response_content_coding',
  'http_response_timeout',
  'http_upgrade_failed',
  'http_protocol_error',
  'proxy_internal_response',
  'proxy_internal_error',
  'proxy_configuration_error',
  'proxy_loop_detected',
]);

/** A problem must not reveal addresses of backends or details of the implementation. */
const internals =
  /127\.0\.0\.1|localhost|\bnode\b|node:|undici|llhttp|HPE_|UND_ERR|ECONN|\.[cm]?[jt]s\b|\n\s+at |stack/i;

export interface Problem {
  readonly status: number;
  readonly [member: string]: unknown;
}

/** Checks a problem response of the gateway: RFC 9457, RFC 9209, RFC 9110 §8.6. Returns its body. */
export function expectProblem(response: RawResponse, ...statuses: number[]): Problem {
  expect(statuses, `${response.status} ${response.body}`).toContain(response.status);
  expect(singleValueOf(response, 'content-type')).toBe('application/problem+json');
  expect(singleValueOf(response, 'content-length')).toBe(String(Buffer.byteLength(response.body, 'latin1')));
  expectProxyStatus(response);
  expect([...response.lines, response.body].join('\n')).not.toMatch(internals);
  const problem: unknown = JSON.parse(Buffer.from(response.body, 'latin1').toString('utf8'));
  if (!isProblem(problem)) throw new Error(`not a problem: ${response.body}`);
  expect(problem.status).toBe(response.status);
  return problem;
}

/** Checks a problem response to HEAD, which has no body. */
export function expectProblemHead(response: RawResponse, ...statuses: number[]): void {
  expect(statuses).toContain(response.status);
  expect(singleValueOf(response, 'content-type')).toBe('application/problem+json');
  expect(Number(singleValueOf(response, 'content-length'))).toBeGreaterThan(0);
  expect(response.body).toBe('');
  expectProxyStatus(response);
}

function expectProxyStatus(response: RawResponse): void {
  const members = parseList(valuesOf(response, 'proxy-status').join(', '));
  expect(members.length, 'members of Proxy-Status').toBeGreaterThan(0);
  for (const [, parameters] of members) {
    const error = parameters.get('error');
    if (error !== undefined) expect(proxyErrors).toContain(String(error));
  }
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'status' in value && typeof value.status === 'number';
}
