import { rmSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { LedgerThread } from '../../../gateway/admin/reading/ledgerThread.ts';
import type { LedgerDesk } from '../../../gateway/admin/reading/questions.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { hour, ledgerWith } from '../../retirement/ledger.ts';
import { row } from '../../retirement/rows.ts';
import { crowded } from './crowd.ts';

const now = Date.now();
const upstream = 'http://127.0.0.1:3001';
const snapshot = snapshotFrom({ routes: { '/v1': { upstream, deprecation: '2026-01-01' }, '/v2': upstream } });

function threadOf(ledger: Ledger, patience?: number): LedgerThread {
  const thread = new LedgerThread(ledger, patience);
  onTestFinished(() => thread.close());
  return thread;
}

async function usage(desk: LedgerDesk, query: Record<string, string> = { version: 'v1' }) {
  const answer = await desk.ask('usage', snapshot, { query, format: 'json', now });
  if (!('body' in answer)) throw new Error(answer.detail);
  return JSON.parse(new TextDecoder().decode(answer.body)) as {
    problem: string | null;
    held: number;
    total: number;
    rows: { client: string; requests: number }[];
  };
}

it('knows at once what has just been counted', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const thread = threadOf(ledger);
  expect((await usage(thread)).rows).toMatchObject([{ client: 'a', requests: 1 }]);
  ledger.add([row('v1', 'b', now - hour, { requests: 2 })]);
  expect((await usage(thread)).rows).toMatchObject([{ client: 'b', requests: 2 }, { client: 'a' }]);
});

it('reads the new file that begins where the ledger was removed', async () => {
  const { ledger, file } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const thread = threadOf(ledger);
  await usage(thread);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  const { problem, rows } = await usage(thread);
  expect([problem, rows]).toEqual([null, []]);
  expect(thread.incident?.text).toContain(`${file} was open when it was removed`);
});

it('tells what the writer of the ledger says of it', async () => {
  const { ledger, file } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const thread = threadOf(ledger);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  writeFileSync(file, 'SQLite format 3\0 of somebody else'.padEnd(4096, '\0'));
  ledger.settings = { ...ledger.settings, store: `${file}/x` };
  ledger.add([row('v1', 'b', now - hour)]);
  const { problem, held } = await usage(thread);
  expect(problem).toContain('cannot be written');
  expect(held).toBe(1);
});

it('gives up a question that takes too long, and answers the next one', async () => {
  const { ledger } = crowded(20_000, now);
  const thread = threadOf(ledger, 20);
  const [first] = await Promise.allSettled([usage(thread, { by: 'client' })]);
  expect(first).toMatchObject({ status: 'rejected', reason: { name: 'UnansweredQuestion' } });
  expect(String((first as PromiseRejectedResult).reason)).toContain('was not read within 0.02 s');
  const other = threadOf(ledger);
  expect((await usage(other, { version: 'v1', limit: '1' })).total).toBe(20_000);
});

it('starts another thread for the one that died', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const thread = threadOf(ledger);
  // What nobody can work out ends it.
  const broken = thread.ask('retirement', snapshot, { name: 'v1', query: {}, report: null as never, now });
  await expect(broken).rejects.toThrow(/The thread that reads the usage ledger has ended: /);
  expect((await usage(thread)).rows).toHaveLength(1);
});

it('answers in the order of the questions, and nobody once it is closed', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const thread = threadOf(ledger);
  const done: string[] = [];
  await Promise.all(['v1', 'v2', 'v1'].map((version) => usage(thread, { version }).then(() => done.push(version))));
  expect(done).toEqual(['v1', 'v2', 'v1']);
  await thread.close();
  await expect(usage(thread)).rejects.toThrow('The gateway stops.');
});
