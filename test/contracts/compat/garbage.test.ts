import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CompareError } from '../../../gateway/contract/failure.ts';
import { cases } from '../../support/cases.ts';
import { Random } from '../../support/random.ts';
import { findingsBetween } from './support/comparing.ts';
import { contractPairs } from './support/contractPairs.ts';
import { mutated, mutations } from './support/mutations.ts';
import { type Draft, randomContract } from './support/randomContract.ts';

const junk: readonly unknown[] = [
  ...[null, true, false, 0, -1.5, '', 'text', [], {}, [null], [[]], { '': null }],
  ...[{ $ref: 7 }, { type: 7 }, { type: ['null', 4] }, { enum: 'none' }, { required: true }, { properties: [1] }],
  ...[{ oneOf: {} }, { allOf: [null, 3] }, { items: 'x' }, { additionalProperties: 1 }, { discriminator: 'kind' }],
  JSON.parse('{"__proto__": {"type": "string"}, "constructor": 1}'),
];

/** The contract with one value replaced by another of any type. */
function spoiled(contract: Draft, dice: Random): unknown {
  const copy: unknown = structuredClone(contract);
  let at = copy;
  for (;;) {
    if (typeof at !== 'object' || at === null || Object.keys(at).length === 0) return copy;
    const key = dice.of(Object.keys(at));
    const inner: unknown = Reflect.get(at, key);
    if (dice.happens(0.15) || typeof inner !== 'object' || inner === null) {
      Reflect.set(at, key, structuredClone(dice.of(junk)));
      return copy;
    }
    at = inner;
  }
}

describe('a contract with invalid parts', () => {
  it('is compared, whatever the parts are', () => {
    const seeds = cases(50, 300);
    let compared = 0;
    for (let seed = 0; seed < seeds; seed += 1) {
      const dice = new Random(seed);
      const contract = randomContract(seed % 20);
      const [old, now] = [spoiled(contract, dice), spoiled(contract, dice)];
      for (const [one, other] of [
        [contract, now],
        [old, contract],
        [old, now],
      ]) {
        try {
          findingsBetween(one, other);
          compared += 1;
        } catch (error) {
          // A `$ref` may have no target now.
          expect(error, `seed ${seed}`).toBeInstanceOf(CompareError);
        }
      }
    }
    expect(compared).toBeGreaterThan(2 * seeds);
  }, 120_000);

  it('is still equal to itself', () => {
    for (let seed = 0; seed < cases(20, 100); seed += 1) {
      const contract = spoiled(randomContract(seed % 20), new Random(seed));
      try {
        expect(findingsBetween(contract, structuredClone(contract)), `seed ${seed}`).toEqual([]);
      } catch (error) {
        expect(error, `seed ${seed}`).toBeInstanceOf(CompareError);
      }
    }
  });

  it.each([null, 7, 'text', [], {}])('may be another value: %j', (contract) => {
    expect(findingsBetween(contract, contract)).toEqual([]);
    expect(findingsBetween(contract, randomContract(1)).map(({ rule }) => rule)).toContain('route-added');
  });
});

const contracts = ['services/v1/contract/openapi.yaml', 'services/v2/contract/openapi.yaml'].map(
  (file): [string, string] => [file, readFileSync(file, 'utf8')],
);
const fixtures = contractPairs().flatMap(({ name, old, new: now }): [string, string][] => [
  [`${name}, old`, old],
  [`${name}, new`, now],
]);

describe('a contract compared with itself', () => {
  it.each([...contracts, ...fixtures])('has not changed: %s', (_name, text) => {
    expect(findingsBetween(parse(text), parse(text))).toEqual([]);
  });

  it('has not changed if it is random and recursive', () => {
    for (let seed = 0; seed < cases(10, 60); seed += 1) {
      expect(findingsBetween(randomContract(seed), randomContract(seed)), `seed ${seed}`).toEqual([]);
    }
  });
});

describe('a reverted addition', () => {
  it('is a removal', () => {
    const opposites: Readonly<Record<string, string>> = {
      'response-field-added': 'response-field-removed',
      'optional-param-added': 'request-field-removed',
      'filter-value-added': 'filter-value-removed',
      'response-value-added': 'response-strengthened',
      'response-type-changed': 'response-strengthened',
      'response-field-weakened': 'response-strengthened',
    };
    const seeds = cases(24, 120);
    let tried = 0;
    for (let seed = 0; seed < seeds; seed += 1) {
      const dice = new Random(seed);
      const contract = randomContract(seed % 30);
      const { apply } = dice.of(mutations);
      const changed = mutated(contract, apply, seed, dice.of(['In', 'Out']));
      const [finding] = changed ? findingsBetween(contract, changed) : [];
      const opposite = opposites[finding?.rule ?? ''];
      // Another type is a type change in both directions.
      if (opposite === undefined || /format|boolean and is now an integer/.test(finding?.sentence ?? '')) continue;
      tried += 1;
      expect(
        findingsBetween(changed, contract).map(({ rule }) => rule),
        `seed ${seed}`,
      ).toEqual([opposite]);
    }
    expect(tried).toBeGreaterThan(seeds / 6);
  });
});
