import { describe, expect, it } from 'vitest';
import {
  firstSegment,
  isAtOrBelow,
  parseRequestTarget,
  pathBelow,
  versionId,
} from '../../gateway/routing/requestTarget.ts';
import { Random } from '../support/random.ts';

/** The target as it is forwarded, or the reason for its refusal. */
function read(target: string): string {
  const result = parseRequestTarget(target);
  return typeof result === 'string' ? `refused: ${result}` : result.originForm;
}

/** `text` with each character escaped `layers` times over. */
function escaped(text: string, layers: number): string {
  const percent = `%${'25'.repeat(layers - 1)}`;
  return text.replace(/./g, (character) => percent + character.charCodeAt(0).toString(16).padStart(2, '0'));
}

describe('a target that is sent on byte for byte', () => {
  it.each([
    ['the root', '/'],
    ['a path', '/v1/drinks/7'],
    ['a version alone', '/v1'],
    ['an unknown version', '/v10/x'],
    ['a version with a leading zero', '/v01'],
    ['an upper-case version', '/V1'],
    ['minor and patch numbers', '/v1.3.7/x'],
    ['a version that continues with an escape', '/v1%2fx'],
    ['no version', '/x'],
    ['an escaped slash', '/v1/a%2fb'],
    ['an escaped backslash', '/v1/a%5cb'],
    ['an escaped percent sign', '/v1/100%25'],
    ['an escaped escape', '/v1/a%252fb'],
    ['an unnecessary escape', '/v1/%61%7E'],
    ['escapes in both cases', '/v1/%c3%A9'],
    ['an escaped space', '/v1/a%20b'],
    ['bytes that are not UTF-8', '/v1/%ff%fe'],
    ['an escaped question mark and number sign', '/v1/a%3fb%23c'],
    ['an inner //', '/v1//x///y'],
    ['a // at the end', '/v1//'],
    ['matrix parameters', '/v1/x;a=b;c'],
    ['every character that a path may have', "/v1/-._~!$&'()*+,;=:@"],
    ['characters that are not allowed in URLs but common', '/v1/<>"^`{|}[]'],
    ['a dot within a segment', '/v1/a.b/.c/d./..e/f..'],
    ['three dots', '/v1/...'],
    ['dots and an escaped question mark within a segment', '/v1/a..%3fb/x.%23y'],
    ['escaped dots within a segment', '/v1/a%2eb/%2e%2e%2e/%2ec'],
  ])('%s', (_name, target) =>
    expect(parseRequestTarget(target)).toEqual({ originForm: target, pathEnd: target.length }),
  );

  it.each([
    ['an empty query', '?'],
    ['an odd query', '?a&&=&b=c?d'],
    ['invalid escapes', '?100%&%zz&%'],
    ['a backslash, a number sign and //', '?a=\\b#c//d'],
    ['dot segments', '?/../%2e%2e/..;x'],
    ['escaped control characters', '?%00%0d%0a%7f'],
  ])('with any query: %s', (_name, query) =>
    expect(parseRequestTarget(`/v1/x${query}`)).toEqual({ originForm: `/v1/x${query}`, pathEnd: 5 }),
  );
});

