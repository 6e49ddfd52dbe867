import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { Finding } from '../../../gateway/compat/judge/findings.ts';
import { contractPairs } from '../support/contractPairs.ts';

const words = '../../../gateway/compat/rules/words.ts';

/** The findings of every pair of contracts, in both directions, by a fresh copy of the modules. */
async function allFindings(): Promise<Finding[]> {
  vi.resetModules();
  const { findingsBetween } = await import('../support/comparing.ts');
  return contractPairs().flatMap(({ old, new: now }) => {
    const [before, after] = [parse(old), parse(now)];
    return [...findingsBetween(before, after), ...findingsBetween(after, before)];
  });
}

describe('a fingerprint', () => {
  afterEach(() => vi.doUnmock(words));

  it('does not depend on the wording of the finding', async () => {
    const usual = await allFindings();
    vi.doMock(words, async (original) =>
      Object.fromEntries(Object.keys(await original<object>()).map((name) => [name, () => 'other words'])),
    );
    const reworded = await allFindings();
    const differing = usual.filter(({ sentence }, index) => sentence !== reworded[index]?.sentence);
    expect(differing).toHaveLength(usual.length);
    expect(reworded.map(({ fingerprint }) => fingerprint)).toEqual(usual.map(({ fingerprint }) => fingerprint));
  });

  it('differs if the cause of another structure differs', async () => {
    const { contractOf, findingsBetween } = await import('../support/comparing.ts');
    const objectWith = (type: string): object => ({ type: 'object', properties: { a: { type } }, required: ['a'] });
    const old = contractOf('request', objectWith('string'));
    const prints = ['integer', 'array'].map((type) => {
      const now = contractOf('request', { oneOf: [objectWith(type), { type: 'boolean' }] });
      const [finding] = findingsBetween(old, now);
      expect(finding?.rule).toBe('structure-changed');
      return finding?.fingerprint;
    });
    const another = contractOf('request', { oneOf: [{ type: 'object', required: ['b'] }, { type: 'boolean' }] });
    prints.push(findingsBetween(old, another)[0]?.fingerprint);
    // A changed type is the cause in the first two, a required field in the third.
    expect(prints[0]).toBe(prints[1]);
    expect(prints[0]).not.toBe(prints[2]);
  });
});
