import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { get, message } from '../support/rawClient.ts';
import { membersOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// Every row is followed by a well-formed request. If the end of a message is ambiguous, nothing after it may be read as
// a request: it gets 400, the connection is closed, and the backend receives no byte.
async function expectRefusal(bytes: string, ...statuses: number[]): Promise<void> {
  const { backend, client } = await startWire();
  client.send(bytes + get('/v1/smuggled'));
  const response = await client.response('POST');
  expectProblem(response, ...statuses);
  expect(membersOf(response, 'connection').join().toLowerCase()).toBe('close');
  expect((await client.closed()).leftover).toBe('');
  expect(backend.bytes).toBe('');
}

function post(...fields: string[]): string {
  return message('POST /v1/x HTTP/1.1', 'Host: api.test', ...fields);
}

// RFC 9112 §6.1, §6.3: a message with both ought to be handled as an error.
const both: [name: string, fields: string[]][] = [
  ['Transfer-Encoding, then Content-Length', ['Transfer-Encoding: chunked', 'Content-Length: 5']],
  ['Content-Length, then Transfer-Encoding', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
  ['Content-Length: 0 and Transfer-Encoding', ['Content-Length: 0', 'Transfer-Encoding: chunked']],
  ['Transfer-Encoding: identity and Content-Length', ['Transfer-Encoding: identity', 'Content-Length: 5']],
];

// RFC 9110 §8.6, RFC 9112 §6.3 (5): Content-Length = 1*DIGIT, and only one.
const lengths: [name: string, fields: string[]][] = [
  ['two that differ', ['Content-Length: 5', 'Content-Length: 6']],
  ['two that agree', ['Content-Length: 5', 'Content-Length: 5']],
  ['a list that differs', ['Content-Length: 5, 6']],
  ['a list that agrees', ['Content-Length: 5, 5']],
  ['a list with an empty member', ['Content-Length: 5,']],
  ['a plus sign', ['Content-Length: +5']],
  ['a minus sign', ['Content-Length: -5']],
  ['minus zero', ['Content-Length: -0']],
  ['hexadecimal', ['Content-Length: 0x5']],
  ['bare hexadecimal', ['Content-Length: a']],
  ['an exponent', ['Content-Length: 1e1']],
  ['a fraction', ['Content-Length: 5.0']],
  ['an empty value', ['Content-Length:']],
  ['only spaces', ['Content-Length:   ']],
  ['a space within', ['Content-Length: 5 5']],
  ['a tab within', ['Content-Length: 5\t5']],
  ['a vertical tab before', ['Content-Length: \v5']],
  ['a form feed after', ['Content-Length: 5\f']],
  ['quotes', ['Content-Length: "5"']],
  ['a semicolon', ['Content-Length: 5;']],
  ['an underscore', ['Content-Length: 1_0']],
  ['a digit of another script', ['Content-Length: \xd9\xa5']],
  ['2^64', ['Content-Length: 18446744073709551616']],
  ['a number of 40 digits', ['Content-Length: 9999999999999999999999999999999999999999']],
];

// RFC 9112 §6.1: one `chunked`, last. A coding that we do not know is 501.
const codings: [name: string, fields: string[]][] = [
  ['xchunked', ['Transfer-Encoding: xchunked']],
  ['chunkedx', ['Transfer-Encoding: chunkedx']],
  ['chunked, chunked', ['Transfer-Encoding: chunked, chunked']],
  ['gzip, chunked', ['Transfer-Encoding: gzip, chunked']],
  ['chunked, gzip', ['Transfer-Encoding: chunked, gzip']],
  ['gzip', ['Transfer-Encoding: gzip']],
  ['identity', ['Transfer-Encoding: identity']],
  ['chunked, identity', ['Transfer-Encoding: chunked, identity']],
  ['two lines of chunked', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['chunked and identity in two lines', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
  ['identity and chunked in two lines', ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked']],
  ['an empty value', ['Transfer-Encoding:']],
  ['a parameter', ['Transfer-Encoding: chunked;q=1']],
  ['quotes', ['Transfer-Encoding: "chunked"']],
  ['a vertical tab before', ['Transfer-Encoding: \vchunked']],
  ['a vertical tab after', ['Transfer-Encoding: chunked\v']],
  ['a form feed before', ['Transfer-Encoding: \fchunked']],
  ['a no-break space before', ['Transfer-Encoding: \xa0chunked']],
  ['a space within', ['Transfer-Encoding: chun ked']],
  ['a NUL after', ['Transfer-Encoding: chunked\0']],
];

// RFC 9112 §2.2, §5.1, §5.2; RFC 9110 §5.1, §5.5.
const syntax: [name: string, fields: string[]][] = [
  ['a space before the colon', ['Content-Length : 5']],
  ['a tab before the colon', ['Transfer-Encoding\t: chunked']],
  ['a header without a colon', ['Transfer-Encoding chunked']],
  ['a header without a name', [': chunked']],
  ['a folded header', ['X-A: b', ' Transfer-Encoding: chunked']],
  ['a folded header, by tab', ['X-A: b', '\tTransfer-Encoding: chunked']],
  ['a folded Transfer-Encoding', ['Transfer-Encoding:', ' chunked']],
  ['a bare CR in a value', ['X-A: b\rTransfer-Encoding: chunked']],
  ['a bare LF between headers', ['X-A: b\nTransfer-Encoding: chunked']],
  ['CR CR LF between headers', ['X-A: b\r\r\nTransfer-Encoding: chunked']],
  ['LF CR between headers', ['X-A: b\n\rTransfer-Encoding: chunked']],
  ['a NUL in a value', ['X-A: b\0c']],
  ['a NUL in a name', ['Transfer\0-Encoding: chunked']],
  ['DEL in a value', ['X-A: b\x7fc']],
  ['a control byte in a value', ['X-A: b\x01c']],
  ['a space in a name', ['Transfer Encoding: chunked']],
  ['obs-text in a name', ['Transfer-Encod\xefng: chunked']],
  ['a parenthesis in a name', ['X(A): b']],
  ['an at sign in a name', ['X@A: b']],
  ['a slash in a name', ['X/A: b']],
  ['quotes in a name', ['"X": b']],
];

describe('a length that can be read in two ways is refused', () => {
  it.each(both)('%s', (_name, fields) => expectRefusal(`${post(...fields)}0\r\n\r\n`, 400, 501));
  it.each(lengths)('Content-Length: %s', (_name, fields) => expectRefusal(`${post(...fields)}hello`, 400, 413));
  it.each(codings)('Transfer-Encoding: %s', (_name, fields) => expectRefusal(`${post(...fields)}0\r\n\r\n`, 400, 501));
});

describe('a header section that can be read in two ways is refused', () => {
  it.each(syntax)('%s', (_name, fields) => expectRefusal(post(...fields), 400));

  it('white space before the first header', () =>
    expectRefusal('POST /v1/x HTTP/1.1\r\n Host: evil.test\r\nHost: api.test\r\n\r\n', 400));

  it('a head whose lines all end in a bare LF', () => expectRefusal('GET /v1/x HTTP/1.1\nHost: api.test\n\n', 400));

  it('a request line that ends in a bare CR', () => expectRefusal('GET /v1/x HTTP/1.1\rHost: api.test\r\n\r\n', 400));

  it('a head whose empty line is a bare LF', () => expectRefusal('GET /v1/x HTTP/1.1\r\nHost: api.test\r\n\n', 400));

  // RFC 9112 §6.1: faulty framing, since a 1.0 hop would have ignored the field.
  it('Transfer-Encoding in HTTP/1.0', () =>
    expectRefusal('POST /v1/x HTTP/1.0\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400));

  it('Transfer-Encoding in HTTP/1.0 with keep-alive', () =>
    expectRefusal(
      message('POST /v1/x HTTP/1.0', 'Host: api.test', 'Connection: keep-alive', 'Transfer-Encoding: chunked'),
      400,
    ));
});

it('a broken request after a good one is refused, and what follows it is not run', async () => {
  const { backend, client } = await startWire();
  client.send(get('/v1/good') + post('Content-Length: 5', 'Transfer-Encoding: chunked') + get('/v1/smuggled'));
  expect((await client.response()).status).toBe(200);
  expectProblem(await client.response('POST'), 400);
  expect((await client.closed()).leftover).toBe('');
  expect(backend.request.target).toBe('/good');
});
