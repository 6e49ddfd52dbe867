import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maintainStore } from '../../../gateway/operate/fleet/maintenance.ts';
import { Postgres, type Transactions } from '../../../gateway/operate/fleet/postgres.ts';
import { getOrSetFleetSalt } from '../../../gateway/operate/fleet/schema.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { addBatch } from './batches.ts';

const now = Date.parse('2026-11-20T10:30:00Z');
const limits = { store: '', retention: 400 * day, maxClients: 3, maxRoutes: 2 };

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function storeWith(...batches: readonly UsageBatch[]): Promise<Postgres> {
  const sql = await Postgres.open({ store: await server.store(), passwordFile: undefined });
  await getOrSetFleetSalt(sql, 'ours');
  for (const rows of batches) await addTo(sql, rows);
  return sql;
}

async function addTo(sql: Postgres, rows: UsageBatch): Promise<void> {
  const batch = { instance: randomUUID(), epoch: 1, seq: 1, began: now - day, seen: now, restarted: undefined };
  await addBatch(sql, { ...batch, salt: 'ours', rows: JSON.stringify(rows) });
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
  brownout_client: named('brownout_client', 'client', 'client', 'brownout, refused, first, last'),
  route_client: named('route_client', 'client', 'client', 'last'),
  sizes: named('sizes', 'route', 'route', 'span, body, target, head'),
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
      row('v1', `client ${index}`, now - index * 1000, {
        requests: 10 - index,
        route: `GET /r${index % 5}`,
        ...{ body: 100 * index, target: 20 + (index % 4), head: 900 - index },
      }),
      row('v1', `client ${index}`, now - 3 * day - index * 1000, { requests: 1 + index, route: `GET /r${index % 3}` }),
    ]);
    // A brownout of today, and one that began yesterday and refused some of the folded clients today.
    const midnight = Math.floor(now / day) * day;
    for (const index of names) {
      const refused = { brownout: now - 3_600_000, requests: 1 + index, refused: 1 + index, served: 0 };
      rows.push(row('v1', `client ${index}`, now - index * 1000, refused));
      const at = midnight + (index % 2 === 0 ? index : -index) * 1000;
      rows.push(row('v1', `client ${index}`, at, { ...refused, brownout: midnight - 3_600_000 }));
    }
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
    await addTo(sql, [row('v1', 'old', old, { brownout: old }), row('v1', 'new', now, { brownout: now })]);
    await maintainStore(sql, now, limits);
    expect(await sql.query('SELECT name FROM version_gateway.clients')).toEqual([{ name: 'new' }]);
    expect(await sql.query('SELECT name FROM version_gateway.versions')).toEqual([{ name: 'v1' }]);
    expect(await sql.query('SELECT SUM(requests) AS sum FROM version_gateway.version_block')).toEqual([{ sum: 2 }]);
    expect(await sql.query('SELECT brownout FROM version_gateway.brownout_client')).toEqual([{ brownout: now }]);
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

  describe('sorting', () => {
    // The first day of a partition of days that ended two months ago.
    const begin = Math.floor((now - 100 * day) / (30 * day)) * 30 * day;
    const calls = (version: string, after: number) => [
      row(version, 'b', begin + after * day, { route: 'GET /b' }),
      row(version, 'a', begin + after * day, { route: 'GET /a' }),
    ];
    // The ids of the versions are in the order of these batches.
    const batches = [
      calls('v9', 2),
      calls('v1', 1),
      calls('v9', 1),
      calls('v1', 0),
      calls('v9', 0),
      [row('v1', 'a', now)],
    ];
    const keys = { client_day: 'version, span, item', pair_day: 'version, span, client, route' };

    /** The rows of a table in the order in which they are stored, and in that of the key. */
    async function orders(sql: Postgres, table: keyof typeof keys): Promise<{ stored: object[]; byKey: object[] }> {
      const rows = `SELECT * FROM version_gateway.${table} WHERE span < ${now / day - 40} ORDER BY`;
      return { stored: await sql.query(`${rows} tableoid, ctid`), byKey: await sql.query(`${rows} ${keys[table]}`) };
    }

    async function contents(sql: Postgres): Promise<object> {
      const rows = Object.entries(tables).map(async ([table, query]) => {
        return [table, await sql.query(query.replaceAll('@', 'version_gateway.'))];
      });
      return Object.fromEntries(await Promise.all(rows));
    }

    /** By the name of the partition; the file changes when a table is written anew. */
    const files = `SELECT relname AS name, relfilenode AS file FROM pg_class
      WHERE relname ~ '_p\\d+$' AND relkind = 'r' ORDER BY relname`;
    const roomy = { ...limits, maxClients: 100, maxRoutes: 100 };

    it('sorts the rows of each partition by their key after its end, once, and loses none', async () => {
      const sql = await storeWith(...batches);
      for (const table of ['client_day', 'pair_day'] as const) {
        const { stored, byKey } = await orders(sql, table);
        expect(stored).not.toEqual(byKey);
      }
      const before = await contents(sql);
      await maintainStore(sql, now, roomy);
      for (const table of ['client_day', 'pair_day'] as const) {
        const { stored, byKey } = await orders(sql, table);
        expect(stored).toEqual(byKey);
        expect(stored.length).toBeGreaterThanOrEqual(10);
      }
      // Hours are kept for a few days only.
      const hours = { client_hour: [], pair_hour: [] };
      expect({ ...(await contents(sql)), ...hours }).toEqual({ ...before, ...hours });
      const current = `version_gateway.client_day_p${Math.floor(now / day / 30)}`;
      expect(
        await sql.query('SELECT indisclustered AS sorted FROM pg_index WHERE indrelid = $1::regclass', [current]),
      ).toEqual([{ sorted: false }]);
      const sorted = await sql.query(files);
      await addTo(sql, calls('v9', 0));
      await maintainStore(sql, now + 2 * day, roomy);
      expect(await sql.query(files)).toEqual(sorted);
      const sum = `SELECT SUM(requests) AS sum FROM version_gateway.client_day WHERE span = ${begin / day}`;
      expect(await sql.query(sum)).toEqual([{ sum: 6 }]);
      await sql.close();
    });

    it('leaves a partition that a query reads for the next time', async () => {
      const sql = await storeWith(...batches);
      const partition = `version_gateway.client_day_p${begin / day / 30}`;
      await sql.transaction(async (reading) => {
        await reading.query(`SELECT * FROM ${partition}`);
        expect(await maintainStore(sql, now, roomy)).toBe(false);
      });
      const { stored, byKey } = await orders(sql, 'client_day');
      expect(stored).not.toEqual(byKey);
      await maintainStore(sql, now, roomy);
      expect((await orders(sql, 'client_day')).stored).toEqual(byKey);
      await sql.close();
    });

    it('leaves the rest for the next time if there are many partitions', async () => {
      const sql = await storeWith(...batches, calls('v1', -30));
      expect(await maintainStore(sql, now, roomy)).toBe(false);
      expect(await maintainStore(sql, now, roomy)).toBe(true);
      await sql.close();
    });

    it('goes on if a partition is dropped meanwhile', async () => {
      const sql = await storeWith(...batches);
      const partition = `version_gateway.client_day_p${begin / day / 30}`;
      const dropping: Transactions = {
        transaction: (work) =>
          sql.transaction((inside) =>
            work({
              query: async (text, values) => {
                if (text.startsWith(`CLUSTER ${partition}`)) await sql.query(`DROP TABLE ${partition}`);
                return inside.query(text, values);
              },
            }),
          ),
      };
      expect(await maintainStore(dropping, now, roomy)).toBe(true);
      expect((await orders(sql, 'client_day')).stored).toEqual([]);
      const { stored, byKey } = await orders(sql, 'pair_day');
      expect(stored).toEqual(byKey);
      await sql.close();
    });

    it('is followed by new statistics on the same day', async () => {
      const sql = await storeWith([row('v1', 'a', now)]);
      await maintainStore(sql, now, roomy);
      await addTo(sql, calls('v1', 0));
      const statistics = `SELECT attname AS column FROM pg_stats
        WHERE tablename = 'client_day_p${begin / day / 30}' AND attname = 'item'`;
      expect(await sql.query(statistics)).toEqual([]);
      await maintainStore(sql, now, roomy);
      expect(await sql.query(statistics)).toEqual([{ column: 'item' }]);
      await sql.close();
    });
  });

  it('gives PostgreSQL statistics of the partitioned tables once a day', async () => {
    const sql = await storeWith([row('v1', 'a', now), row('v1', 'b', now), row('v2', 'a', now - day)]);
    const columns = () =>
      sql.query(`SELECT attname AS column FROM pg_stats
        WHERE tablename = 'client_day' AND inherited AND attname IN ('version', 'item') ORDER BY attname`);
    const both = [{ column: 'item' }, { column: 'version' }];
    expect(await columns()).toEqual([]);
    expect(await maintainStore(sql, now, limits)).toBe(true);
    expect(await columns()).toEqual(both);
    const forget = `DELETE FROM pg_statistic WHERE starelid = 'version_gateway.client_day'::regclass`;
    await sql.query(forget);
    expect(await maintainStore(sql, now, limits)).toBe(true);
    expect(await columns()).toEqual([]);
    // Another gateway has deleted old rows today, but could not get the lock for the statistics.
    await sql.query(`DELETE FROM version_gateway.meta WHERE key = 'analyzed'`);
    expect(await maintainStore(sql, now, limits)).toBe(true);
    expect(await columns()).toEqual(both);
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
