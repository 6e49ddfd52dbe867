import { describe, expect, it } from 'vitest';
import { segmentPattern, segmentsOf, translatePath, valuesIn } from '../../gateway/shared/pathTemplate.ts';

it.each([
  ['/a/b', ['a', 'b']],
  ['a/b', ['a', 'b']],
  ['/', ['']],
  ['', ['']],
  ['/a/', ['a', '']],
  ['//a', ['', 'a']],
])('"%s" has the segments %j', (path, expected) => expect(segmentsOf(path)).toEqual(expected));

describe('the pattern of a segment', () => {
  it.each([
    ['{id}', ['id']],
    ['{}', ['']],
    ['{id}.json', ['id']],
    ['a{id}', ['id']],
    ['{from}...{to}', ['from', 'to']],
    ['{a}{b}', ['a', 'b']],
  ])('%s has the parameters %j', (segment, names) => expect(segmentPattern(segment)).toMatchObject({ names }));

  it.each(['id', '{id', 'id}', '}{', ''])('"%s" has none', (segment) =>
    expect(segmentPattern(segment)).toBeUndefined(),
  );

  it.each([
    ['{id}', '7', ['7']],
    ['{id}', '', undefined],
    ['{id}.json', '7.json', ['7']],
    ['{id}.json', '7.json.json', ['7.json']],
    ['{id}.json', '.json', undefined],
    ['{id}.json', '7xjson', undefined],
    ['{id}.json', '7.json5', undefined],
    ['a{id}', 'a7', ['7']],
    ['a{id}', 'ba7', undefined],
    ['{a}-{b}', '1-2', ['1', '2']],
    ['{a}-{b}', '1-2-3', ['1', '2-3']],
    ['{a}-{b}', '1-', undefined],
    ['(x)+$^[y]|\\{id}*', '(x)+$^[y]|\\7*', ['7']],
    ['{id}?', '7', undefined],
    ['{a}{b}', '123', ['1', '23']],
    ['{a}-{b}-{c}.png', `${'-'.repeat(8000)}x`, undefined],
  ])('%s takes from "%s" %j', (segment, text, expected) => {
    const pattern = segmentPattern(segment);
    expect(pattern && valuesIn(text, pattern)).toEqual(expected);
  });

  it('is cached', () => expect(segmentPattern('{once}.xml')).toBe(segmentPattern('{once}.xml')));
});

describe('the translation of a path', () => {
  it.each([
    ['by name', '/drinks/{id}', '/drinks/7', '/cocktails/{id}', '/cocktails/7'],
    ['by position if the name is new', '/drinks/{id}', '/drinks/7', '/cocktails/{cocktailId}', '/cocktails/7'],
    ['by name in another order', '/a/{x}/b/{y}', '/a/1/b/2', '/{y}/{x}', '/2/1'],
    ['by name, then the remaining value', '/a/{x}/{y}', '/a/1/2', '/b/{y}/{z}', '/b/2/1'],
    ['the remaining value first', '/a/{x}/{y}', '/a/1/2', '/b/{z}/{x}', '/b/2/1'],
    ['two remaining values, in their order', '/a/{x}/{y}/{w}', '/a/1/2/3', '/b/{y}/{p}/{q}', '/b/2/1/3'],
    ['all by position', '/a/{x}/{y}', '/a/1/2', '/b/{p}/{q}', '/b/1/2'],
    ['with fewer parameters', '/a/{x}/{y}', '/a/1/2', '/b/{y}', '/b/2'],
    ['with fewer, by position', '/a/{x}/{y}', '/a/1/2', '/b/{z}', '/b/1'],
    ['twice with one', '/a/{x}', '/a/1', '/b/{x}/{x}', '/b/1/1'],
    ['without parameters', '/a/{x}', '/a/1', '/b', '/b'],
    ['into a segment', '/a/{x}', '/a/1', '/b/{x}.json', '/b/1.json'],
    ['out of a segment', '/a/{x}.json', '/a/1.json', '/b/{x}', '/b/1'],
    ['out of a segment, by position', '/a/{x}.json', '/a/1.json', '/b/{y}.xml', '/b/1.xml'],
    ['out of a segment with several', '/a/{x}-{y}.json', '/a/1-2.json', '/b/{y}/{x}', '/b/2/1'],
    ['with an unchanged escape', '/a/{x}', '/a/%2f%C3', '/b/{x}', '/b/%2f%C3'],
    ['with a value that looks like a pattern', '/a/{x}', '/a/$&$1', '/b/{x}', '/b/$&$1'],
    ['with a value that looks like a parameter', '/a/{x}/{y}', '/a/{y}/2', '/b/{x}', '/b/{y}'],
    ['with names of Object.prototype', '/a/{constructor}/{__proto__}', '/a/1/2', '/b/{__proto__}', '/b/2'],
  ])('%s', (_name, from, path, to, expected) => expect(translatePath(path, from, to)).toBe(expected));

  it.each([
    ['no value left', '/a/{x}', '/a/1', '/b/{x}/{y}'],
    ['no value left for the first of two', '/a/{x}', '/a/1', '/b/{y}/{x}'],
    ['no value', '/a', '/a', '/b/{x}'],
    ['a name of Object.prototype', '/a', '/a', '/b/{constructor}'],
  ])('is undefined with %s', (_name, from, path, to) => expect(translatePath(path, from, to)).toBeUndefined());
});
