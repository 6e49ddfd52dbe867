import { describe, expect, it } from 'vitest';
import { assessed, contract, json, pairOf } from './pairs.ts';
import { seededDifferences } from './seeded.ts';

describe('the comparison of responses', () => {
  it('is checked with at least sixty differences', () => {
    expect(seededDifferences.length).toBeGreaterThanOrEqual(60);
  });

  it.each(seededDifferences.map((one) => [one.name, one] as const))('finds: %s', (_name, seeded) => {
    const [old, now] = [contract(seeded.old, seeded.options), contract(seeded.new, seeded.newOptions)];
    const pairs = Array.from({ length: 40 }, (_one, index) =>
      pairOf(json(seeded.before(index)), json(seeded.after(index))),
    );
    const { alarms, declared } = assessed(old, now, pairs);
    const [found, other] = seeded.class === 'declared' ? [declared, alarms] : [alarms, declared];
    expect(found.join(', ')).toContain(seeded.at);
    // One cause is one difference; a new alternative of a choice may show in several fields.
    expect(other).toEqual([]);
    expect(found.length).toBeLessThanOrEqual(2);
  });

  it.each(seededDifferences.map((one) => [one.name, one] as const))(
    'finds nothing between equal bodies: %s',
    (_name, seeded) => {
      const old = contract(seeded.old, seeded.options);
      const pairs = Array.from({ length: 40 }, (_one, index) =>
        pairOf(json(seeded.before(index)), json(seeded.before(index))),
      );
      const { alarms, declared } = assessed(old, old, pairs);
      expect([...alarms, ...declared]).toEqual([]);
      expect(assessed(old, contract(seeded.new, seeded.newOptions), pairs).declared).toEqual([]);
    },
  );

  type Properties = Record<string, unknown>;
  const text = { type: 'string' };
  const required = (properties: Properties) => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
  });
  const dateTime = { type: 'string', format: 'date-time' };
  const at = '2026-01-01T00:00:00Z';

  it.each<[name: string, old: Properties, now: Properties, before: unknown, after: unknown, path: string]>([
    ['sends no new field', { a: text }, { a: text, currency: text }, { a: 'x' }, { a: 'x' }, '/currency'],
    ['keeps the former type', { p: { type: 'number' } }, { p: text }, { p: 1 }, { p: 1 }, '/p'],
    ['sends neither of two names', { name: text }, { title: text }, { name: 'x' }, {}, '/title'],
    ['keeps a former value', { p: { enum: ['x'] } }, { p: { enum: ['X'] } }, { p: 'x' }, { p: 'x' }, '/p'],
    ['keeps a format', { p: dateTime }, { p: { type: 'string', format: 'date' } }, { p: at }, { p: at }, '/p'],
    ['keeps null', { p: { type: ['string', 'null'] } }, { p: text }, { p: null }, { p: null }, '/p'],
  ])('a new version that %s violates its own contract', (_name, old, now, before, after, path) => {
    const pairs = Array.from({ length: 30 }, () => pairOf(json(before), json(after)));
    const { alarms } = assessed(contract(required(old)), contract(required(now)), pairs);
    expect(alarms.some((line) => line.startsWith(path))).toBe(true);
  });

  it('a violation of the old version against its own contract is not new', () => {
    const both = contract(required({ p: text }));
    const pairs = Array.from({ length: 30 }, () => pairOf(json({ p: 1 }), json({ p: 1 })));
    expect(assessed(both, both, pairs).alarms).toEqual([]);
  });
});
