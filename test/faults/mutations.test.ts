import { expect, it } from 'vitest';
import { readMutants } from './mutationRun.ts';
import { seedOfRun } from './random.ts';

it('a broken routes.yaml, whatever is broken in it, is a list of faults and changes nothing', {
  timeout: 120_000,
}, async () => {
  const seed = seedOfRun();
  const { outcomes } = await readMutants(seed, 2_000);
  // Otherwise the mutations would be too mild, or too wild, to say anything.
  for (const kind of ['reloaded', 'unchanged', 'faulty', 'refused'] as const) {
    expect(outcomes[kind], `${kind}, of seed ${seed}`).toBeGreaterThan(0);
  }
});
