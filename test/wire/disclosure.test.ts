import { describe, expect, it } from 'vitest';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { type RawResponse, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9209 §4, RFC 9457 §5: our own answers reveal nothing about the backends.
function expectNoLeak(response: RawResponse, upstream: string): void {
  expectProblem(response, response.status);
  const { hostname, port } = new URL(upstream);
  const text = [...response.lines, response.body].join('\n');
  expect(text).not.toContain(hostname);
  expect(text).not.toMatch(new RegExp(`\\b${port}\\b`));
  expect(text).not.toMatch(/(?<!web)socket|errno|syscall|econn|pool|exception|undefined|\[object/i);
  expect(valuesOf(response, 'server')).toEqual([]);
  expect(valuesOf(response, 'x-powered-by')).toEqual([]);
}

describe('a problem reveals nothing: the backend', () => {
  it.each([
    ['closed', [{ end: true }]],
    ['reset', [{ reset: true }]],
    ['sent garbage', 'garbage 127.0.0.1 secret\r\n\r\n'],
    ['sent a bad field', 'HTTP/1.1 200 OK\r\nX-Secret : 127.0.0.1\r\n\r\n'],
    ['sent a bad length', 'HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n'],
    ['was silent', []],
  ] satisfies [string, Answer][])('%s', async (_name, script) => {
    const backend = await startBackend(script);
    const gateway = await startTestGateway({ '/v1': { upstream: backend.url, timeouts: { first_byte: '300ms' } } });
    const response = await ask(gateway.port, get('/v1/x'));
    expectNoLeak(response, backend.url);
    expect(response.body).not.toContain('secret');
  });

  it('refuses the connection', async () => {
    const upstream = await refusedUrl();
    const gateway = await startTestGateway({ '/v1': upstream });
    expectNoLeak(await ask(gateway.port, get('/v1/x')), upstream);
  });

  it('has a name that does not exist', async () => {
    const upstream = 'http://secret-backend.invalid:8080';
    const gateway = await startTestGateway({ '/v1': upstream });
    expectNoLeak(await ask(gateway.port, get('/v1/x')), upstream);
  });
});

describe('a problem reveals nothing: the request', () => {
  it.each([
    ['is to an unknown version', get('/nothing')],
    ['is to a retired version', get('/v0/x')],
    ['is malformed', message('GET /v1/x HTTP/1.1', 'Host: api.test', 'X A: b')],
    ['has a bad target', get('/v1/../x')],
    ['has a bad method', message('TRACE /v1/x HTTP/1.1', 'Host: api.test')],
    ['has an unknown method', message('FOO /v1/x HTTP/1.1', 'Host: api.test')],
    ['has a long head', get('/v1/x', `X-A: ${'a'.repeat(20_000)}`)],
    ['has a long body', message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 99999999')],
    ['has an unknown expectation', get('/v1/x', 'Expect: foo')],
  ])('%s', async (_name, bytes) => {
    const backend = await startBackend();
    const gateway = await startTestGateway({ '/v0': { retired: true }, '/v1': backend.url });
    expectNoLeak(await ask(gateway.port, bytes), backend.url);
  });

  it('is not reflected as markup', async () => {
    const gateway = await startTestGateway({ '/v1': await refusedUrl() });
    const response = await ask(gateway.port, get('/<script>alert(1)</script>'));
    expectProblem(response, 404);
    expect(response.body).not.toContain('<script>');
  });
});

it('fields of the backend about itself are passed on', async () => {
  const { port } = await startWire(
    answer(500, 'own error', 'Server: nginx', 'X-Powered-By: PHP', 'Proxy-Status: inner'),
  );
  const response = await ask(port, get('/v1/x'));
  expect([response.status, response.body]).toEqual([500, 'own error']);
  expect(response.lines).toEqual(expect.arrayContaining(['Server: nginx', 'X-Powered-By: PHP']));
  expect(valuesOf(response, 'proxy-status')[0]).toMatch(/^inner/);
});
