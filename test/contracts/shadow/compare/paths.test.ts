import { describe, expect, it } from 'vitest';
import { BodyPath, looksLikeName, type PathBudget } from '../../../../gateway/contracts/shadow/compare/paths.ts';

// Names that may be data must not reach the ledger: a path of a body is what the evidence about it is stored under.

const roomy = (): PathBudget => ({ left: 1_000, isExceeded: false });

/** Names of fields that differ, and that look like words. */
const names = Array.from({ length: 70 }, (_one, n) => `field${String.fromCharCode(97 + (n % 26))}${'x'.repeat(n % 9)}`);
const words = [...new Set(names)];

describe('the path of a body', () => {
  it('has the names of 64 fields that no contract lists, and * for each further one', () => {
    const root = BodyPath.root(undefined, undefined, roomy());
    const texts = words.slice(0, 66).map((name) => root.field(name)?.text);
    expect(words.length).toBeGreaterThanOrEqual(66);
    expect(texts.slice(0, 64)).toEqual(words.slice(0, 64).map((name) => `/${name}`));
    expect(texts.slice(64)).toEqual(['/*', '/*']);
    // Those that are known keep their names.
    expect(root.field(words[0] ?? '')?.text).toBe(`/${words[0]}`);
  });

  it('counts the fields of each object separately', () => {
    const root = BodyPath.root(undefined, undefined, roomy());
    for (const name of words.slice(0, 64)) root.field(name);
    expect(root.field('last')?.text).toBe('/*');
    expect(root.field(words[0] ?? '')?.field('last')?.text).toBe(`/${words[0]}/last`);
  });

  it('ends 32 levels deep, and when the budget is used up', () => {
    const budget = roomy();
    let path: BodyPath | undefined = BodyPath.root(undefined, undefined, budget);
    for (let depth = 0; depth < 32; depth += 1) path = path?.field('next');
    expect(path?.text).toBe('/next'.repeat(32));
    expect(budget.isExceeded).toBe(false);
    expect(path?.field('next')).toBeUndefined();
    expect(budget.isExceeded).toBe(true);
    const small = { left: 1, isExceeded: false };
    const root = BodyPath.root(undefined, undefined, small);
    expect([root.field('one')?.text, root.field('two'), small.isExceeded]).toEqual(['/one', undefined, true]);
    expect(root.field('one')?.text).toBe('/one');
  });
});

it.each([
  ['name', true],
  ['drink_name', true],
  ['camelCaseName', true],
  ['$ref', true],
  ['@type', true],
  ['line2', true],
  ['', false],
  ['two words', false],
  ['ann@example.com', false],
  ['4711', false],
  ['user4711', false],
  ['deadbeef12', false],
  ['QWxhZGRpbjpvcGVu', false],
  ['a::b', false],
  ['a'.repeat(48), true],
  ['a'.repeat(49), false],
])('a key that no contract lists may be stored: %j: %s', (key, expected) => {
  expect(looksLikeName(key)).toBe(expected);
});
