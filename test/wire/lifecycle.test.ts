import { parseItem } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, connectTo, get, message, post } from '../support/rawClient.ts';
import { type RawResponse, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const now = '2026-08-01T00:00:00Z';
const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' };
const deprecation = '@1782777600';
const sunset = 'Fri, 30 Jun 2028 23:59:59 GMT';
const successor = (path: string) => `</v2${path}>; rel="successor-version"`;

/** RFC 9745 §2.1: one Structured Field Date. RFC 8594 §3: one HTTP-date. */
function expectWarned(response: RawResponse, link: string | undefined): void {
  const [date] = parseItem(singleValueOf(response, 'deprecation') ?? '');
  if (!(date instanceof Date)) throw new Error(`Deprecation is ${String(date)}`);
  expect(date.toISOString()).toBe('2026-06-30T00:00:00.000Z');
  expect(singleValueOf(response, 'deprecation')).toBe(deprecation);
  expect(singleValueOf(response, 'sunset')).toBe(sunset);
  expect(valuesOf(response, 'link').filter((line) => line.includes('successor-version'))).toEqual(link ? [link] : []);
}

const start = async (script: Answer, version: Record<string, unknown> = {}) => {
  const v2 = await refusedUrl();
  return startWire(script, { version: { ...dates, ...version }, routes: () => ({ '/v2': v2 }), now });
};

describe('every response of a deprecated major has the lifecycle fields', () => {
  it.each([
    ['200', answer(200, 'body')],
    ['201', answer(201, 'body', 'Location: /things/8')],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['206', answer(206, 'body', 'Content-Range: bytes 0-3/9')],
    ['301', answer(301, '', 'Location: /elsewhere')],
    ['304', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'],
    ['404', answer(404, 'none')],
    ['410', answer(410, 'gone')],
    ['426', answer(426, 'no', 'Upgrade: x', 'Connection: Upgrade')],
    ['500', answer(500, 'broken')],
    ['503', answer(503, 'busy', 'Retry-After: 5')],
    ['chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['HTTP/1.0', [{ write: 'HTTP/1.0 200 OK\r\n\r\nbody' }, { end: true }]],
    [
      'SSE',
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n',
    ],
    ['502, because it sends garbage', 'garbage\r\n\r\n'],
    ['502, because it closes the connection', [{ end: true }]],
    ['its own three fields', answer(200, '', 'Deprecation: true', `Sunset: Thu, 01 Jan 2099 00:00:00 GMT`)],
    ['two of each', answer(200, '', 'Deprecation: @1', 'deprecation: @2', 'Sunset: x', 'sunset: y')],
  ] satisfies [string, Answer][])('%s', async (_name, script) => {
    const { port } = await start(script);
    expectWarned(await ask(port, get('/v1/things/7?a=b')), successor('/things/7'));
  });

  it('HEAD', async () => {
    const { port } = await start('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n');
    expectWarned(await ask(port, message('HEAD /v1/x HTTP/1.1', 'Host: api.test')), successor('/x'));
  });

  it('504', async () => {
    const { port } = await start([], { timeouts: { first_byte: '200ms' } });
    const response = await ask(port, get('/v1/x'));
    expectProblem(response, 504);
    expectWarned(response, successor('/x'));
  });

  it('502, because the connection is refused', async () => {
    const { port } = await start('', { upstream: await refusedUrl() });
    const response = await ask(port, get('/v1/x'));
    expectProblem(response, 502);
    expectWarned(response, successor('/x'));
  });

  it.each([
    ['413', post('/v1/x', 'a'.repeat(20)), 413],
    ['417', get('/v1/x', 'Expect: foo'), 417],
  ])('%s of the gateway itself', async (_name, bytes, status) => {
    const { port } = await start(answer(200, ''), { limits: { body: '10B' } });
    const response = await ask(port, bytes);
    expectProblem(response, status);
    expectWarned(response, successor('/x'));
  });

  it('a response that breaks later', async () => {
    const { port } = await start([
      { write: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf' },
      { wait: 50 },
      { end: true },
    ]);
    const client = await connectTo(port);
    client.send(get('/v1/x'));
    await client.closed();
    expect(client.pending).toContain(`Deprecation: ${deprecation}\r\n`);
    expect(client.pending).toContain(`Sunset: ${sunset}\r\n`);
  });

  it('after its sunset, while it is still served', async () => {
    const backend = await startBackend();
    const routes = { '/v1': { upstream: backend.url, ...dates }, '/v2': backend.url };
    const gateway = await startTestGateway(routes, { now: '2030-01-01T00:00:00Z' });
    const response = await ask(gateway.port, get('/v1/x'));
    expect(response.status).toBe(200);
    expectWarned(response, successor('/x'));
  });

  it('before its deprecation', async () => {
    const backend = await startBackend();
    const routes = { '/v1': { upstream: backend.url, ...dates }, '/v2': backend.url };
    const gateway = await startTestGateway(routes, { now: '2026-01-01T00:00:00Z' });
    expectWarned(await ask(gateway.port, get('/v1/x')), successor('/x'));
  });

  it('without a configured sunset, with that of the backend if it is not before the deprecation', async () => {
    for (const [own, expected] of [
      ['Sat, 30 Jun 2029 00:00:00 GMT', ['Sat, 30 Jun 2029 00:00:00 GMT']],
      ['Mon, 30 Jun 2025 00:00:00 GMT', []],
    ] as const) {
      const backend = await startBackend(answer(200, '', `Sunset: ${own}`));
      const routes = { '/v1': { upstream: backend.url, deprecation: '2026-06-30' }, '/v2': backend.url };
      const gateway = await startTestGateway(routes, { now });
      const response = await ask(gateway.port, get('/v1/x'));
      expect(singleValueOf(response, 'deprecation')).toBe(deprecation);
      expect(valuesOf(response, 'sunset')).toEqual(expected);
    }
  });
});

it('an active major passes on the lifecycle fields of its backend unchanged', async () => {
  const own = ['Deprecation: true', 'Sunset: whenever', 'Link: </a>; rel="next"', 'Link: </b, c>; rel="x, y"'];
  const { port } = await start(answer(200, '', ...own), {
    deprecation: undefined,
    sunset: undefined,
    prefix: 'forward',
  });
  const response = await ask(port, get('/v1/x'));
  expect(response.lines.filter((line) => /^(deprecation|sunset|link):/i.test(line))).toEqual(own);
});

it('an active major without them gets none', async () => {
  const { port } = await start(answer(200, ''), { deprecation: undefined, sunset: undefined });
  expect((await ask(port, get('/v1/x'))).lines.join('\n')).not.toMatch(/^(deprecation|sunset|link):/im);
});
