import { expect, it } from 'vitest';
import { compareMutants } from '../http1/requestFuzz.ts';
import { seedOfRun } from '../support/random.ts';

const count = Number(process.env['MUTANTS'] ?? 10_000_000);

it(`reads ${count} mutated requests as node reads them`, { timeout: 1_800_000 }, () => {
  const seed = seedOfRun();
  const accepted = compareMutants(seed, count);
  console.log(`soak: mutated requests ${count}, seed ${seed}, ${accepted} accepted by the fast lane`);
  expect(accepted).toBeGreaterThan(count / 10);
});
