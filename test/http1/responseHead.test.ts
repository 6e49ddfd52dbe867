import { describe, expect, it } from 'vitest';
import {
  checkPartialHead,
  MalformedResponse,
  parseResponseHead,
  parseTrailers,
  ResponseHeads,
} from '../../gateway/http1/responseHead.ts';
import { Random } from '../support/random.ts';
import { randomHeads } from './responseHeads.ts';

function head(...lines: string[]): ReturnType<typeof parseResponseHead> {
  return parseResponseHead(`${lines.join('\r\n')}\r\n\r\n`);
}

/** A 200 with these fields. */
function withFields(...fields: string[]): ReturnType<typeof parseResponseHead> {
  return head('HTTP/1.1 200 OK', ...fields);
}

describe('a status line', () => {
  it.each([
    ['HTTP/1.1 200 OK', 200, 'OK'],
    ['HTTP/1.0 200 OK', 200, 'OK'],
    ['HTTP/1.1 200 ', 200, ''],
    // Not in the grammar, but common.
    ['HTTP/1.1 200', 200, ''],
    ['HTTP/1.1 404 Not Found', 404, 'Not Found'],
    ['HTTP/1.1 200  two  spaces ', 200, ' two  spaces '],
    ['HTTP/1.1 200 a\tb', 200, 'a\tb'],
    ['HTTP/1.1 200 caf\xe9 \x80\xff', 200, 'caf\xe9 \x80\xff'],
    ['HTTP/1.1 200 200', 200, '200'],
    ['HTTP/1.1 100 Continue', 100, 'Continue'],
    ['HTTP/1.1 599 Last', 599, 'Last'],
  ])('%j', (line, status, reason) => expect(head(line)).toMatchObject({ status, reason, fields: [] }));

  it.each([
    ['HTTP/1.1', 1],
    ['HTTP/1.0', 0],
  ])('of %s has the minor version %i', (version, minor) => expect(head(`${version} 200 OK`).minor).toBe(minor));

  it.each([
    ['nothing', ''],
    ['one word', 'hello'],
    ['a request', 'GET / HTTP/1.1'],
    ['HTTP/0.9', 'HTTP/0.9 200 OK'],
    ['HTTP/2', 'HTTP/2 200 OK'],
    ['HTTP/2.0', 'HTTP/2.0 200 OK'],
    ['HTTP/1.10', 'HTTP/1.10 200 OK'],
    ['another protocol', 'ICY 200 OK'],
    ['lower case', 'http/1.1 200 OK'],
    ['space in front', ' HTTP/1.1 200 OK'],
    ['no space', 'HTTP/1.1200 OK'],
    ['two spaces', 'HTTP/1.1  200 OK'],
    ['a tab', 'HTTP/1.1\t200 OK'],
    ['two digits', 'HTTP/1.1 20 OK'],
    ['four digits', 'HTTP/1.1 2000 OK'],
    ['letters', 'HTTP/1.1 2xx OK'],
    ['a sign', 'HTTP/1.1 +20 OK'],
    ['0xx', 'HTTP/1.1 099 OK'],
    ['6xx', 'HTTP/1.1 600 OK'],
    ['no space before the reason', 'HTTP/1.1 200OK'],
    ['NUL in the reason', 'HTTP/1.1 200 O\0K'],
    ['an escape character in the reason', 'HTTP/1.1 200 \x1b[31m'],
    ['CR in the reason', 'HTTP/1.1 200 O\rK'],
    ['LF in the reason', 'HTTP/1.1 200 O\nK'],
  ])('that is refused: %s', (_name, line) => expect(() => head(line)).toThrow(MalformedResponse));
});

