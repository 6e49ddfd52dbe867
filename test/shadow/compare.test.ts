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
      const now = contract(seeded.new, seeded.newOptions);
      const pairs = Array.from({ length: 40 }, (_one, index) =>
        pairOf(json(seeded.before(index)), json(seeded.before(index))),
      );
      const { alarms, declared } = assessed(old, now, pairs);
      expect([...alarms, ...declared]).toEqual([]);
    },
  );
});
