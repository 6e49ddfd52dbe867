import { describe, expect, it } from 'vitest';
import { type Answer, answer } from '../support/backend.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { membersOf, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' };
const upgrading = ['Connection: Upgrade', 'Upgrade: chat/2'];
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\n\r\n';

const start = (script: Answer, version: Record<string, unknown> = {}) =>
  startWire(script, {
    version: { ...dates, ...version },
    routes: (url) => ({ '/v0': { retired: true }, '/v2': url }),
    now: '2026-08-01T00:00:00Z',
  });

function expectWarned(head: string): void {
  expect(head).toMatch(/^deprecation: @1782777600\r$/im);
  expect(head).toMatch(/^sunset: Fri, 30 Jun 2028 23:59:59 GMT\r$/im);
  expect(head).toMatch(/^link: <\/v2\/chat>; rel="successor-version"\r$/im);
}

describe('an upgrade that is refused is an ordinary response', () => {
  it.each([200, 400, 403, 404, 426, 500])('%i, with its body and the warning', async (status) => {
    const { client } = await start(answer(status, 'no, thanks', 'X-Own: 1'));
    client.send(get('/v1/chat', ...upgrading));
    const response = await client.response();
    expect([response.status, response.body, singleValueOf(response, 'x-own')]).toEqual([status, 'no, thanks', '1']);
    expectWarned(`${response.lines.join('\r\n')}\r\n`);
  });

  it('chunked', async () => {
    const { client } = await start('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n');
    client.send(get('/v1/chat', ...upgrading));
    expect((await client.response()).body).toBe('no');
  });

  it.each([
    ['an unknown version', '/v9/chat', 404],
    ['a retired version', '/v0/chat', 410],
    ['no version', '/chat', 404],
    ['a bad target', '/v1/../chat', 400],
    ['a target in absolute form with userinfo', 'http://u@api.test/v1/chat', 400],
  ])('by the gateway: %s', async (_name, target, status) => {
    const { backend, client } = await start(switching);
    client.send(get(target, ...upgrading));
    expectProblem(await client.response(), status);
    expect(backend.bytes).toBe('');
  });

  it.each([
    ['two Hosts', ['Host: evil.test']],
    ['a body of two lengths', ['Content-Length: 1', 'Transfer-Encoding: chunked']],
    ['an unknown Transfer-Encoding', ['Transfer-Encoding: xchunked']],
  ])('by the gateway: %s', async (_name, fields) => {
    const { backend, client } = await start(switching);
    client.send(get('/v1/chat', ...upgrading, ...fields));
    expectProblem(await client.response(), 400, 501);
    await client.closed();
    expect(backend.bytes).toBe('');
  });

  it('a dead backend is 502', async () => {
    const gateway = await startTestGateway({ '/v1': await refusedUrl() });
    expectProblem(await ask(gateway.port, get('/v1/chat', ...upgrading)), 502);
  });

  it.each([
    ['disconnects', [{ end: true }]],
    ['sends garbage', 'garbage\r\n\r\n'],
    ['sends a malformed 101', 'HTTP/1.1 101 Switching\r\nUpgrade : chat/2\r\n\r\n'],
  ] satisfies [string, Answer][])('a backend that %s is 502', async (_name, script) => {
    const { client } = await start(script);
    client.send(get('/v1/chat', ...upgrading));
    expectProblem(await client.response(), 502);
  });

  it('a silent backend is 504', async () => {
    const { client } = await start([], { timeouts: { first_byte: '300ms' } });
    client.send(get('/v1/chat', ...upgrading));
    expectProblem(await client.response(), 504);
  });
});

describe('handled as an ordinary request', () => {
  // RFC 9113 §3.1 deprecates h2c. In a tunnel of it, requests would bypass all our checks.
  it.each([
    ['h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
    ['h2c in upper case', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: H2C', 'HTTP2-Settings: AAMAAABk']],
    ['h2c among others', ['Connection: Upgrade', 'Upgrade: foo, h2c']],
    ['an Upgrade that Connection does not name', ['Upgrade: chat/2']],
    ['a Connection: Upgrade without Upgrade', ['Connection: Upgrade']],
  ])('%s', async (_name, fields) => {
    const { backend, client } = await start(answer(200, 'plain'));
    client.send(get('/v1/chat', ...fields));
    expect((await client.response()).body).toBe('plain');
    expect(membersOf(backend.request, 'upgrade').join()).not.toMatch(/h2c/i);
    expect(valuesOf(backend.request, 'http2-settings')).toEqual([]);
    expect(backend.request.raw.toLowerCase()).not.toContain('http2-settings');
  });

  // RFC 9110 §7.8: an Upgrade of an HTTP/1.0 request is ignored.
  it('from HTTP/1.0', async () => {
    const { backend, client } = await start(answer(200, 'plain'));
    client.send(message('GET /v1/chat HTTP/1.0', 'Host: api.test', ...upgrading));
    expect((await client.response()).body).toBe('plain');
    expect(valuesOf(backend.request, 'upgrade')).toEqual([]);
  });
});

// An upgrade request must not open an unchecked connection to the backend: after a refusal every request is checked again.
// `/v1/smuggled` as a target at the backend is an unchecked request.
describe('bytes after an upgrade that is refused', () => {
  it.each([
    ['sent at once', ''],
    ['sent later', undefined],
  ])('do not reach the backend as an unchecked request: %s', async (_name, at) => {
    const { backend, client } = await start(({ target }) => answer(target === '/chat' ? 403 : 200, target));
    client.send(get('/v1/chat', ...upgrading) + (at === undefined ? '' : get('/v1/smuggled')));
    expect((await client.response()).status).toBe(403);
    if (at === undefined) client.send(get('/v1/smuggled'));
    await Promise.race([client.response().catch(() => undefined), client.closed()]);
    expect(backend.requests.map(({ target }) => target)).not.toContain('/v1/smuggled');
  });

  it.each(['Content-Length: 5', 'Transfer-Encoding: chunked'])(
    'are read as the body if the request has %s',
    async (field) => {
      const { backend, client } = await start(({ target }) => answer(200, target));
      const body = field.startsWith('C') ? 'hello' : '5\r\nhello\r\n0\r\n\r\n';
      const head = message('POST /v1/chat HTTP/1.1', 'Host: api.test', ...upgrading, field);
      client.send(head + body + get('/v1/smuggled'));
      const response = await client.response('POST');
      if (response.status !== 200) expectProblem(response, 400, 501);
      for (const request of backend.requests) {
        expect(['/chat', '/smuggled']).toContain(request.target);
        expect(request.body).toBe(request.target === '/chat' ? 'hello' : '');
      }
    },
  );
});
