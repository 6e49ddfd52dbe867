import { describe, expect, it } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const malformed = [400];
const version = [400, 505];
const method = [400, 501];

// RFC 9112 §3: method SP request-target SP HTTP-version. §2.3: HTTP-name is case-sensitive, one digit, dot, one digit.
const refused: [name: string, line: string, statuses: number[]][] = [
  ['HTTP/0.9 by name', 'GET /v1/x HTTP/0.9', version],
  ['no version', 'GET /v1/x', version],
  ['no version, with the space', 'GET /v1/x ', version],
  ['HTTP/1.2', 'GET /v1/x HTTP/1.2', version],
  ['HTTP/2.0', 'GET /v1/x HTTP/2.0', version],
  ['HTTP/3.0', 'GET /v1/x HTTP/3.0', version],
  ['HTTP/1.10', 'GET /v1/x HTTP/1.10', version],
  ['HTTP/01.1', 'GET /v1/x HTTP/01.1', version],
  ['HTTP/1', 'GET /v1/x HTTP/1', version],
  ['HTTP/1.', 'GET /v1/x HTTP/1.', version],
  ['HTTP/1,1', 'GET /v1/x HTTP/1,1', version],
  ['HTTP/', 'GET /v1/x HTTP/', version],
  ['http/1.1', 'GET /v1/x http/1.1', version],
  ['HTTPS/1.1', 'GET /v1/x HTTPS/1.1', version],
  ['ICE/1.0', 'GET /v1/x ICE/1.0', version],
  ['a space within the version', 'GET /v1/x HTTP/ 1.1', malformed],
  ['a space after the version', 'GET /v1/x HTTP/1.1 ', malformed],
  ['a space in the target', 'GET /v1/x y HTTP/1.1', malformed],
  ['a request line in the target', 'GET /v1/x HTTP/1.1 /admin HTTP/1.1', malformed],
  ['tabs', 'GET\t/v1/x\tHTTP/1.1', malformed],
  ['a vertical tab', 'GET\v/v1/x HTTP/1.1', malformed],
  ['a space before the method', ' GET /v1/x HTTP/1.1', malformed],
  ['no method', '/v1/x HTTP/1.1', malformed],
  ['no target', 'GET HTTP/1.1', malformed],
  ['an empty target', 'GET  HTTP/1.1', malformed],
  ['a NUL in the method', 'G\0ET /v1/x HTTP/1.1', malformed],
  ['an at sign in the method', 'G@T /v1/x HTTP/1.1', method],
  ['a colon in the method', 'GET: /v1/x HTTP/1.1', method],
  ['obs-text in the method', 'G\xcbT /v1/x HTTP/1.1', method],
  ['a lower-case method', 'get /v1/x HTTP/1.1', method],
  ['a mixed-case method', 'Get /v1/x HTTP/1.1', method],
  ['an unknown method', 'FOO /v1/x HTTP/1.1', method],
  ['a known method with more', 'GETX /v1/x HTTP/1.1', method],
  ['a method of 10,000 letters', `${'A'.repeat(10_000)} /v1/x HTTP/1.1`, [400, 414, 431, 501]],
];

describe('a request line is refused for', () => {
  it.each(refused)('%s', async (_name, line, statuses) => {
    const { backend, client } = await startWire();
    client.send(`${line}\r\nHost: api.test\r\n\r\n${statuses === method ? '' : get('/v1/smuggled')}`);
    expectProblem(await client.response(), ...statuses);
    if (statuses !== method) expect((await client.closed()).leftover).toBe('');
    expect(backend.bytes).toBe('');
  });

  it('HTTP/0.9, which has no header section', async () => {
    const { backend, client } = await startWire();
    client.send('GET /v1/x\r\n\r\n');
    expectProblem(await client.response(), 400, 505);
    await client.closed();
    expect(backend.bytes).toBe('');
  });

  it.each([
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a TLS ClientHello', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'],
    ['a response', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a PROXY line', `PROXY TCP4 6.6.6.6 1.1.1.1 1 2\r\n${get('/v1/smuggled')}`],
  ])('%s', async (_name, bytes) => {
    const { backend, client } = await startWire();
    client.send(bytes);
    expectProblem(await client.response(), 400, 505);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.bytes).toBe('');
  });
});

// RFC 9112 §3: white space MAY be taken as one separator; then what is sent on has the one space of the grammar.
it.each(['GET  /v1/x HTTP/1.1', 'GET /v1/x  HTTP/1.1', 'GET /v1/x HTTP/1.1  '])(
  '%j is 400 or one plain request',
  async (line) => {
    const { backend, port } = await startWire();
    const response = await ask(port, message(line, 'Host: api.test'), 'GET');
    if (response.status === 200) expect(backend.request.raw).toMatch(/^GET \/x HTTP\/1\.1\r\n/);
    else expectProblem(response, 400);
  },
);

// RFC 9112 §2.2: a server SHOULD ignore at least one empty line before the request line.
it.each([1, 2])('%i empty lines before a request are ignored', async (count) => {
  const { backend, client } = await startWire();
  client.send('\r\n'.repeat(count) + get('/v1/x'));
  expect((await client.response()).status).toBe(200);
  client.send('\r\n'.repeat(count) + get('/v1/y'));
  expect((await client.response()).status).toBe(200);
  expect(backend.requests.map(({ target }) => target)).toEqual(['/x', '/y']);
});

it('a request in pieces of one byte is one request', async () => {
  const { backend, client } = await startWire();
  await client.sendPieces(get('/v1/x?a=b', 'X-A: b'), 1);
  expect((await client.response()).status).toBe(200);
  expect(backend.request.target).toBe('/x?a=b');
});

// RFC 9110 §15.5.15, RFC 9112 §3: at least 8,000 octets are to be accepted.
describe('the limit of a target', () => {
  const target = (length: number) => `/v1/${'a'.repeat(length - 4)}`;

  it('is itself allowed', async () => {
    const { backend, port } = await startWire();
    expect((await ask(port, get(target(8192)))).status).toBe(200);
    expect(backend.request.target).toHaveLength(8192 - 3);
  });

  it.each([
    ['a path of a byte more', target(8193)],
    ['a query of a byte more', `/v1/x?${'a'.repeat(8193 - 6)}`],
    ['12,000 bytes', target(12_000)],
    ['100,000 bytes', target(100_000)],
  ])('answers 414 to %s', async (_name, long) => {
    const { backend, client } = await startWire();
    client.send(message(`GET ${long} HTTP/1.1`, 'Host: api.test'));
    expectProblem(await client.response(), 414);
    expect(backend.bytes).toBe('');
  });

  it('follows gateway.limits.url', async () => {
    const backend = await startBackend();
    const gateway = await startTestGateway({ '/v1': backend.url }, { gateway: { limits: { url: '100B' } } });
    expect((await ask(gateway.port, get(target(100)))).status).toBe(200);
    expectProblem(await ask(gateway.port, get(target(101))), 414);
  });
});
