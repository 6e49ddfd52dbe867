import { describe, expect, it } from 'vitest';
import { isMap } from 'yaml';
import { pairsOf, positionAt, positionOf, readYamlText } from '../../../gateway/shared/yaml/yamlText.ts';
import { parseYaml, YamlError } from '../../../gateway/shared/yaml/yamlValue.ts';

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]', ...['b', 'c', 'd', 'e', 'f', 'g'].map(levelAbove)].join('\n');

/** `b: &b [*a, *a, …]` */
function levelAbove(name: string): string {
  const below = String.fromCharCode(name.charCodeAt(0) - 1);
  return `${name}: &${name} [${Array(10).fill(`*${below}`).join(', ')}]`;
}

describe('a problem of a text', () => {
  it.each<[string, string, string, boolean]>([
    ['a duplicate key', 'a: 1\nb: 2\na: 3\n', '3:1 has the key "a" here for the second time', true],
    ['an unknown tag', 'a: !include b.yaml\n', '1:4 is not YAML: Unresolved tag', true],
    ['broken syntax', 'a: [\n', '2:1 is not YAML: Flow sequence in block collection must be sufficiently', false],
    ['a second document', 'a: 1\n---\nb: 2\n', '2:1 has a second YAML document here', false],
    ['deep nesting', '['.repeat(50_000), ' is nested too deeply to be read', false],
    ['an alias in its own anchor', 'a: &a\n  b: *a\n', '2:6 has an alias within its own anchor: *a', false],
    ['an alias without an anchor', 'a: *b\n', '1:4 has an alias without an anchor', true],
    ['an alias bomb', bomb, 'has aliases that unfold to far more than the file itself', false],
  ])('has a position: %s', (_name, text, expected, isReadable) => {
    const yaml = readYamlText(text);
    const { line, column } = positionAt(yaml.lines, yaml.problems[0]?.offset ?? 0);
    expect(`${line}:${column} ${yaml.problems[0]?.message}`).toContain(expected);
    expect(yaml.isReadable).toBe(isReadable);
  });

  it.each(['token: [correct-horse\n', 'token: *correct-horse\n'])(
    'quotes no value, which may be a secret: %j',
    (text) => {
      const messages = readYamlText(text).problems.map(({ message }) => message);
      expect(messages).not.toEqual([]);
      expect(messages.join()).not.toContain('horse');
    },
  );
});

it('has no root for a text without content', () => {
  expect(readYamlText('# nothing\n')).toMatchObject({ root: null, problems: [], isReadable: true });
});

it('positions a value, and a block or a missing value at its key', () => {
  const { root, lines } = readYamlText('a: 1\nb:\n  c: 2\nd:\n');
  const pairs = isMap(root) ? pairsOf(root) : [];
  expect(pairs.map(({ key, value }) => positionOf(lines, value, key))).toEqual([
    { line: 1, column: 4 },
    { line: 2, column: 1 },
    { line: 4, column: 1 },
  ]);
});

describe('the value of a text', () => {
  it.each<[string, string, unknown]>([
    ['keys as they are written', '200: a\n1.10: b\ntrue: c\n', { 200: 'a', '1.10': 'b', true: 'c' }],
    ['the last anchor above an alias', 'a: &x 1\nb: &x 2\nc: *x\n', { a: 1, b: 2, c: 2 }],
    ['a merge key', 'a: &a { b: 1, c: 1 }\nd: { <<: *a, c: 2 }\n', { a: { b: 1, c: 1 }, d: { b: 1, c: 2 } }],
    ['a key that is an alias', 'a: &a b\n*a : 1\n', { a: 'b', b: 1 }],
  ])('has %s', (_name, text, value) => expect(parseYaml(text).root).toEqual(value));

  it('has one object for an anchor and its aliases', () => {
    const { a, b } = parseYaml('a: &a { c: 1 }\nb: *a\n').root as Record<string, unknown>;
    expect(a).toBe(b);
  });

  it.each([
    ['a: *b\n', { message: 'has an alias without an anchor', position: { line: 1, column: 4 } }],
    ['a: 1\na: 2\n', { message: 'has the key "a" here for the second time', position: { line: 2, column: 1 } }],
    ['[a]: 1\n', { message: 'has a key that is not a text', position: { line: 1, column: 1 } }],
    ['<<: 1\n', { message: 'has a merge key whose value is not a map', position: { line: 1, column: 1 } }],
  ])('is an error for %j', (text, expected) => {
    let error: unknown;
    try {
      parseYaml(text);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(YamlError);
    expect(error).toMatchObject(expected);
  });
});
