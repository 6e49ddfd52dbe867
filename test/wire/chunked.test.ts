import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { chunked, get } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9112 §7.1.
const wellFormed: [name: string, chunks: string, body: string][] = [
  ['one chunk', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['several chunks', '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n', 'hello'],
  ['no chunk', '0\r\n\r\n', ''],
  ['an upper-case size', 'A\r\n0123456789\r\n0\r\n\r\n', '0123456789'],
  ['a lower-case size', 'a\r\n0123456789\r\n0\r\n\r\n', '0123456789'],
  ['leading zeros', '0005\r\nhello\r\n000\r\n\r\n', 'hello'],
  ['an extension', '5;a=b\r\nhello\r\n0;c\r\n\r\n', 'hello'],
  ['a quoted extension', '5;a="x;y"\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['CR LF as data', '2\r\n\r\n\r\n0\r\n\r\n', '\r\n'],
  ['data that looks like the end', '5\r\n0\r\n\r\n\r\n0\r\n\r\n', '0\r\n\r\n'],
  ['obs-text bytes', '3\r\n\x80\xff\0\r\n0\r\n\r\n', '\x80\xff\0'],
];

// RFC 9112 §7.1, §7.1.1, §7.1.2; overflow: §7.1 "anticipate potentially large hexadecimal numerals".
const malformed: [name: string, chunks: string][] = [
  ['a size that is not a number', 'G\r\nhello\r\n0\r\n\r\n'],
  ['a size with a letter at its end', '5x\r\nhello\r\n0\r\n\r\n'],
  ['a minus sign', '-5\r\nhello\r\n0\r\n\r\n'],
  ['a plus sign', '+5\r\nhello\r\n0\r\n\r\n'],
  ['0x', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['an underscore', '1_0\r\n0123456789abcdef\r\n0\r\n\r\n'],
  ['a space before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
  ['an empty size', '\r\nhello\r\n0\r\n\r\n'],
  ['only an extension', ';a=b\r\nhello\r\n0\r\n\r\n'],
  ['a bare LF after the size', '5\nhello\r\n0\r\n\r\n'],
  ['a bare CR after the size', '5\rhello\r\n0\r\n\r\n'],
  ['a bare LF after the data', '5\r\nhello\n0\r\n\r\n'],
  ['no CR LF after the data', '5\r\nhello0\r\n\r\n'],
  ['more data than the size', '5\r\nhelloXX\r\n0\r\n\r\n'],
  ['a size of 17 digits', 'FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n'],
  ['2^64 + 5, which wraps to 5', '10000000000000005\r\nhello\r\n0\r\n\r\n'],
  ['a bare LF in an extension', '5;a\nhello\r\n0\r\n\r\n'],
  ['a bare CR in an extension', '5;a\rb\r\nhello\r\n0\r\n\r\n'],
  ['a NUL in an extension', '5;a=\0\r\nhello\r\n0\r\n\r\n'],
  ['a huge extension', `5;${'a'.repeat(100_000)}\r\nhello\r\n0\r\n\r\n`],
  ['a trailer without a colon', '5\r\nhello\r\n0\r\nX-A\r\n\r\n'],
  ['a folded trailer', '5\r\nhello\r\n0\r\nX-A: b\r\n c\r\n\r\n'],
  ['a trailer with a space before the colon', '5\r\nhello\r\n0\r\nX-A : b\r\n\r\n'],
  ['a trailer with a NUL', '5\r\nhello\r\n0\r\nX-A: \0\r\n\r\n'],
  ['a bare LF after the last chunk', '5\r\nhello\r\n0\n\r\n'],
  ['a bare LF instead of trailers', '5\r\nhello\r\n0\r\n\n'],
  ['a trailer section of 100 kB', `5\r\nhello\r\n0\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
];

describe('a chunked body', () => {
  it.each(wellFormed)('with %s is forwarded correctly', async (_name, chunks, body) => {
    const { backend, client } = await startWire();
    client.send(chunked('/v1/x', chunks) + get('/v1/second'));
    expect((await client.response('POST')).status).toBe(200);
    expect((await client.response()).status).toBe(200);
    expect(backend.requests.map((request) => request.body)).toEqual([body, '']);
    expect(backend.bytes).not.toMatch(/a=b|x;y/);
  });

  it.each(malformed)('with %s is refused, and never completed at the backend', async (_name, chunks) => {
    const { backend, client } = await startWire();
    client.send(chunked('/v1/x', chunks) + get('/v1/smuggled'));
    expectProblem(await client.response('POST'), 400, 413, 431);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.requests).toEqual([]);
    expect(backend.bytes).not.toContain('smuggled');
  });

  it('in pieces of one byte is forwarded correctly', async () => {
    const { backend, client } = await startWire();
    await client.sendPieces(chunked('/v1/x', '5;a="b"\r\nhello\r\n1\r\n!\r\n0\r\nX-T: 1\r\n\r\n'), 1);
    expect((await client.response('POST')).status).toBe(200);
    expect(backend.request.body).toBe('hello!');
  });

  // RFC 9110 §6.5.1: never merged into the header section; the gateway drops them.
  it('loses its trailers', async () => {
    const { backend, client } = await startWire();
    const trailers = 'X-Trailer: dropme\r\nX-Forwarded-For: 6.6.6.6\r\n';
    client.send(chunked('/v1/x', `5\r\nhello\r\n0\r\n${trailers}\r\n`, 'Trailer: X-Trailer') + get('/v1/second'));
    expect((await client.response('POST')).status).toBe(200);
    expect((await client.response()).status).toBe(200);
    expect(backend.bytes).not.toMatch(/dropme|6\.6\.6\.6/);
    const [first] = backend.requests;
    expect(first?.body).toBe('hello');
    expect(first && valuesOf(first, 'trailer')).toEqual([]);
  });

  it.each(['Content-Length: 3', 'Transfer-Encoding: gzip', 'Host: evil.test'])(
    'with the trailer %s loses it or is refused',
    async (trailer) => {
      const { backend, client } = await startWire();
      client.send(chunked('/v1/x', `5\r\nhello\r\n0\r\n${trailer}\r\n\r\n`));
      const response = await client.response('POST');
      if (response.status === 200) expect(backend.request.body).toBe('hello');
      else expectProblem(response, 400);
      expect(backend.bytes).not.toContain(trailer);
    },
  );

  it('whose chunk is larger than 2^32 is not read as a smaller one', async () => {
    const { backend, client } = await startWire();
    client.send(chunked('/v1/x', '100000005\r\nhello\r\n0\r\n\r\n') + get('/v1/smuggled'));
    client.end();
    await client.closed();
    expect(backend.requests).toEqual([]);
  });

  it('that is cut off is never completed at the backend', async () => {
    const { backend, client } = await startWire();
    client.send(chunked('/v1/x', '5\r\nhello\r\n'));
    client.end();
    await client.closed();
    expect(backend.requests).toEqual([]);
  });
});
