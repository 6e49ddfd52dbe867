import { describe, expect, it } from 'vitest';
import { cases } from '../../support/cases.ts';
import { findingsBetween, rulesAmong } from './support/comparing.ts';
import { mutated, mutations } from './support/mutations.ts';
import { type Draft, randomContract } from './support/randomContract.ts';

const seeds = Array.from({ length: cases(6, 25) }, (_unused, seed) => seed);

describe.each(['request', 'response'] as const)('anywhere in a %s', (direction) => {
  it.each(mutations)('one change is one finding: $name', ({ apply, ...expected }) => {
    const rule = expected[direction];
    const tried = seeds.map((seed) => {
      const contract = randomContract(seed);
      const changed = mutated(contract, apply, seed, direction === 'request' ? 'In' : 'Out');
      if (!changed || rule === undefined) return false;
      const findings = findingsBetween(contract, changed);
      expect(rulesAmong(findings), `seed ${seed}`).toEqual([rule]);
      return true;
    });
    expect(tried.filter(Boolean).length).toBeGreaterThan(seeds.length / 5);
  });
});

describe('a component of many routes', () => {
  it('is reported once, with all of them', () => {
    for (const seed of seeds) {
      const contract = randomContract(seed);
      const changed = structuredClone(contract) as { components: { schemas: Record<string, { properties: Draft }> } };
      const shared = changed.components.schemas['Out0'];
      if (shared) shared.properties['fresh'] = { type: 'string' };
      const [finding, ...others] = findingsBetween(contract, changed);
      expect(others).toEqual([]);
      expect(finding?.routes.map(({ method, path }) => `${method} ${path}`)).toEqual(
        expect.arrayContaining(['GET /things0/{id}', 'POST /things0/{id}']),
      );
    }
  });
});
