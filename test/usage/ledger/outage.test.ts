import { expect, it } from 'vitest';
import { WaitingRows } from '../../../gateway/usage/ledger/outage.ts';
import { noon, randomBatch, randomOf, row, total } from '../model.ts';

it('adds up rows of the same client, route and hour', () => {
  const waitingRows = new WaitingRows(10);
  const [one, two] = [
    row({ requests: 2, errors: 1, first: noon + 5 }),
    row({ requests: 3, first: noon + 1, last: noon + 9 }),
  ];
  waitingRows.keep([one]);
  waitingRows.keep([two]);
  expect(waitingRows.first(10).rows).toEqual([
    row({ requests: 5, errors: 1, served: 2, first: noon + 1, last: noon + 9 }),
  ]);
  // The caller's rows are not changed.
  expect(one.requests).toBe(2);
});

it('folds rows above the limit without losing requests', () => {
  const waitingRows = new WaitingRows(20);
  const rows = randomBatch(randomOf(2), 2_000, 5 * 3_600_000);
  waitingRows.keep(rows);
  const { rows: kept, remove } = waitingRows.first(1_000);
  // The maximum, and one row for each version and hour.
  expect(kept.length).toBeLessThanOrEqual(20 + 3 * 6);
  for (const what of ['requests', 'errors', 'served'] as const) expect(total(kept, what)).toBe(total(rows, what));
  remove();
  expect(waitingRows.size).toBe(0);
});
