import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { rmSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import { answerTo } from '../../../../gateway/operate/admin/reading/answers.ts';
import type { LedgerClient } from '../../../../gateway/operate/admin/reading/ledgerClient.ts';
import { ThreadedLedgerClient } from '../../../../gateway/operate/admin/reading/threadedClient.ts';
import { parseUsageQuery } from '../../../../gateway/operate/admin/usageQueryParams.ts';
import { startGateway } from '../../../../gateway/process/runtime/gateway.ts';
import { noLiveFacts } from '../../../../gateway/usage/evidence/callEvidence.ts';
import type { Ledger } from '../../../../gateway/usage/ledger/ledger.ts';
import { startBackend } from '../../../support/backend.ts';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { idleState } from '../../../support/liveState.ts';
import { crowded } from './crowd.ts';

const now = Date.now();
const upstream = 'http://127.0.0.1:3001';
const snapshot = snapshotFrom({ routes: { '/v1': { upstream, deprecation: '2026-01-01' }, '/v2': upstream } });

function clientOf(ledger: Ledger, timeoutMs?: number): ThreadedLedgerClient {
  const client = new ThreadedLedgerClient(ledger, undefined, timeoutMs);
  onTestFinished(() => client.close());
  return client;
}

async function usage(client: LedgerClient, query: Record<string, string> = { version: 'v1' }) {
  const answer = await client.query('usage', snapshot, {
    ...parseUsageQuery(query, now),
    live: noLiveFacts,
  });
  if (!('body' in answer)) throw new Error(answer.detail);
  return JSON.parse(new TextDecoder().decode(answer.body)) as {
    problem: string | null;
    held: number;
    total: number;
    rows: { client: string; requests: number }[];
  };
}

it('answers with the requests that were just counted', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  expect((await usage(client)).rows).toMatchObject([{ client: 'a', requests: 1 }]);
  ledger.add([row('v1', 'b', now - hour, { requests: 2 })]);
  expect((await usage(client)).rows).toMatchObject([{ client: 'b', requests: 2 }, { client: 'a' }]);
});

it('reads the new file after the ledger was removed', async () => {
  const { ledger, file } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  await usage(client);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  const { problem, rows } = await usage(client);
  expect([problem, rows]).toEqual([null, []]);
  expect(client.lastIncident?.text).toContain(`${file} was open when it was removed`);
});

it('reports the problem of the thread that writes the ledger', async () => {
  const { ledger, file } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  writeFileSync(file, 'SQLite format 3\0 of somebody else'.padEnd(4096, '\0'));
  ledger.settings = { ...ledger.settings, store: `${file}/x` };
  ledger.add([row('v1', 'b', now - hour)]);
  const { problem, held } = await usage(client);
  expect(problem).toContain('cannot be written');
  expect(held).toBe(1);
});

it('ends a query that takes too long, and answers the next one', async () => {
  const { ledger } = crowded(20_000, now);
  const client = clientOf(ledger, 20);
  const [first] = await Promise.allSettled([usage(client, { by: 'client' })]);
  expect(first).toMatchObject({ status: 'rejected', reason: { name: 'LedgerUnansweredError' } });
  expect(String((first as PromiseRejectedResult).reason)).toContain('ended: it has not answered within 0.02 s.');
  const other = clientOf(ledger);
  expect((await usage(other, { version: 'v1', limit: '1' })).total).toBe(20_000);
});

it('starts a new thread after one ended', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  // Without a report the query throws, which ends the thread.
  const broken = client.query('retirement', snapshot, { version: 'v1', quiet: hour, state: null as never, now });
  await expect(broken).rejects.toThrow(/The thread that reads the usage ledger ended: .+\.$/);
  expect((await usage(client)).rows).toHaveLength(1);
});

it('answers queries in their order, and none once it is closed', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  const done: string[] = [];
  await Promise.all(['v1', 'v2', 'v1'].map((version) => usage(client, { version }).then(() => done.push(version))));
  expect(done).toEqual(['v1', 'v2', 'v1']);
  await client.close();
  await expect(usage(client)).rejects.toThrow('the gateway stops');
});

it('answers a verdict, a plan and the reload guard while slow reports run and wait', async () => {
  const { ledger } = crowded(20_000, now);
  const client = clientOf(ledger, 300_000);
  const done: string[] = [];
  const note = (name: string) => (): unknown => done.push(name);
  const state = idleState;
  const plan = { since: now - day, now, at: now, candidate: { retired: 'v2' }, state };
  const guard = { now, quiet: new Map([['v1', hour]]), live: state.facts, newFreezes: [], newAdapters: [] };
  await Promise.all([
    ...Array.from({ length: 8 }, () => usage(client, { by: 'migration', version: 'v1' }).then(note('report'))),
    client.query('recentUse', snapshot, guard).then(note('guard')),
    client.query('retirement', snapshot, { version: 'v2', quiet: hour, state, now }).then(note('verdict')),
    client.query('plan', snapshot, plan).then(note('plan')),
  ]);
  expect(done.filter((name) => name !== 'report')).toEqual(['guard', 'verdict', 'plan']);
  // All reports wait for each other, so the last one ends long after the first.
  expect(done.at(-1)).toBe('report');
});

it('uses one thread as long as queries do not overlap', async () => {
  const { ledger } = ledgerWith([row('v1', 'a', now - hour)], now - 3 * hour);
  const client = clientOf(ledger);
  let started = 0;
  const onWorker = (): void => {
    started += 1;
  };
  subscribe('worker_threads', onWorker);
  onTestFinished(() => void unsubscribe('worker_threads', onWorker));
  for (let count = 0; count < 3; count += 1) {
    await usage(client);
    await client.query('retirement', snapshot, { version: 'v1', quiet: hour, state: idleState, now });
  }
  expect(started).toBe(1);
});

const clients = 20_000;

const questions = [
  '/api/usage?by=client&version=v1',
  '/api/usage?by=migration&version=v1',
  '/api/versions/v1/retirement',
];

it('a question about 20,000 clients is answered outside the serving thread', async () => {
  const backend = await startBackend();
  const { ledger, queries } = crowded(clients, now);
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream: backend.url, deprecation: '2026-01-01' }, '/v2': backend.url },
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
  });
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(() => gateway.close());
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const ask = async () => {
    for (const path of questions) {
      const response = await fetch(admin + path);
      expect(response.status).toBe(200);
      await response.body?.cancel();
    }
  };
  // The CPU time of this thread; that of the reading thread does not count.
  const cpuOf = async (work: () => unknown): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    return process.threadCpuUsage(before).user / 1000;
  };
  const here = await cpuOf(async () => {
    for (const by of ['client', 'migration'])
      await answerTo('usage', queries, snapshot, {
        ...parseUsageQuery({ by, version: 'v1' }, now),
        live: noLiveFacts,
      });
  });
  await ask();
  expect(await cpuOf(ask), `ms of CPU, where the same answers cost ${here} ms in one thread`).toBeLessThan(here / 2);
});
