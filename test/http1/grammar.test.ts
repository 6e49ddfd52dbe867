import { describe, expect, it } from 'vitest';
import { checkedLowerCased, isAuthority, listOfTokens, lowerCased, token } from '../../gateway/http1/grammar.ts';

describe('a token', () => {
  const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
  // RFC 9110 §5.6.2: tchar.
  const allowed = new Set(`!#$%&'*+-.^_\`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ`);

  it.each(characters.map((character) => [character.charCodeAt(0), character] as const))(
    'contains byte %i at any place, if and only if it is allowed',
    (_code, character) => {
      for (const text of [character, `${character}a`, `a${character}`, `a${character}b`]) {
        expect(token.test(text)).toBe(allowed.has(character));
      }
    },
  );

  it('is not empty', () => expect(token.test('')).toBe(false));
});

describe('an authority', () => {
  it.each([
    'api.test',
    'API.Test',
    'localhost',
    'api.test.',
    'a_b-c',
    'api.test:80',
    'api.test:',
    'api.test:0',
    'api.test:65535',
    '127.0.0.1',
    '127.0.0.1:8080',
    '999.1',
    '[::1]',
    '[::1]:80',
    '[2001:DB8::1]',
    '[::ffff:192.0.2.1]',
    '[v1.fe80::a+en1]',
    'a%20b',
    'xn--bcher-kva.example',
    "-._~!$&'()*+,;=",
  ])('%s', (value) => expect(isAuthority(value)).toBe(true));

  it.each([
    ['nothing', ''],
    ['a port alone', ':80'],
    ['a colon alone', ':'],
    ['two ports', 'a:1:2'],
    ['a port that is not a number', 'a:http'],
    ['a negative port', 'a:-1'],
    ['a port above 65535', 'a:65536'],
    ['a port of many digits', 'a:000080'],
    ['white space in front', ' a'],
    ['white space at the end', 'a '],
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a line break', 'a\r\nb'],
    ['a line break at the end', 'a\n'],
    ['NUL', 'a\0'],
    ['a byte above ASCII', 'caf\xe9'],
    ['userinfo', 'u@a'],
    ['empty userinfo', '@a'],
    ['a slash', 'a/b'],
    ['a backslash', 'a\\b'],
    ['a question mark', 'a?b'],
    ['a number sign', 'a#b'],
    ['angle brackets', '<a>'],
    ['a quote', 'a"b'],
    ['a scheme', 'http://a'],
    ['an IPv6 address without brackets', '::1'],
    ['an open bracket', '[::1'],
    ['a closing bracket alone', '::1]'],
    ['text after the brackets', '[::1]a'],
    ['brackets within a name', 'a[::1]'],
    ['empty brackets', '[]'],
    ['an IPv4 address in brackets', '[127.0.0.1]'],
    ['a name in brackets', '[a]'],
    ['a zone', '[fe80::1%eth0]'],
    ['an escaped zone', '[fe80::1%25eth0]'],
    ['two addresses', 'a,b:c'],
    ['half an escape', 'a%2'],
    ['an invalid escape', 'a%zz'],
    ['an escaped NUL', 'a%00'],
    ['an escaped line break', 'a%0d%0a'],
    ['an escaped DEL', 'a%7F'],
  ])('is not %s', (_name, value) => expect(isAuthority(value)).toBe(false));
});

it.each([
  ['', []],
  ['close', ['close']],
  ['Keep-Alive, Upgrade', ['keep-alive', 'upgrade']],
  [' a\t,\tb ', ['a', 'b']],
  // RFC 9110 §5.6.1.2: empty members are ignored.
  [',,a, ,b,', ['a', 'b']],
  [',', []],
])('the list "%s" has the tokens %j', (value, expected) => expect(listOfTokens(value)).toEqual(expected));

it.each([
  'Content-Type',
  'content-type',
  'ETag',
  'etag',
  'Etag',
  'TE',
  'WWW-Authenticate',
  'X-Request-ID',
  'X-Forwarded-For',
  'Sec-WebSocket-Key',
  'DNT',
  'X-Unheard-Of',
  'cONTENT-tYPE',
  'constructor',
  '__proto__',
  "!#$%&'*+-.^_`|~09aZ",
])('%s is a field name, and is lower-cased', (name) => {
  expect(token.test(name)).toBe(true);
  expect(checkedLowerCased(name)).toBe(name.toLowerCase());
});

it.each([
  ['a space after it', 'Host '],
  ['a space in front of it', ' Host'],
  ['no name', ''],
  ['a line break after it', 'Host\n'],
  ['a colon', 'Host:'],
  ['a byte above ASCII', 'X-\xe9'],
  // Its lower case is the letter k.
  ['a Kelvin sign', '\u212aeep-Alive'],
])('is not a field name: %s', (_name, name) => expect(checkedLowerCased(name)).toBeUndefined());

it.each([
  'Content-Length',
  'CONTENT-LENGTH',
  'cOnTeNt-LeNgTh',
  'ETag',
  'TE',
  'Sec-WebSocket-Key',
  'X-Unheard-Of',
  'x_under_score',
  '__proto__',
  "!#$%&'*+-.^_`|~09aZ",
  '',
])('%s is lower-cased', (name) => expect(lowerCased(name)).toBe(name.toLowerCase()));
