import { expect, it } from 'vitest';
import { rules, warningRules } from '../../gateway/config/rules.ts';
import { type Fixture, fixturesIn, parseIn, print } from './fixtures.ts';

const bad = fixturesIn('bad-routes');
const warned = fixturesIn('warned-routes');

it.each(bad)('bad-routes/$name', ({ input, expected }: Fixture) => {
  const { snapshot, faults, warnings } = parseIn('bad-routes', input);
  expect(print(faults)).toBe(expected);
  expect(faults.length).toBeGreaterThan(0);
  expect([snapshot, warnings]).toEqual([undefined, []]);
});

it.each(warned)('warned-routes/$name', ({ input, expected }: Fixture) => {
  const { snapshot, faults, warnings } = parseIn('warned-routes', input);
  expect(faults).toEqual([]);
  expect(print(warnings)).toBe(expected);
  expect(warnings.length).toBeGreaterThan(0);
  expect(snapshot).toBeDefined();
});

it.each(Object.keys(rules))('the rule %s has a fixture', (id) => {
  expect(bad.map(({ name }) => name)).toContain(id);
});

it.each(Object.keys(warningRules))('the warning %s has a fixture', (id) => {
  expect(warned.map(({ name }) => name)).toContain(id);
});

it('never shows a secret, in any spelling', () => {
  for (const { input } of [...bad, ...warned]) {
    const { faults, warnings } = parseIn('bad-routes', input);
    expect(JSON.stringify([faults, warnings])).not.toMatch(/correct.horse|pa@ss|p w@|pa\$/);
  }
});