describe('field lines', () => {
  it('keep order, spelling and duplicates', () =>
    expect(withFields('b: 1', 'A: 2', 'b: 3', 'Set-Cookie: x', 'SET-COOKIE: y').fields).toEqual([
      'b',
      '1',
      'A',
      '2',
      'b',
      '3',
      'Set-Cookie',
      'x',
      'SET-COOKIE',
      'y',
    ]));

  it('have their names in lower case, one for each field', () =>
    expect(withFields('B: 1', 'a: 2', 'X-Unheard-Of: 3', 'SET-COOKIE: x', 'ETag: y', 'b: 1').names).toEqual([
      'b',
      'a',
      'x-unheard-of',
      'set-cookie',
      'etag',
      'b',
    ]));

  it.each([
    ['no white space', 'X:v', 'v'],
    ['white space around it', 'X: \t v \t ', 'v'],
    ['white space within it', 'X: a \t b', 'a \t b'],
    ['nothing', 'X:', ''],
    ['only white space', 'X: \t ', ''],
    ['colons', 'X: a:b::', 'a:b::'],
    ['bytes above ASCII', 'X: \x80\xe9\xff', '\x80\xe9\xff'],
    ['a no-break space, which is not white space in HTTP', 'X: \xa0v\xa0', '\xa0v\xa0'],
  ])('have values: %s', (_name, line, value) => expect(withFields(line).fields).toEqual(['X', value]));

  it('may be many', () =>
    expect(withFields(...Array.from({ length: 10_000 }, () => 'a: b')).fields).toHaveLength(20_000));

  it.each([
    ['no colon', 'X'],
    ['no colon in the last of several', 'X: v\r\nY'],
    ['no name', ': v'],
    ['space before the colon', 'X : v'],
    ['a tab before the colon', 'X\t: v'],
    ['space at the start of the first line', ' X: v'],
    ['a continued line', 'X: a\r\n b'],
    ['a continued line with a tab and a colon', 'X: a\r\n\tb: c'],
    ['a name with a space', 'X Y: v'],
    ['a name with a slash', 'X/Y: v'],
    ['a name in brackets', '[X]: v'],
    ['a name with a quote', '"X": v'],
    ['a name above ASCII', 'X\xe9: v'],
    ['CR in a value', 'X: a\rb'],
    ['LF in a value', 'X: a\nY: b'],
    ['CR at the end of a value', 'X: a\r'],
    ['LF at the end of a value', 'X: a\n'],
  ])('that are refused: %s', (_name, lines) => expect(() => withFields(lines)).toThrow(MalformedResponse));

  const controls = [...Array(0x20).keys(), 0x7f].filter((code) => code !== 0x09);

  it.each(controls)('that are refused: byte %i, in a name or a value', (code) => {
    const byte = String.fromCharCode(code);
    expect(() => withFields(`X: a${byte}b`)).toThrow(MalformedResponse);
    expect(() => withFields(`X${byte}: v`)).toThrow(MalformedResponse);
  });
});

describe('a Content-Length', () => {
  it.each([
    ['0', 0],
    ['5', 5],
    ['007', 7],
    ['999999999999999', 999_999_999_999_999],
  ])('of %s', (value, contentLength) =>
    expect(withFields(`Content-Length: ${value}`)).toMatchObject({ contentLength, chunked: false }),
  );

  it('is -1 without the field', () => expect(withFields().contentLength).toBe(-1));

  it.each(['', '-1', '+5', '5 5', '5,5', '5, 5', '5, 6', '0x5', '5e1', '5.0', '５', 'five', '1'.repeat(16)])(
    'is not "%s"',
    (value) => expect(() => withFields(`Content-Length: ${value}`)).toThrow(MalformedResponse),
  );

  it.each([
    ['alike', '5', '5'],
    ['with different values', '5', '6'],
    ['one of them empty', '5', ''],
  ])('is refused if it occurs twice: %s', (_name, first, second) =>
    expect(() => withFields(`Content-Length: ${first}`, `content-length: ${second}`)).toThrow(MalformedResponse),
  );
});