describe('a target that is refused', () => {
  it.each([
    ['a leading //', '//v1/x'],
    ['only //', '//'],
    ['a leading // and a host', '//evil.test/v1'],
    ['a backslash', '/v1\\x'],
    ['a backslash at the front', '/\\v1'],
    ['a number sign', '/v1/x#y'],
    ['a number sign before a query', '/v1#x?y'],
    ['a % at the end', '/v1/100%'],
    ['a % and one digit', '/v1/%4'],
    ['a % and no digits', '/v1/%zz'],
    ['a % and an invalid digit', '/v1/%4g'],
    ['another kind of escape', '/v1/%u002e'],
    ['nothing', ''],
    ['an asterisk', '*'],
    ['a path without its slash', 'v1/x'],
    ['an authority', 'api.test:80'],
  ])('%s', (_name, target) => expect(read(target)).toMatch(/^refused: /));

  const bytes = Array.from({ length: 256 }, (_, code) => code);
  const unfit = bytes.filter((code) => code < 0x21 || code > 0x7e);

  it.each(unfit)('the raw byte %i, in the path and in the query', (code) => {
    const byte = String.fromCharCode(code);
    expect(read(`/v1/a${byte}b`)).toMatch(/^refused: /);
    expect(read(`/v1/a?b${byte}c`)).toMatch(/^refused: /);
  });

  it.each([
    ['in the path', '/v1/a\xe9b', 'a byte in the path that is not allowed in a URL'],
    ['in the path, before a query', '/v1/a\xe9b?c', 'a byte in the path that is not allowed in a URL'],
    ['in the query', '/v1/a?b\xe9', 'a byte in the query that is not allowed in a URL'],
    [
      'in the path of a URL, before a query',
      'http://api.test/a\xe9b?c',
      'a byte in the path that is not allowed in a URL',
    ],
  ])('a raw byte, with where it is: %s', (_name, target, reason) => expect(read(target)).toBe(`refused: ${reason}`));

  it.each([...bytes.slice(0, 0x20), 0x7f])('the escaped control character %i, in either case', (code) => {
    const hex = code.toString(16).padStart(2, '0');
    expect(read(`/v1/a%${hex}b`)).toBe(`refused: %${hex} in the path`);
    expect(read(`/v1/a%${hex.toUpperCase()}b`)).toMatch(/^refused: /);
  });
});

describe('a dot segment is refused', () => {
  const dots = [
    '.',
    '..',
    '%2e',
    '%2E',
    '.%2e',
    '%2e.',
    '%2e%2e',
    '%2E%2e',
    '%252e',
    '%25%32%65',
    '.%252e',
    '%25252e%2e',
  ];
  const slashes = ['/', '%2f', '%2F', '%5c', '%5C', '%252f', '%255c', '%25252f'];
  const ends = [
    ...['', '?q', ';', ';x', ';x=y', '%3b', '%3bx', '%253bx'],
    ...['%3f', '%3F', '%3fx', '%253fx', '%23', '%23x', '%2523x', '%25253f?q'],
  ];

  it.each(dots)('spelled %s, behind each slash and before each end', (dot) => {
    for (const before of slashes) {
      for (const after of [...ends, ...slashes, ...slashes.map((slash) => `${slash}x`)]) {
        expect(read(`/v1/a${before}${dot}${after}`)).toBe('refused: a . or .. segment in the path');
      }
    }
  });

  it.each(dots)('spelled %s, as the first segment', (dot) => {
    expect(read(`/${dot}`)).toMatch(/^refused: /);
    expect(read(`/${dot}/v1/x`)).toMatch(/^refused: /);
  });

  it.each([2, 3, 4, 5, 6, 7])('escaped %i times', (layers) => {
    expect(read(`/v1/${escaped('..', layers)}/x`)).toBe('refused: a . or .. segment in the path');
    expect(read(`/v1/a${escaped('/../', layers)}b`)).toBe('refused: a . or .. segment in the path');
  });

  it('behind a parameter of its parent', () => expect(read('/v1/a;b=c/../x')).toMatch(/^refused: /));
});

