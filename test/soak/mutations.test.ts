import { expect, it } from 'vitest';
import { reloadMutants } from '../faults/mutationRun.ts';
import { seedOfRun } from '../support/random.ts';

const count = Number(process.env['MUTANTS'] ?? 100_000);

it(`still serves after ${count} reloads of broken files`, { timeout: 540_000 }, async () => {
  const seed = seedOfRun();
  const { outcomes, slowestMs } = await reloadMutants(seed, count);
  console.log(
    `soak: mutants ${count}, seed ${seed}, ${JSON.stringify(outcomes)}, slowest ${Math.round(slowestMs)} ms of CPU`,
  );
  expect(outcomes.faulty).toBeGreaterThan(count / 10);
});
