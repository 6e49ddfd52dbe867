import { describe, expect, it } from 'vitest';
import { below, firstSegment, looksLikeVersion } from '../../gateway/routing/match.ts';

describe('the path below a base path', () => {
  it.each([
    ['/v1/x', '', '/v1/x'],
    ['/', '', '/'],
    ['/api/v1/x', '/api', '/v1/x'],
    ['/api/', '/api', '/'],
    ['/api', '/api', ''],
    ['/api?x', '/api', '?x'],
    ['/a/b/v1', '/a/b', '/v1'],
  ])('%s below "%s" is "%s"', (path, base, expected) => expect(below(path, base)).toBe(expected));

  it.each([
    ['another name', '/v1/x', '/api'],
    ['a name that goes on', '/apix/v1', '/api'],
    ['a name that goes on behind an escape', '/api%2fv1', '/api'],
    ['another case', '/API/v1', '/api'],
    ['further down', '/x/api/v1', '/api'],
    ['less than all of it', '/a/v1', '/a/b'],
    ['a doubled slash', '//api/v1', '/api'],
  ])('does not hold %s', (_name, path, base) => expect(below(path, base)).toBeUndefined());
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

describe('the form of a version', () => {
  it.each(['v1', 'V1', 'v0', 'v01', 'v10', 'v1.3.7', 'v1%2fx', 'v1beta'])('is that of %s', (segment) =>
    expect(looksLikeVersion(segment)).toBe(true),
  );

  it.each(['', 'v', 'x', '1', 'vx1', 'xv1', '%761', 'videos'])('is not that of "%s"', (segment) =>
    expect(looksLikeVersion(segment)).toBe(false),
  );
});
