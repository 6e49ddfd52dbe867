import { expect, it } from 'vitest';
import { TwoGenerationCache } from '../../../gateway/usage/counting/twoGenerationCache.ts';

it('keeps entries that are read, and drops the others', () => {
  const known = new TwoGenerationCache();
  known.set('asked for', 'yes');
  known.set('not asked for', 'yes');
  for (let n = 0; n < 60_000; n++) {
    known.set(`new ${n}`, 'x');
    if (n % 1_000 === 0) expect(known.get('asked for')).toBe('yes');
  }
  expect([known.get('asked for'), known.get('not asked for')]).toEqual(['yes', undefined]);
});

it('keeps fewer long keys', () => {
  const known = new TwoGenerationCache();
  for (let n = 0; n < 1_000; n++) known.set(`${n}${'x'.repeat(16_000)}`, 'x');
  const kept = Array.from({ length: 1_000 }, (_one, n) => known.get(`${n}${'x'.repeat(16_000)}`) !== undefined);
  expect(kept.filter(Boolean).length).toBeLessThanOrEqual(250);
  expect(kept.at(-1)).toBe(true);
});
