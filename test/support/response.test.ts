import { describe, expect, it } from 'vitest';
import { parseResponse } from './response.ts';

// All wire tests rely on this parser. It must accept only what every client accepts.
describe('parseResponse', () => {
  it.each([
    ['a bad version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a bad status', 'HTTP/1.1 600 OK\r\n\r\n'],
    ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n'],
    ['a control byte', 'HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
    ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a length on 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'],
    ['a bad chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n'],
    ['a chunk without its end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n'],
  ])('rejects a response with %s', (_name, bytes) => {
    expect(() => parseResponse(bytes, 'GET', true)).toThrow();
  });

  it.each([
    ['in its head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['in its body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell'],
    ['in its last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n'],
    ['after an interim response', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('waits for more bytes of a response that ends %s', (_name, bytes) => {
    expect(parseResponse(bytes, 'GET', true)).toBeUndefined();
  });

  it('waits for the end of the connection if that ends the body', () => {
    const bytes = 'HTTP/1.1 200 OK\r\n\r\nhello';
    expect(parseResponse(bytes, 'GET', false)).toBeUndefined();
    expect(parseResponse(bytes, 'GET', true)?.response.body).toBe('hello');
  });
});

it('returns the bytes after the response', () => {
  const parsed = parseResponse('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 204 x\r\n\r\n', 'GET', false);
  expect(parsed?.response.body).toBe('ok');
  expect(parsed?.rest).toBe('HTTP/1.1 204 x\r\n\r\n');
});
