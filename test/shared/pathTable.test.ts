import { describe, expect, it } from 'vitest';
import { fill, isParameter, PathTable, segmentsOf } from '../../gateway/shared/pathTable.ts';

function tableOf(...templates: string[]): PathTable<string> {
  return new PathTable(templates.map((template) => [template, `value of ${template}`]));
}

describe('a look-up', () => {
  const table = tableOf(
    '/',
    '/drinks',
    '/drinks/',
    '/drinks/{id}',
    '/drinks/mine',
    '/drinks/{id}/likes',
    '/drinks/mine/{likeId}/x',
    '/drinks/{id}/{part}/y',
    '/{any}/x/{more}',
    '/a//b',
  );

  it.each([
    ['/', '/'],
    ['', '/'],
    ['/drinks', '/drinks'],
    ['/drinks/', '/drinks/'],
    ['/drinks/7', '/drinks/{id}'],
    ['/drinks/%2f', '/drinks/{id}'],
    ['/drinks/{id}', '/drinks/{id}'],
    ['/drinks/7/likes', '/drinks/{id}/likes'],
    ['/pubs/x/9', '/{any}/x/{more}'],
    ['/a//b', '/a//b'],
  ])('of %s finds %s', (path, template) =>
    expect(table.find(path)).toEqual({ template, value: `value of ${template}`, segments: segmentsOf(path) }),
  );

  it.each([
    ['a literal is preferred to a parameter', '/drinks/mine', '/drinks/mine'],
    ['a literal that leads nowhere gives way to a parameter', '/drinks/mine/likes', '/drinks/{id}/likes'],
    ['a deep literal that leads nowhere, too', '/drinks/mine/7/y', '/drinks/{id}/{part}/y'],
    ['the deeper literal holds where it leads on', '/drinks/mine/7/x', '/drinks/mine/{likeId}/x'],
    ['a first literal gives way to a first parameter', '/drinks/x/9', '/{any}/x/{more}'],
  ])('%s', (_name, path, template) => expect(table.find(path)?.template).toBe(template));

  it.each([
    ['an unknown path', '/pubs'],
    ['another case', '/Drinks'],
    ['a path that goes on', '/drinks/7/likes/8/9'],
    ['an empty parameter', '/drinks//likes'],
    ['a slash at the end', '/drinks/7/'],
    ['a collapsed //', '/a/b'],
    ['an escape of a literal', '/%64rinks'],
    ['a name that every object has', '/__proto__'],
    ['another one', '/constructor'],
  ])('finds nothing for %s', (_name, path) => expect(table.find(path)).toBeUndefined());

  it('finds nothing in an empty table', () => expect(new PathTable().find('/')).toBeUndefined());

  it('takes a segment with a parameter in it as a parameter', () =>
    expect(tableOf('/drinks/{id}.json').find('/drinks/7.json')?.template).toBe('/drinks/{id}.json'));
});

describe('a table', () => {
  it('lists its rows in their order', () => {
    const table = tableOf('/b', '/a', '/{c}');
    expect(table.entries()).toEqual([
      ['/b', 'value of /b'],
      ['/a', 'value of /a'],
      ['/{c}', 'value of /{c}'],
    ]);
    expect(table.size).toBe(3);
  });

  it('may hold null, which is no gap', () =>
    expect(new PathTable([['/x', null]]).find('/x')).toEqual({ template: '/x', value: null, segments: ['x'] }));

  it('keeps its look-up within the templates, however long the path', () =>
    expect(tableOf('/a/{b}').find('/a'.repeat(100_000))).toBeUndefined());
});

describe('a template filled', () => {
  it.each([
    ['by name', '/drinks/{id}', '/drinks/7', '/cocktails/{id}', '/cocktails/7'],
    ['by position where the name is new', '/drinks/{id}', '/drinks/7', '/cocktails/{cocktailId}', '/cocktails/7'],
    ['by name in another order', '/a/{x}/b/{y}', '/a/1/b/2', '/{y}/{x}', '/2/1'],
    ['with fewer parameters', '/a/{x}/{y}', '/a/1/2', '/b/{y}', '/b/2'],
    ['twice with one', '/a/{x}', '/a/1', '/b/{x}/{x}', '/b/1/1'],
    ['without parameters', '/a/{x}', '/a/1', '/b', '/b'],
    ['within a segment', '/a/{x}', '/a/1', '/b/{x}.json', '/b/1.json'],
    ['with an escape as it stands', '/a/{x}', '/a/%2f%C3', '/b/{x}', '/b/%2f%C3'],
    ['with a value that looks like a pattern', '/a/{x}', '/a/$&$1', '/b/{x}', '/b/$&$1'],
    ['with a value that looks like a parameter', '/a/{x}/{y}', '/a/{y}/2', '/b/{x}', '/b/{y}'],
  ])('%s', (_name, from, path, to, expected) => {
    const match = tableOf(from).find(path);
    expect(match && fill(to, match)).toBe(expected);
  });

  it('has no value for a parameter that the old one has no place for', () => {
    const match = tableOf('/a/{x}').find('/a/1');
    expect(match && fill('/b/{x}/{y}', match)).toBeUndefined();
  });
});

it.each([
  ['{id}', true],
  ['{id}.json', true],
  ['a{id}', true],
  ['{}', true],
  ['id', false],
  ['{id', false],
  ['id}', false],
  ['', false],
])('the segment "%s" is a parameter: %s', (segment, expected) => expect(isParameter(segment)).toBe(expected));

it.each([
  ['/a/b', ['a', 'b']],
  ['a/b', ['a', 'b']],
  ['/', ['']],
  ['', ['']],
  ['/a/', ['a', '']],
  ['//a', ['', 'a']],
])('"%s" has the segments %j', (path, expected) => expect(segmentsOf(path)).toEqual(expected));
