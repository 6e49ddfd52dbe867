import { describe, expect, it } from 'vitest';
import { PathTable, segmentPattern, segmentsOf, translatePath, valuesIn } from '../../gateway/shared/pathTable.ts';

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
    expect(table.find(path)).toEqual({ template, value: `value of ${template}`, path }),
  );

  it.each([
    ['a literal is preferred to a parameter', '/drinks/mine', '/drinks/mine'],
    ['a parameter is used if the literal has no match', '/drinks/mine/likes', '/drinks/{id}/likes'],
    ['a parameter is used if a deeper literal has no match', '/drinks/mine/7/y', '/drinks/{id}/{part}/y'],
    ['a deeper literal is used if it has a match', '/drinks/mine/7/x', '/drinks/mine/{likeId}/x'],
    ['a parameter in the first segment is used if the literal has no match', '/drinks/x/9', '/{any}/x/{more}'],
  ])('%s', (_name, path, template) => expect(table.find(path)?.template).toBe(template));

  it.each([
    ['an unknown path', '/pubs'],
    ['another case', '/Drinks'],
    ['a longer path', '/drinks/7/likes/8/9'],
    ['an empty parameter', '/drinks//likes'],
    ['two slashes at the end', '/pubs/x/9//'],
    ['an empty parameter at the end', '/drinks/7/likes/8/'],
    ['a collapsed //', '/a/b'],
    ['an escape of a literal', '/%64rinks'],
    ['__proto__', '/__proto__'],
    ['constructor', '/constructor'],
  ])('finds nothing for %s', (_name, path) => expect(table.find(path)).toBeUndefined());

  // Decision 33.
  it.each([
    ['of the request', '/drinks/7/', '/drinks/{id}', '/drinks/7'],
    ['of the request after a literal', '/drinks/mine/', '/drinks/mine', '/drinks/mine'],
    ['of the template', '/bars', '/bars/', '/bars/'],
    ['of a template with a parameter', '/bars/7', '/bars/{bar}/', '/bars/7/'],
  ])('ignores the final slash %s if no template has the same', (_name, path, template, matched) =>
    expect(tableOf('/drinks/{id}', '/drinks/mine', '/bars/', '/bars/{bar}/').find(path)).toMatchObject({
      template,
      path: matched,
    }),
  );

  it('prefers a template with the same final slash, even a less concrete one', () => {
    const table = tableOf('/bars/', '/bars', '/bars/{bar}/', '/bars/mine');
    expect(['/bars', '/bars/', '/bars/mine/', '/bars/mine'].map((path) => table.find(path)?.template)).toEqual([
      '/bars',
      '/bars/',
      '/bars/{bar}/',
      '/bars/mine',
    ]);
  });

  it('finds nothing in an empty table', () => expect(new PathTable().find('/')).toBeUndefined());

  it('uses the first of two templates that match the same paths', () => {
    const table = tableOf('/drinks/{id}', '/drinks/{name}', '/{a}.json', '/{b}.json');
    expect(table.find('/drinks/7')?.template).toBe('/drinks/{id}');
    expect(table.find('/7.json')?.template).toBe('/{a}.json');
  });
});

// OpenAPI 3.1 §4.8.8: the more concrete template is preferred.
describe('a look-up of a segment with text around its parameter', () => {
  const table = tableOf(
    '/drinks/{id}',
    '/drinks/{id}.json',
    '/drinks/{id}.json/likes',
    '/drinks/mine.json',
    '/drinks/a{id}',
    '/drinks/{from}...{to}',
    '/{any}/7.json/x',
    '/drinks/{id}/y',
  );

  it.each([
    ['text after it', '/drinks/7.json', '/drinks/{id}.json'],
    ['text before it', '/drinks/a7', '/drinks/a{id}'],
    ['text between two', '/drinks/1...2', '/drinks/{from}...{to}'],
    ['another text', '/drinks/7.xml', '/drinks/{id}'],
    ['a template without the text for another character', '/drinks/7xjson', '/drinks/{id}'],
    ['a template without the text for an empty parameter', '/drinks/.json', '/drinks/{id}'],
    ['a literal, which is preferred', '/drinks/mine.json', '/drinks/mine.json'],
    ['a segment below it', '/drinks/7.json/likes', '/drinks/{id}.json/likes'],
    ['a less concrete template if the first has no match', '/drinks/7.json/y', '/drinks/{id}/y'],
    ['the last template if the others have no match', '/drinks/7.json/x', '/{any}/7.json/x'],
  ])('finds %s', (_name, path, template) => expect(table.find(path)?.template).toBe(template));

  it('prefers it in any order of the templates', () => {
    expect(tableOf('/{id}.json', '/{id}').find('/7.json')?.template).toBe('/{id}.json');
    expect(tableOf('/{id}', '/{id}.json').find('/7.json')?.template).toBe('/{id}.json');
  });

  it.each(['/drinks/7', '/drinks/7.json5', '/drinks/.json'])('finds nothing for %s', (path) =>
    expect(tableOf('/drinks/{id}.json').find(path)).toBeUndefined(),
  );
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

  it('can have null as a value', () =>
    expect(new PathTable([['/x', null]]).find('/x')).toEqual({ template: '/x', value: null, path: '/x' }));

  it('looks no deeper than its templates, however long the path', () =>
    expect(tableOf('/a/{b}').find('/a'.repeat(100_000))).toBeUndefined());
});

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
