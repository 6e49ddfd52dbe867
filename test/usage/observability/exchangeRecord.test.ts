import { expect, it } from 'vitest';
import { RecordBatches } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { successfulExchange } from './recorded.ts';

function batches(): { readonly into: RecordBatches; readonly taken: string[] } {
  const taken: string[] = [];
  return { into: new RecordBatches(({ id }) => taken.push(id)), taken };
}

function record(into: RecordBatches, count: number, from = 0): string[] {
  const ids = Array.from({ length: count }, (_unused, index) => `${from + index}`);
  for (const id of ids) into.record({ ...successfulExchange, id });
  return ids;
}

it('passes on a small batch after a short time', async () => {
  const { into, taken } = batches();
  record(into, 1);
  expect(taken).toEqual([]);
  await expect.poll(() => taken).toEqual(['0']);
  record(into, 2, 1);
  await expect.poll(() => taken).toEqual(['0', '1', '2']);
});

it('passes on large batches at once, in order, each record once', async () => {
  const { into, taken } = batches();
  const all = record(into, 1000);
  const first = taken.length;
  expect(first).toBeGreaterThan(500);
  into.flush();
  expect(taken).toEqual(all);
  // A record that is passed on twice would come before the next one.
  const next = record(into, 1, 1000);
  await expect.poll(() => taken).toContain('1000');
  expect(taken).toEqual([...all, ...next]);
});

it('keeps records that arrive while a batch is processed', () => {
  const taken: string[] = [];
  const into: RecordBatches = new RecordBatches(({ id }) => {
    if (taken.push(id) === 1) into.record({ ...successfulExchange, id: 'meanwhile' });
  });
  record(into, 1);
  into.flush();
  into.flush();
  expect(taken).toEqual(['0', 'meanwhile']);
});
