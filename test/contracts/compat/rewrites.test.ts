import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { cases } from '../../support/cases.ts';
import { Random } from '../../support/random.ts';
import { findingsBetween } from './support/comparing.ts';
import { mutated, mutations } from './support/mutations.ts';
import { type Draft, randomContract } from './support/randomContract.ts';
import { type Contract, type Rewrite, rewrites } from './support/rewrites.ts';

const seeds = Array.from({ length: cases(2, 8) }, (_unused, seed) => seed);

function rewritten(contract: Draft, rewrite: Rewrite, seed: number): unknown {
  const copy = structuredClone(contract);
  return rewrite(copy as Draft & Contract, new Random(seed)) ?? copy;
}

// A rewrite may be reported as equivalent.
const harmless: ReadonlySet<string> = new Set(['docs-only', 'structure-equivalent', 'path-param-renamed']);

function breaksAndWidens(old: unknown, now: unknown): string[] {
  const findings = findingsBetween(old, now).filter(({ rule }) => !harmless.has(rule));
  return findings.map(({ rule, sentence }) => `${rule}: ${sentence.replace(/^[^:]*: /, '')}`).sort();
}

interface Change {
  readonly seed: number;
  readonly name: string;
  readonly contract: Draft;
  readonly changed: Draft;
  readonly findings: readonly string[];
}

const changes = new Map<'In' | 'Out', readonly Change[]>();

/** The changes to try with each rewrite. They are compared once, because no rewrite plays a part. */
function changesOf(side: 'In' | 'Out'): readonly Change[] {
  const known = changes.get(side);
  if (known) return known;
  const all = seeds.flatMap((seed) => {
    const contract = randomContract(seed);
    const { apply, name } = new Random(seed).of(mutations);
    const changed = mutated(contract, apply, seed, side);
    return changed ? [{ seed, name, contract, changed, findings: breaksAndWidens(contract, changed) }] : [];
  });
  changes.set(side, all);
  return all;
}

describe.each(Object.entries(rewrites))('the same contract with %s', (how, rewrite) => {
  // Inlined schemas change at every use.
  const isMultiplied = how === 'what a $ref leads to in place of it';
  const rulesOf = (told: readonly string[]): string[] => {
    const rules = told.map((line) => line.replace(/:.*$/s, ''));
    return isMultiplied ? [...new Set(rules)] : rules;
  };

  it('has not changed', () => {
    for (const seed of seeds) {
      const contract = randomContract(seed);
      const other = rewritten(contract, rewrite, seed);
      expect(breaksAndWidens(contract, other), `seed ${seed}`).toEqual([]);
      expect(breaksAndWidens(other, contract), `seed ${seed}, backwards`).toEqual([]);
    }
  });

  it.each(['In', 'Out'] as const)('reports the same change: %s', (side) => {
    const tried = changesOf(side);
    for (const { seed, name, contract, changed, findings } of tried) {
      const expected = rulesOf(findings);
      const [old, now] = [rewritten(contract, rewrite, seed), rewritten(changed, rewrite, seed)];
      expect(rulesOf(breaksAndWidens(old, now)), `seed ${seed}, ${name}, both`).toEqual(expected);
      expect(rulesOf(breaksAndWidens(contract, now)), `seed ${seed}, ${name}, new`).toEqual(expected);
      expect(rulesOf(breaksAndWidens(old, changed)), `seed ${seed}, ${name}, old`).toEqual(expected);
    }
    expect(tried.length).toBeGreaterThan(seeds.length / 4);
  });
});

it('gives the same result in YAML and JSON', () => {
  for (const seed of seeds) {
    const contract = randomContract(seed);
    expect(findingsBetween(contract, parse(stringify(contract)))).toEqual([]);
  }
});
