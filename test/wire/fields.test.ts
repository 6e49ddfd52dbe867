import { describe, expect, it } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const allBytes = Array.from({ length: 128 }, (_, index) => String.fromCharCode(128 + index)).join('');

// RFC 9110 §5.1 to §5.5: valid fields are passed on unchanged, both ways.
const lines: [name: string, lines: string[]][] = [
  ['duplicates in their order', ['X-A: 1', 'X-B: 2', 'X-A: 3', 'x-a: 4']],
  ['the case of a name', ['x-lower: 1', 'X-UPPER: 2', 'X-mIxEd: 3']],
  ['every byte of obs-text', [`X-Bytes: ${allBytes}`]],
  ['UTF-8', ['X-Name: caf\xc3\xa9']],
  ['Latin-1', ['X-Name: caf\xe9']],
  ['an empty value', ['X-Empty: ', 'X-After: 1']],
  ['tabs and spaces within', ['X-A: a \t  b']],
  ['every character of a token', ["X-!#$%&'*+-.^`|~09azAZ: 1"]],
  ['quotes, commas and backslashes', ['X-A: "a, \\"b", c']],
  ['a value that looks like a field', ['X-A: Content-Length: 5']],
  ['names of Object.prototype', ['__proto__: 1', 'constructor: 2', 'hasOwnProperty: 3', 'toString: 4']],
  ['a value of 8,000 bytes', [`X-Long: ${'a'.repeat(8_000)}`]],
  ['a name of 200 bytes', [`X-${'n'.repeat(198)}: 1`]],
  ['300 fields', Array.from({ length: 300 }, (_, index) => `X-${index}: ${index}`)],
];

function picked(from: readonly string[], wanted: readonly string[]): string[] {
  const names = new Set(wanted.map((line) => line.slice(0, line.indexOf(':')).toLowerCase()));
  return from.filter((line) => names.has(line.slice(0, line.indexOf(':')).toLowerCase())).map((line) => line.trimEnd());
}

describe('a field is passed on byte for byte', () => {
  it.each(lines)('to the backend: %s', async (_name, sent) => {
    const { backend, port } = await startWire();
    expect((await ask(port, get('/v1/x', ...sent))).status).toBe(200);
    expect(picked(backend.request.lines, sent)).toEqual(sent.map((line) => line.trimEnd()));
  });

  it.each(lines)('to the client: %s', async (_name, sent) => {
    const { port } = await startWire(['HTTP/1.1 200 OK', ...sent, 'Content-Length: 2', '', 'ok'].join('\r\n'));
    const response = await ask(port, get('/v1/x'));
    expect(response.body).toBe('ok');
    expect(picked(response.lines, sent)).toEqual(sent.map((line) => line.trimEnd()));
  });

  // A re-encoding would lengthen the head, or shift the body.
  it.each(['\xe9.txt', '\xc3\xa9.txt', '\xff\xfe'])('Content-Disposition %j beside a Content-Length', async (name) => {
    const field = `Content-Disposition: attachment; filename="${name}"`;
    const body = `\x80\xff\xc3${name}`;
    const { port } = await startWire(`HTTP/1.1 200 OK\r\n${field}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const response = await ask(port, get('/v1/x'));
    expect(response.lines).toContain(field);
    expect(response.body).toBe(body);
  });

  it('Set-Cookie is never merged', async () => {
    const cookies = ['Set-Cookie: a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT', 'X-A: 1', 'set-cookie: b=2'];
    const backend = await startBackend(['HTTP/1.1 200 OK', ...cookies, 'Content-Length: 2', '', 'ok'].join('\r\n'));
    const gateway = await startTestGateway({ '/v1': { upstream: backend.url, prefix: 'forward' } });
    expect(picked((await ask(gateway.port, get('/v1/x'))).lines, cookies)).toEqual(cookies);
  });

  it('the white space around a value is removed', async () => {
    const { backend, port } = await startWire('HTTP/1.1 200 OK\r\nX-A:\t b \t\r\nContent-Length:\t2 \r\n\r\nok');
    const response = await ask(port, get('/v1/x', 'X-A:\t b \t'));
    expect(valuesOf(response, 'x-a')).toEqual(['b']);
    expect(valuesOf(backend.request, 'x-a')).toEqual(['b']);
  });

  it('a body with every byte value is passed on both ways', async () => {
    const every = Array.from({ length: 256 }, (_, index) => String.fromCharCode(index)).join('');
    const { backend, port } = await startWire(`HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n${every}`);
    const bytes = `POST /v1/x HTTP/1.1\r\nHost: api.test\r\nContent-Length: 256\r\n\r\n${every}`;
    expect((await ask(port, bytes)).body).toBe(every);
    expect(backend.request.body).toBe(every);
  });
});

// RFC 6585 §5; the limit of a head is 16 KiB.
describe('a head that is too large is 431', () => {
  const many = (count: number) => Array.from({ length: count }, () => 'a:');

  it.each([
    ['one long value', [`X-Long: ${'a'.repeat(17_000)}`]],
    ['one long name', [`X-${'n'.repeat(17_000)}: 1`]],
    ['a value of 200 kB', [`X-Long: ${'a'.repeat(200_000)}`]],
    ['many values', Array.from({ length: 20 }, (_, index) => `X-${index}: ${'a'.repeat(1_000)}`)],
    ['more than 1,000 fields', many(1_100)],
    ['3,000 fields', many(3_000)],
  ])('%s', async (_name, fields) => {
    const { backend, client } = await startWire();
    client.send(get('/v1/x', ...fields) + get('/v1/smuggled'));
    expectProblem(await client.response(), 431);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.bytes).toBe('');
  });

  it('900 fields are not too many', async () => {
    const { backend, port } = await startWire();
    expect((await ask(port, get('/v1/x', ...many(900)))).status).toBe(200);
    expect(valuesOf(backend.request, 'a')).toHaveLength(900);
  });

  it('gateway.limits.head sets the limit', async () => {
    const backend = await startBackend();
    const gateway = await startTestGateway(
      { '/v1': backend.url },
      { gateway: { limits: { head: '1KiB', url: '500B' } } },
    );
    expect((await ask(gateway.port, get('/v1/x', `X-A: ${'a'.repeat(500)}`))).status).toBe(200);
    expectProblem(await ask(gateway.port, get('/v1/x', `X-A: ${'a'.repeat(1_100)}`)), 431);
  });
});
