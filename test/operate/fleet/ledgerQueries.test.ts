import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { FleetLedger } from '../../../gateway/operate/fleet/ledger.ts';
import { maintainStore } from '../../../gateway/operate/fleet/maintenance.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { getOrSetFleetSalt, migrate } from '../../../gateway/operate/fleet/schema.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { addBatch } from './batches.ts';

const now = Date.parse('2026-11-20T10:30:00Z');
const limits = { store: '', retention: 400 * day, maxClients: 100, maxRoutes: 100 };
const versions = ['v1', 'v2', 'v3'];

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

// Longer than a brownout may be, so that it has several calls.
const brownout = { version: 'v1', at: now - 90 * day, end: now - 70 * day, retryUntil: now - 40 * day };
const period = { ...brownout, moveUntil: now - 20 * day, successor: 'v2' };

/** Calls of 150 days. Some clients began late, some stopped, and one always fails. */
function calls(): UsageRow[] {
  return Array.from({ length: 600 }, (_one, index) => {
    const client = index % 13;
    const age = ((index * 7919) % 150) * day + ((index * 31) % 24) * hour;
    const isBegun = client % 3 !== 1 || age < 60 * day;
    const isStopped = client % 3 === 2 && age < 60 * day;
    const at = now - (isBegun && !isStopped ? age : isBegun ? 70 * day : 50 * day);
    const requests = 1 + ((index * index) % 997);
    const failing = client === 12 ? requests : index % 5 === 0 ? 1 : 0;
    const version = versions[index % 3] ?? '';
    const isRefused = version === 'v1' && at >= brownout.at && at < brownout.end && client < 7;
    return row(version, `client ${client}`, at, {
      ...(isRefused && { brownout: brownout.at, refused: requests }),
      requests,
      failing,
      errors: failing,
      route: `GET /${index % 4}`,
      used: failing === requests ? 0 : at,
    });
  });
}

/** Rows of equal rank are in the order of ids, which differ. */
function inOrder<Row extends object>(rows: readonly Row[]): string[] {
  return rows.map((one) => JSON.stringify(Object.entries(one).sort())).sort();
}

/** The answers to all queries, by period. */
async function answers(queries: UsageQueries): Promise<Record<string, readonly unknown[]>[]> {
  const all: Record<string, readonly unknown[]>[] = [];
  for (const days of [3, 45, 100]) {
    const since = now - days * day;
    all.push({
      lastUsed: inOrder([...(await queries.lastUsed())]),
      totals: inOrder(await queries.totals(since)),
      until: inOrder(await queries.totals(since, now - 2 * day)),
      requests: inOrder(await queries.requests(since)),
      clients: inOrder(await queries.byClient('v1', since)),
      arrivals: inOrder(await queries.arrivals('v1', { since, until: now, absence: 5 * day })),
      rows: inOrder(await queries.byVersionAndClient(since, ({ version }) => version !== 'v2')),
      firstCalls: await queries.firstCalls('v1', since, now - day, 5),
      newClients: inOrder(await queries.newClients('v1', since)),
      routes: inOrder(await queries.byRoute('v2', since)),
      plainRoutes: inOrder((await queries.routes('v2', since)).map(({ route, requests }) => ({ route, requests }))),
      hours: await queries.series('hour', since, 'v3'),
      days: await queries.series('day', since),
      clientDays: inOrder(await queries.clientSeries('v3', ['client 1', 'client 2', 'client 12'], since)),
      past: inOrder(await queries.pastClients('v1', since, now, 7 * day)),
      refused: inOrder(await queries.brownouts.refused(period)),
      refusedWithoutSuccessor: inOrder(await queries.brownouts.refused({ ...period, successor: undefined })),
      notRefused: inOrder((await queries.brownouts.notRefused(period, ['client 8'], 3)).clients),
      notRefusedOnDay: [
        await queries.brownouts.notRefused({ ...period, at: now - 95 * day, end: now - 95 * day + 1 }, [], 3),
      ],
      movement: inOrder(await queries.movement('v1', 'v2', since)),
      folded: [await queries.requestsOfOtherClients(since)],
    });
  }
  expect(queries.problem).toBeUndefined();
  return all;
}

it('answers as the ledger of one gateway does, also after the maintenance', async () => {
  const rows = calls();
  const { ledger, queries } = ledgerWith(rows, now - 200 * day);
  const store = await server.database();
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  onTestFinished(() => postgres.close());
  await migrate(postgres);
  await getOrSetFleetSalt(postgres, 'ours');
  const sender = { instance: randomUUID(), epoch: 1, began: now - 200 * day, seen: now, restarted: undefined };
  for (let seq = 1; seq <= 5; seq++) {
    const batch = rows.filter((_row, index) => index % 5 === seq - 1);
    await addBatch(postgres, { ...sender, seq, salt: 'ours', rows: JSON.stringify(batch) });
  }
  const shared = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }));
  onTestFinished(() => shared.close());
  const before = await answers(queries);
  expect(await shared.readConsistently(() => answers(shared))).toEqual(before);

  ledger.maintain(now);
  // The maintenance sorts a few partitions each time.
  for (let times = 0; times < 5; times++) await maintainStore(postgres, now, limits);
  const unsorted = await postgres.query(
    `SELECT indrelid::regclass AS name FROM pg_index JOIN pg_inherits ON inhrelid = indrelid
      WHERE indisprimary AND NOT indisclustered AND inhparent = 'version_gateway.client_day'::regclass
        AND pg_relation_size(indrelid) > 0`,
  );
  expect(unsorted).toHaveLength(1);
  const after = await answers(queries);
  expect(await shared.readConsistently(() => answers(shared))).toEqual(after);
  // A query that answers nothing would be equal, too.
  for (const name of Object.keys(after[0] ?? {}))
    expect(Math.max(...after.map((one) => one[name]?.length ?? 0)), name).toBeGreaterThan(0);
});
