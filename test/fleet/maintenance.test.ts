import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maintainStore } from '../../gateway/fleet/maintenance.ts';
import { Postgres } from '../../gateway/fleet/postgres.ts';
import { fleetSalt, migrate } from '../../gateway/fleet/schema.ts';
import { writeBatch } from '../../gateway/fleet/shipper.ts';
import type { UsageBatch } from '../../gateway/usage/usageRow.ts';
import { day, ledgerWith, row } from '../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

const now = Date.parse('2026-11-20T10:30:00Z');
const limits = { store: '', retention: 400 * day, maxClients: 3, maxRoutes: 2 };

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function storeWith(rows: UsageBatch): Promise<Postgres> {
  const sql = await Postgres.open({ store: await server.database(), passwordFile: undefined });
  await migrate(sql);
  await fleetSalt(sql, 'ours');
  const batch = { instance: randomUUID(), epoch: 1, seq: 1, began: now - day, seen: now, restarted: undefined };
  await writeBatch(sql, { ...batch, salt: 'ours', rows: JSON.stringify(rows) });
  return sql;
}

/** Every row of a table, with names for ids and sorted, from either database. */
const tables = {
  client_hour: named('client_hour', 'client', 'item', 'span, requests, served, first, last'),
  client_day: named('client_day', 'client', 'item', 'span, requests, served, first, last'),
  client_block: named('client_block', 'client', 'item', 'span, requests, served, first, last'),
  route_day: named('route_day', 'route', 'item', 'span, requests, first, last'),
  route_block: named('route_block', 'route', 'item', 'span, requests, first, last'),
  pair_day: named('pair_day', 'client', 'client', 'span, requests, first, last'),
  pair_hour: named('pair_hour', 'route', 'route', 'span, requests, first, last'),
  version_client: named('version_client', 'client', 'client', 'first, last, used'),
  route_client: named('route_client', 'client', 'client', 'last'),
  clients: 'SELECT name FROM @clients ORDER BY name',
  routes: 'SELECT name FROM @routes ORDER BY name',
};

function named(table: string, subject: string, column: string, columns: string): string {
  return `SELECT @${subject}s.name AS name, ${columns} FROM @${table} JOIN @${subject}s ON @${subject}s.id = ${column}
    ORDER BY name, ${columns}`;
}

describe('maintainStore', () => {
  it('folds the same names as the ledger of one gateway', async () => {
    const names = Array.from({ length: 9 }, (_one, index) => index);
    const rows = names.flatMap((index) => [
      row('v1', `client ${index}`, now - index * 1000, { requests: 10 - index, route: `GET /r${index % 5}` }),
      row('v1', `client ${index}`, now - 3 * day - index * 1000, { requests: 1 + index, route: `GET /r${index % 3}` }),
    ]);
    // Two of the folded clients only have requests of today.
    const today = rows.filter(({ client, last }) => last > now - day || !/client [78]/.test(client));
    const sql = await storeWith(today);
    const { ledger, file } = ledgerWith(today, now - 10 * day);
    ledger.configure({ ...ledger.settings, maxClients: 3, maxRoutes: 2 });
    ledger.maintain(now);
    expect(await maintainStore(sql, now, limits)).toBe(true);
    const sqlite = new DatabaseSync(file, { readOnly: true });
    for (const [table, query] of Object.entries(tables)) {
      const local = sqlite.prepare(query.replaceAll('@', '')).all();
      const shared = await sql.query(query.replaceAll('@', 'version_gateway.'));
      expect(shared, table).toEqual(local.map((one) => ({ ...one })));
    }
    sqlite.close();
    await sql.close();
  });

  it('drops what is older than the retention, and says since when the store has rows', async () => {
    const old = now - 500 * day;
    const sql = await storeWith([row('v1', 'old', old), row('v1', 'new', now), row('v2', 'old', old)]);
    await maintainStore(sql, now, limits);
    expect(await sql.query('SELECT name FROM version_gateway.clients')).toEqual([{ name: 'new' }]);
    expect(await sql.query('SELECT name FROM version_gateway.versions')).toEqual([{ name: 'v1' }]);
    expect(await sql.query('SELECT SUM(requests) AS sum FROM version_gateway.version_block')).toEqual([{ sum: 1 }]);
    const kept = await sql.query(`SELECT value FROM version_gateway.meta WHERE key = 'kept_from'`);
    expect(kept).toEqual([{ value: String(Math.floor((now - 400 * day) / day) * day) }]);
    await sql.close();
  });

  it('keeps a partition that a query reads, and drops it the next time', async () => {
    const sql = await storeWith([row('v1', 'old', now - 500 * day), row('v1', 'new', now)]);
    await sql.transaction(async (reading) => {
      await reading.query('SELECT * FROM version_gateway.client_day');
      expect(await maintainStore(sql, now, limits)).toBe(false);
    });
    expect(await sql.query('SELECT COUNT(*) AS count FROM version_gateway.client_day')).toEqual([{ count: 2 }]);
    expect(await maintainStore(sql, now, limits)).toBe(true);
    expect(await sql.query('SELECT COUNT(*) AS count FROM version_gateway.client_day')).toEqual([{ count: 1 }]);
    await sql.close();
  });

  it('runs on one gateway at a time', async () => {
    const sql = await storeWith([row('v1', 'new', now)]);
    await Promise.all([maintainStore(sql, now, limits), maintainStore(sql, now, limits)]);
    const [row1] = await sql.query<{ partitions: number }>(
      `SELECT COUNT(*) AS partitions FROM pg_inherits WHERE inhparent = 'version_gateway.version_day'::regclass`,
    );
    expect(row1?.partitions).toBeGreaterThan(1);
    await sql.close();
  });
});