describe('layers of escapes', () => {
  it.each([1, 2, 3, 4, 5, 6, 7])('%i are looked through', (layers) => {
    const target = `/v1/${escaped('a b', layers)}`;
    expect(read(target)).toBe(target);
  });

  it.each([8, 9, 100, 2000])('%i are too many', (layers) =>
    expect(read(`/v1/${escaped('a', layers)}`)).toBe('refused: a path with too many layers of escapes'),
  );

  it.each([
    ['segments', '/v1', '/a', ''],
    ['slashes', '/v1', '/', ''],
    ['dots', '/v1/', '.', ''],
    ['escapes', '/v1/', '%41', ''],
    ['escaped percent signs', '/v1/', '%25', ''],
    ['escaped slashes and dots that make no segment', '/v1/a', '%2f...', ''],
    ['percent signs of the query', '/v1?', '%', ''],
    ['semicolons', '/v1/', ';', ''],
  ])('100,000 %s are read to their end', (_name, start, piece, end) => {
    const target = start + piece.repeat(100_000) + end;
    expect(read(target)).toBe(target);
  });
});

describe('an absolute-form target', () => {
  it.each([
    ['http://api.test/v1/x?y', '/v1/x?y', 5, 'api.test'],
    ['https://api.test:8443/v1', '/v1', 3, 'api.test:8443'],
    ['HTTP://API.test/V1', '/V1', 3, 'API.test'],
    ['http://api.test', '/', 1, 'api.test'],
    ['http://api.test?x=/y', '/?x=/y', 1, 'api.test'],
    ['http://[2001:db8::1]:80/v1', '/v1', 3, '[2001:db8::1]:80'],
    ['http://127.0.0.1/v1//x', '/v1//x', 6, '127.0.0.1'],
  ])('%s', (target, originForm, pathEnd, authority) =>
    expect(parseRequestTarget(target)).toEqual({ originForm, pathEnd, authority }),
  );

  it.each([
    ['another scheme', 'ftp://api.test/v1'],
    ['no scheme', '://api.test/v1'],
    ['one slash', 'http:/v1'],
    ['no authority', 'http:///v1'],
    ['an authority with nothing but a port', 'http://:80/v1'],
    ['userinfo', 'http://user@api.test/v1'],
    ['userinfo with a password', 'http://user:pass@api.test/v1'],
    ['empty userinfo', 'http://@api.test/v1'],
    ['a port that is not a number', 'http://api.test:http/v1'],
    ['a port beyond the last', 'http://api.test:65536/v1'],
    ['an open bracket', 'http://[::1/v1'],
    ['a space in the authority', 'http://api test/v1'],
    ['a backslash behind the authority', 'http://api.test\\v1'],
    ['a number sign behind the authority', 'http://api.test#/v1'],
    ['a leading // in its path', 'http://api.test//v1'],
    ['a dot segment', 'http://api.test/v1/../v2'],
    ['an escaped dot segment at its root', 'http://api.test/%2e%2e'],
    ['a bad escape', 'http://api.test/%'],
  ])('is refused with %s', (_name, target) => expect(read(target)).toMatch(/^refused: /));
});

describe('the path below a base path', () => {
  it.each([
    ['/v1/x', '', '/v1/x'],
    ['/', '', '/'],
    ['/api/v1/x', '/api', '/v1/x'],
    ['/api/', '/api', '/'],
    ['/api', '/api', ''],
    ['/api?x', '/api', '?x'],
    ['/a/b/v1', '/a/b', '/v1'],
  ])('%s below "%s" is "%s"', (path, base, expected) => expect(pathBelow(path, base)).toBe(expected));

  it.each([
    ['another name', '/v1/x', '/api'],
    ['a longer name', '/apix/v1', '/api'],
    ['a name that continues with an escape', '/api%2fv1', '/api'],
    ['another case', '/API/v1', '/api'],
    ['further down', '/x/api/v1', '/api'],
    ['less than all of it', '/a/v1', '/a/b'],
    ['a doubled slash', '//api/v1', '/api'],
  ])('does not hold %s', (_name, path, base) => expect(pathBelow(path, base)).toBeUndefined());
});

