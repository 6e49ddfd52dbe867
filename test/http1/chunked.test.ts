import { describe, expect, it } from 'vitest';
import { ChunkedDecoder } from '../../gateway/http1/chunked.ts';
import { MalformedResponse } from '../../gateway/http1/responseHead.ts';

interface Decoded {
  readonly body: string;
  readonly trailers: readonly string[] | undefined;
  /** The bytes after the body, which belong to the next message. */
  readonly rest: string;
}

/** Feeds each of `pieces` as one read, into a buffer with other bytes around it. */
function decode(pieces: readonly string[]): Decoded {
  const decoder = new ChunkedDecoder();
  let body = '';
  let rest = '';
  for (const piece of pieces) {
    const buffer = Buffer.from(`\n${piece}\r\n0\r\n\r\n`, 'latin1');
    const end = 1 + piece.length;
    const at = decoder.read(buffer, 1, end, (from, to) => {
      body += buffer.toString('latin1', from, to);
    });
    rest += buffer.toString('latin1', at, end);
  }
  return { body, trailers: decoder.trailers, rest };
}

/** Every way to read `message` in one piece, in two, and byte by byte. */
function* splits(message: string): Generator<readonly string[]> {
  yield [message];
  for (let at = 1; at < message.length; at += 1) yield [message.slice(0, at), message.slice(at)];
  yield message.split('');
}

const end = '0\r\n\r\n';

describe('a chunked body, however it is read', () => {
  it.each([
    ['one chunk', `5\r\nhello\r\n${end}`, 'hello', []],
    ['several chunks', `2\r\nhe\r\n3\r\nllo\r\n${end}`, 'hello', []],
    ['no chunk', end, '', []],
    ['sizes in both cases', `a\r\n0123456789\r\nB\r\n0123456789a\r\n${end}`, '01234567890123456789a', []],
    ['leading zeros', '0005\r\nhello\r\n000\r\n\r\n', 'hello', []],
    ['many leading zeros', `${'0'.repeat(40)}5\r\nhello\r\n${'0'.repeat(40)}\r\n\r\n`, 'hello', []],
    ['CR LF as data', `2\r\n\r\n\r\n${end}`, '\r\n', []],
    ['data that looks like the end', `5\r\n${end}\r\n${end}`, end, []],
    ['any byte', `4\r\n\0\x80\xff\n\r\n${end}`, '\0\x80\xff\n', []],
    ['an extension', `5;a\r\nhello\r\n0;b=c\r\n\r\n`, 'hello', []],
    ['an extension with a quoted value', `5;a="x;y";b\r\nhello\r\n${end}`, 'hello', []],
    ['an extension after white space', `5 \t; a = b\r\nhello\r\n${end}`, 'hello', []],
    ['an empty extension', `5;\r\nhello\r\n${end}`, 'hello', []],
    ['a trailer', '1\r\na\r\n0\r\nX: y\r\n\r\n', 'a', ['X', 'y']],
    ['trailers', '0\r\nX: 1\r\nx:2\r\nY:\r\n\r\n', '', ['X', '1', 'x', '2', 'Y', '']],
  ])('%s', (_name, message, body, trailers) => {
    for (const pieces of splits(message)) expect(decode(pieces)).toEqual({ body, trailers, rest: '' });
  });

  it('leaves the bytes after it, however it is read', () => {
    for (const pieces of splits(`1\r\na\r\n0\r\nX: y\r\n\r\nHTTP/1.1 200 OK`)) {
      expect(decode(pieces)).toEqual({ body: 'a', trailers: ['X', 'y'], rest: 'HTTP/1.1 200 OK' });
    }
  });

  it('ends with its last byte', () => {
    const message = '1\r\na\r\n0\r\nX: y\r\n\r\n';
    for (let length = 0; length < message.length; length += 1) {
      expect(decode([message.slice(0, length)]).trailers).toBeUndefined();
    }
  });

  it('passes on data before its chunk is complete', () =>
    expect(decode(['ff\r\nabc', 'def'])).toEqual({ body: 'abcdef', trailers: undefined, rest: '' }));

  it('accepts a size of 2^52 bytes', () =>
    expect(decode(['fffffffffffff\r\na'])).toEqual({ body: 'a', trailers: undefined, rest: '' }));
});

describe('a chunked body that is refused, however it is read', () => {
  it.each([
    ['no size', '\r\nhello\r\n'],
    ['an extension without a size', ';a\r\nhello\r\n'],
    ['a size that is not a number', 'x\r\n'],
    ['a size with a prefix', '0x5\r\nhello\r\n'],
    ['a size with a sign', '+5\r\nhello\r\n'],
    ['a negative size', '-5\r\nhello\r\n'],
    ['a size with an underscore', '1_0\r\n'],
    ['a size with a fraction', '5.0\r\nhello\r\n'],
    ['two sizes', '5 5\r\nhello\r\n'],
    ['white space in front of a size', ' 5\r\nhello\r\n'],
    ['white space after a size', '5 \r\nhello\r\n'],
    ['a vertical tab after a size', '5\v\r\nhello\r\n'],
    ['a comma', '5,a\r\nhello\r\n'],
    ['a size of 14 digits', '10000000000000\r\n'],
    ['a size of 16 digits, 2^64 and 5', '10000000000000005\r\nhello\r\n'],
    ['a bare LF after a size', '5\nhello\r\n'],
    ['a bare LF behind an extension', '5;a\nhello\r\n'],
    ['CR CR LF after a size', '5\r\r\nhello\r\n'],
    ['a bare CR in an extension', '5;a\rb\r\nhello\r\n'],
    ['NUL in an extension', '5;a\0\r\nhello\r\n'],
    ['a chunk that is longer than its size', '5\r\nhello!\r\n'],
    ['a chunk without its CR LF', `5\r\nhello${end}`],
    ['a bare LF after a chunk', '5\r\nhello\n'],
    ['CR CR LF after a chunk', '5\r\nhello\r\r\n'],
    ['a bare LF after the last chunk', '0\r\n\n'],
    ['a bare LF after a trailer', '0\r\nX: y\n\r\n'],
    ['a trailer without a colon', '0\r\nX\r\n\r\n'],
    ['a trailer with space before the colon', '0\r\nX : y\r\n\r\n'],
    ['a continued trailer', '0\r\nX: y\r\n z\r\n\r\n'],
    ['a bare CR in a trailer', '0\r\nX: y\rz\r\n\r\n'],
    ['NUL in a trailer', '0\r\nX: \0\r\n\r\n'],
  ])('%s', (_name, message) => {
    for (const pieces of splits(message)) expect(() => decode(pieces)).toThrow(MalformedResponse);
  });

  it.each([
    ['a size line without an end', '0'.repeat(1025)],
    ['an extension without an end', `5;${'a'.repeat(1024)}`],
    ['junk after a chunk', `1\r\na${'b'.repeat(1025)}`],
    ['a trailer without an end', `0\r\nX: ${'a'.repeat(16 * 1024)}`],
    ['trailers without an end', `0\r\n${'X: y\r\n'.repeat(3000)}`],
  ])('%s is refused without waiting for its end', (_name, message) => {
    expect(() => decode([message])).toThrow(MalformedResponse);
    expect(() => decode(message.split(''))).toThrow(MalformedResponse);
  });
});
