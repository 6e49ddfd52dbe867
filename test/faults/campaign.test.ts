import { expect, it } from 'vitest';
import { cases } from '../support/cases.ts';
import { faultHistory } from './faultHistory.ts';
import { type PlayedHistory, played } from './playedHistory.ts';

// A campaign of faults: real processes, a real disk, and the log of the backend as the truth. A yes means that the backend has received
// no call within the quiet period that counts. `SEED` plays the histories from this seed on.

const atOnce = 3;

it('says yes only if the backend has received no call', { timeout: 7_200_000 }, async () => {
  const first = Number(process.env['SEED'] ?? 1);
  const count = Number(process.env['HISTORIES'] ?? cases(4, 400));
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  const results: PlayedHistory[] = [];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const result = await played(faultHistory(seed));
        results.push(result);
        for (const line of [...result.wrong, result.failure ?? []].flat()) console.log(line);
      }
    }),
  );
  const yeses = results.filter((one) => one.yeses > 0).length;
  const calls = results.filter((one) => one.calls > 0).length;
  console.log(
    `${results.length} histories, ${yeses} with a yes, ${calls} with calls, ${results.filter((one) => one.failure).length} failures`,
  );
  expect(results.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(results.flatMap(({ failure }) => failure ?? [])).toEqual([]);
  // A gateway that never says yes would be of no use, and a backend that is never called would find no fault.
  expect(yeses).toBeGreaterThan(0);
  expect(calls).toBeGreaterThan(count / 2);
});
