import { expect, it } from 'vitest';
import { cases } from '../support/cases.ts';
import { seedOfRun } from '../support/random.ts';
import { reloadMutants } from './mutationRun.ts';

it('random changes of routes.yaml are loaded, or rejected with a list of faults and without effect', async () => {
  const seed = seedOfRun();
  const { outcomes } = await reloadMutants(seed, cases(800, 2_000));
  // All outcomes must occur: otherwise the mutations change too little or too much.
  for (const kind of ['reloaded', 'unchanged', 'faulty', 'refused'] as const) {
    expect(outcomes[kind], `${kind}, of seed ${seed}`).toBeGreaterThan(0);
  }
});