describe('a Transfer-Encoding', () => {
  it.each(['chunked', 'Chunked', 'CHUNKED', ' chunked '])('of "%s"', (value) =>
    expect(withFields(`Transfer-Encoding: ${value}`).chunked).toBe(true),
  );

  it.each([
    ['another coding', ['gzip']],
    ['another coding before it', ['gzip, chunked']],
    ['another coding after it', ['chunked, gzip']],
    ['identity', ['identity']],
    ['chunked twice', ['chunked, chunked']],
    ['chunked twice, in two lines', ['chunked', 'chunked']],
    ['another coding, in two lines', ['gzip', 'chunked']],
    ['a parameter', ['chunked;q=1']],
    ['an empty member', ['chunked,']],
    ['nothing', ['']],
    ['an empty second line', ['chunked', '']],
    ['quotes', ['"chunked"']],
    ['another byte', ['xchunked']],
    ['a vertical tab', ['\vchunked']],
    ['a no-break space', ['\xa0chunked']],
  ])('that is refused: %s', (_name, values) =>
    expect(() => withFields(...values.map((value) => `Transfer-Encoding: ${value}`))).toThrow(MalformedResponse),
  );

  it.each([
    ['before it', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['after it', ['Transfer-Encoding: chunked', 'Content-Length: 5']],
    ['of 0', ['Content-Length: 0', 'Transfer-Encoding: chunked']],
  ])('is refused with a Content-Length %s', (_name, fields) =>
    expect(() => withFields(...fields)).toThrow(MalformedResponse),
  );

  it('is unknown to HTTP/1.0', () =>
    expect(() => head('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked')).toThrow(MalformedResponse));
});

describe('an incomplete head', () => {
  const whole = 'HTTP/1.1 200 OK\r\nX: caf\xe9\tb\r\n';

  it('is valid so far, wherever it stops', () => {
    for (let length = 0; length <= whole.length; length += 1) {
      expect(() => checkPartialHead(whole.slice(0, length), 0)).not.toThrow();
    }
  });

  it.each([
    ['another protocol', 'SSH-2.0-x'],
    ['another major', 'HTTP/2.0 '],
    ['a request', 'GET / HTTP'],
    ['NUL', 'HTTP/1.1 200 OK\r\nX: \0'],
    ['a bare LF', 'HTTP/1.1 200 OK\n'],
    ['a bare CR and a byte after it', 'HTTP/1.1 200 OK\r\nX: a\rb'],
    ['CR CR', 'HTTP/1.1 200 OK\r\r'],
  ])('is refused at once with %s', (_name, text) => expect(() => checkPartialHead(text, 0)).toThrow(MalformedResponse));

  const pieces: [name: string, seen: string, more: string][] = [
    ['a LF', 'HTTP/1.1 200 OK\r', '\n'],
    ['a LF and a CR', 'HTTP/1.1 200 OK\r', '\nX: a\r'],
    ['a CR', 'HTTP/1.1 200 OK', '\r'],
    ['nothing', 'HTTP/1.1 200 OK\r', ''],
  ];

  it.each(pieces)('is valid so far when a piece adds %s', (_name, seen, more) => {
    expect(() => checkPartialHead(seen, 0)).not.toThrow();
    expect(() => checkPartialHead(seen + more, seen.length)).not.toThrow();
  });

  it.each([
    ['a byte after a CR', 'HTTP/1.1 200 OK\r\nX: a\r', 'b'],
    ['a CR after a CR', 'HTTP/1.1 200 OK\r', '\r'],
    ['a LF without a CR', 'HTTP/1.1 200 OK', '\n'],
    ['NUL', 'HTTP/1.1 200 OK\r\nX: ', '\0'],
    ['a LF further on', 'HTTP/1.1 200 OK\r', '\nX: a\nY'],
    ['the rest of another protocol', 'HTTP/', '2.0 '],
  ])('is refused at once when a piece adds %s', (_name, seen, more) => {
    expect(() => checkPartialHead(seen, 0)).not.toThrow();
    expect(() => checkPartialHead(seen + more, seen.length)).toThrow(MalformedResponse);
  });

  it('is recognised in every call', () => {
    expect(() => checkPartialHead('HTTP/1.1 200 OK\r\nX: \0', 0)).toThrow(MalformedResponse);
    expect(() => checkPartialHead('HTTP/1.1 \0', 0)).toThrow(MalformedResponse);
  });
});

// RFC 9112 §9.3.
describe('the connection', () => {
  it.each([
    ['HTTP/1.1', [], true],
    ['HTTP/1.1', ['close'], false],
    ['HTTP/1.1', ['CLOSE'], false],
    ['HTTP/1.1', ['keep-alive'], true],
    ['HTTP/1.1', ['x-a, close , x-b'], false],
    ['HTTP/1.1', ['keep-alive', 'close'], false],
    ['HTTP/1.1', ['closed'], true],
    ['HTTP/1.0', [], false],
    ['HTTP/1.0', ['keep-alive'], true],
    ['HTTP/1.0', ['Keep-Alive'], true],
    ['HTTP/1.0', ['close'], false],
    ['HTTP/1.0', ['keep-alive, close'], false],
    ['HTTP/1.0', ['close, keep-alive'], false],
    ['HTTP/1.0', ['keep-alive', 'close'], false],
  ])('of %s with %j persists: %s', (version, values, persistent) =>
    expect(head(`${version} 200 OK`, ...values.map((value) => `Connection: ${value}`)).persistent).toBe(persistent),
  );

  it('has its options from every line, in lower case', () =>
    expect(withFields('Connection: X-A, close', 'connection: X-B').connection).toEqual(['x-a', 'close', 'x-b']));

  it.each([
    [[], undefined],
    [['timeout=5'], 5_000],
    [['timeout=5, max=100'], 5_000],
    [['max=100, Timeout=5'], 5_000],
    [['max=100,timeout=5'], 5_000],
    [['max=100;timeout=5'], 5_000],
    [['timeout=0'], 0],
    [['timeout=0, max=100'], 0],
    [['xtimeout=5'], undefined],
    [['max=100, x-timeout=5'], undefined],
    [['max=100'], undefined],
    [['timeout=x'], undefined],
    [['timeout=-5'], undefined],
    [['timeout='], undefined],
    [[''], undefined],
  ])('with Keep-Alive %j is kept for %s ms', (values, keepAlive) =>
    expect(withFields(...values.map((value) => `Keep-Alive: ${value}`)).keepAlive).toBe(keepAlive),
  );
});

describe('trailers', () => {
  it.each([
    ['none', '', []],
    ['one', 'a: b', ['a', 'b']],
    ['several, in order, with duplicates', 'b: 1\r\nA:2\r\nb: 3', ['b', '1', 'A', '2', 'b', '3']],
    ['white space around a value', 'a: \t b \t', ['a', 'b']],
    ['no value', 'a:', ['a', '']],
    ['bytes above ASCII', 'a: \xe9', ['a', '\xe9']],
  ])('%s', (_name, text, expected) => expect(parseTrailers(text)).toEqual(expected));

  it.each([
    ['no colon', 'a'],
    ['no name', ': b'],
    ['space before the colon', 'a : b'],
    ['a continued line', 'a: b\r\n c'],
    ['a blank line', 'a: b\r\n\r\nc: d'],
    ['a blank line at the end', 'a: b\r\n'],
    ['a bare CR', 'a: b\rc: d'],
    ['a bare LF', 'a: b\nc: d'],
    ['NUL', 'a: \0'],
  ])('that are refused: %s', (_name, text) => expect(() => parseTrailers(text)).toThrow(MalformedResponse));
});

describe('heads of one target', () => {
  const outcome = (parse: () => unknown): unknown => {
    try {
      return parse();
    } catch (error) {
      return String(error);
    }
  };

  it('are parsed the same with and without kept ones, in random order', () => {
    const random = new Random(1);
    const heads = new ResponseHeads();
    // More than are kept, so that some of them are parsed again.
    const texts = randomHeads(random, 60, { specials: true });
    for (let count = 0; count < 20_000; count += 1) {
      const text = random.of(texts);
      expect(outcome(() => heads.parse(text))).toEqual(outcome(() => parseResponseHead(text)));
    }
  });

  it('are parsed once if they are the same, unless they set a cookie', () => {
    const heads = new ResponseHeads();
    const text = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
    const other = text.replace('Length: 2', 'Length: 3');
    const cookie = text.replace('Content-Length: 2', 'Set-Cookie: a=b');
    const first = heads.parse(text);
    expect(heads.parse(other).contentLength).toBe(3);
    expect(heads.parse(text)).toBe(first);
    expect(heads.parse(cookie)).not.toBe(heads.parse(cookie));
  });
});