describe('the first segment', () => {
  it.each([
    ['/v1', 'v1'],
    ['/v1/', 'v1'],
    ['/v1/x/y', 'v1'],
    ['/v1?x/y', 'v1'],
    ['/v10/x', 'v10'],
    ['/v01', 'v01'],
    ['/V1/x', 'V1'],
    ['/v1.3.7/x', 'v1.3.7'],
    ['/v1%2fx', 'v1%2fx'],
    ['/v1;x/y', 'v1;x'],
    ['/%76%31/x', '%76%31'],
    ['/', ''],
    ['/?x', ''],
    ['//v1', ''],
    ['', ''],
  ])('of %s is "%s"', (target, expected) => expect(firstSegment(target)).toBe(expected));
});

describe('the id of a version', () => {
  it.each(['v1', 'V1', 'v0', 'v01', 'v10', 'v1.3.7', 'v1%2fx', 'v1beta'])('can have the form of %s', (segment) => {
    for (const rest of ['', '/', '/x', '?x', '/v2']) expect(versionId(`/${segment}${rest}`, '', 1)).toBe(segment);
  });

  it.each(['', 'v', 'x', '1', 'vx1', 'xv1', '%761', 'videos'])('cannot have the form of "%s"', (segment) =>
    expect(versionId(`/${segment}/x`, '', 1)).toBe(''),
  );

  it.each([
    ['/orders/v1', 2, 'orders/v1'],
    ['/orders/v1/7', 2, 'orders/v1'],
    ['/orders/v1?x', 2, 'orders/v1'],
    ['/orders/v1/b/v1', 3, 'orders/v1'],
    ['/a/b/v1/7', 3, 'a/b/v1'],
    ['/v1/orders/v1', 3, 'v1'],
    ['/orders//v1', 3, 'orders//v1'],
    ['/Orders/v1', 2, 'Orders/v1'],
    ['/%6frders/v1', 2, '%6frders/v1'],
    ['/orders%2Fv1', 2, ''],
    ['/orders/v1', 1, ''],
    ['/a/b/v1', 2, ''],
    ['/orders?/v1', 3, ''],
    ['/orders/', 3, ''],
    ['/orders', 3, ''],
    ['/', 3, ''],
    ['*', 3, ''],
    ['', 3, ''],
  ])('in %s, of at most %d segments, is "%s"', (target, segments, id) =>
    expect(versionId(target, '', segments)).toBe(id),
  );

  it.each([
    ['/api/orders/v1/7', 'orders/v1'],
    ['/api/v1', 'v1'],
    ['/apiv1', ''],
    ['/apix/v1', ''],
    ['/API/v1', ''],
    ['/v1', ''],
    ['/api?/v1', ''],
    ['/api', ''],
  ])('in %s below /api is "%s"', (target, id) => expect(versionId(target, '/api', 2)).toBe(id));

  it('is the only one of many prefixes that fits, if there is any', () => {
    const random = new Random(31);
    const names = ['orders', 'ordersx', 'a', 'b', 'video', 'v', 'Orders', 'a.b', '%61'];
    const segments = ['v1', 'v2', 'v10', 'v01', 'V1', ...names, ''];
    let found = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const bases = Array.from({ length: random.below(4) }, () =>
        Array.from({ length: random.below(3) }, () => `/${random.of(names)}`).join(''),
      );
      const ids = bases.flatMap((base) => ['v1', 'v2', 'v10'].map((version) => `${base}/${version}`.slice(1)));
      const path = Array.from({ length: random.below(5) }, () => `/${random.of(segments)}`).join('');
      const target = path + random.of(['', '/', '?', '?/v1', '/x?v1']);
      const fitting = ids.filter((id) => isAtOrBelow(target, `/${id}`));
      expect(new Set(fitting).size, target).toBeLessThanOrEqual(1);
      const deepest = Math.max(1, ...ids.map((id) => id.split('/').length));
      const id = versionId(target, '', deepest);
      expect([target, ids.includes(id) ? id : undefined]).toEqual([target, fitting[0]]);
      found += fitting.length === 0 ? 0 : 1;
    }
    expect(found).toBeGreaterThan(1_000);
  });
});
