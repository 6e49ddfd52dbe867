import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres, type Sql } from '../../../gateway/operate/fleet/postgres.ts';
import { agreeOnSalt, getOrSetFleetSalt, migrate } from '../../../gateway/operate/fleet/schema.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { addBatch, batchOf, hour, rowOf } from './batches.ts';

const hourMs = 3_600_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** A store with the salt `ours`. */
async function store(connections = 2): Promise<Postgres> {
  const sql = await Postgres.open({ store: await server.store(), passwordFile: undefined }, { connections });
  expect(await getOrSetFleetSalt(sql, 'ours')).toBe('ours');
  return sql;
}

/** `client requests` for each client of the table, sorted. */
async function clients(sql: Postgres, table: string): Promise<string[]> {
  const rows = await sql.query<{ name: string; requests: number }>(
    `SELECT name, SUM(requests) AS requests FROM version_gateway.${table}
      JOIN version_gateway.clients ON clients.id = item GROUP BY name ORDER BY name`,
  );
  return rows.map(({ name, requests }) => `${name} ${requests}`);
}

describe('a batch', () => {
  it('is added once, however often it is sent', async () => {
    const sql = await store();
    const batch = batchOf([rowOf({}), rowOf({ client: 'user-agent:wget', requests: 4 })]);
    expect(await addBatch(sql, batch)).toBe('applied');
    expect(await addBatch(sql, batch)).toBe('known');
    for (const length of ['hour', 'day', 'block'])
      expect(await clients(sql, `client_${length}`)).toEqual(['user-agent:curl 1', 'user-agent:wget 4']);
    await sql.close();
  });

  it('adds up with others: counts, first and last request', async () => {
    const sql = await store();
    const batch = batchOf([rowOf({})]);
    await addBatch(sql, batch);
    await addBatch(sql, {
      ...batch,
      seq: 2,
      rows: JSON.stringify([rowOf({ first: hour + 10, last: hour + 9000, requests: 2 })]),
    });
    const [row] = await sql.query('SELECT requests, first, last FROM version_gateway.version_hour');
    expect(row).toEqual({ requests: 3, first: 10, last: 9000 });
    const [seen] = await sql.query('SELECT first, last FROM version_gateway.version_client');
    expect(seen).toEqual({ first: hour + 10, last: hour + 9000 });
    await sql.close();
  });

  it('adds up what each brownout refused, and ignores rows that no brownout refused', async () => {
    const sql = await store();
    const [first, second] = [hour, hour + 1_800_000];
    const rows = [
      rowOf({}),
      rowOf({ brownout: first, requests: 2 }),
      rowOf({ brownout: first, route: 'GET /other', last: hour + 9000 }),
      rowOf({ brownout: second, requests: 4 }),
    ];
    await addBatch(sql, batchOf(rows));
    const refused = 'SELECT brownout, refused, first, last FROM version_gateway.brownout_client ORDER BY brownout';
    expect(await sql.query(refused)).toEqual([
      { brownout: first, refused: 3, first: hour + 1000, last: hour + 9000 },
      { brownout: second, refused: 4, first: hour + 1000, last: hour + 2000 },
    ]);
    await sql.close();
  });

  it('is a new one in a new run of the gateway, even with the same number', async () => {
    const sql = await store();
    const batch = batchOf([rowOf({})]);
    await addBatch(sql, batch);
    expect(await addBatch(sql, { ...batch, epoch: 2 })).toBe('applied');
    expect(await clients(sql, 'client_day')).toEqual(['user-agent:curl 2']);
    await sql.close();
  });

  it('restarts coverage if the store lost batches before it', async () => {
    const sql = await store();
    expect(await addBatch(sql, batchOf([rowOf({})], { seq: 7 }))).toBe('gap');
    expect(await sql.query(`SELECT value FROM version_gateway.meta WHERE key = 'covered_from'`)).toEqual([
      { value: String(hour + 5000) },
    ]);
    expect(await clients(sql, 'client_day')).toEqual(['user-agent:curl 1']);
    await sql.close();
  });

  it('counts a client whose tag has another salt as one of the others', async () => {
    const sql = await store();
    const rows = [rowOf({ client: 'x-api-key:#0011' }), rowOf({ client: 'user-agent:curl' })];
    await addBatch(sql, batchOf(rows, { salt: 'theirs' }));
    await addBatch(sql, batchOf(rows));
    expect(await clients(sql, 'client_day')).toEqual(['other clients 1', 'user-agent:curl 2', 'x-api-key:#0011 1']);
    await sql.close();
  });

  it('creates the partitions that it needs, for old and new rows', async () => {
    const sql = await store();
    const old = hour - 400 * 24 * hourMs;
    await addBatch(sql, batchOf([rowOf({}), rowOf({ hour: old, first: old, last: old })]));
    expect(await sql.query('SELECT requests FROM version_gateway.version_block ORDER BY span')).toEqual([
      { requests: 1 },
      { requests: 1 },
    ]);
    await sql.close();
  });

  it('may have rows from before the clock was set, many years apart', async () => {
    const sql = await store();
    expect(await addBatch(sql, batchOf([rowOf({ hour: 0, first: 1, last: 2, used: 2 }), rowOf({})]))).toBe('applied');
    expect(await clients(sql, 'client_day')).toEqual(['user-agent:curl 2']);
    const [tables] = await sql.query<{ count: number }>(
      `SELECT COUNT(*) AS count FROM pg_inherits WHERE inhparent = 'version_gateway.client_hour'::regclass`,
    );
    expect(tables?.count).toBeLessThanOrEqual(10);
    await sql.close();
  });

  it('is exact with ten gateways that write the same clients at once, each batch twice', async () => {
    const sql = await store(10);
    const gateways = Array.from({ length: 10 }, () => randomUUID());
    await Promise.all(
      gateways.map(async (instance, gateway) => {
        for (let seq = 1; seq <= 4; seq += 1) {
          const rows = Array.from({ length: 50 }, (_one, index) =>
            rowOf({ client: `user-agent:${(index * (gateway + 1)) % 50}`, route: `GET /r${index % 5}` }),
          );
          const batch = batchOf(rows, { instance, seq });
          await Promise.all([addBatch(sql, batch), addBatch(sql, batch)]);
        }
      }),
    );
    const [total] = await sql.query('SELECT SUM(requests) AS sum FROM version_gateway.pair_hour');
    expect(total).toEqual({ sum: 10 * 4 * 50 });
    expect(await sql.query('SELECT requests FROM version_gateway.version_day')).toEqual([{ requests: 2000 }]);
    await sql.close();
  });
});

/** Undoes what the present release adds to a store of the fifth version. */
async function removeLaterVersions(sql: Sql): Promise<void> {
  await sql.query(`DROP FUNCTION version_gateway.empty_queue CASCADE; DROP FUNCTION version_gateway.keep_queued_name CASCADE;
    DROP TABLE version_gateway.queued_batches; DROP TYPE version_gateway.batch_row CASCADE;
    DROP TABLE version_gateway.sizes; DROP FUNCTION version_gateway.forget_sizes`);
  await sql.query(`DROP VIEW version_gateway.losses; DROP TABLE version_gateway.lost_counts;
    DROP FUNCTION version_gateway.leave_1; DROP FUNCTION version_gateway.before_heartbeat_1;
    DROP FUNCTION version_gateway.moved_ids; DROP FUNCTION version_gateway.server_id;
    ALTER TABLE version_gateway.runs DROP closed, DROP name, DROP counted, DROP ended, DROP skew_ms, DROP unsent;
    ALTER TABLE version_gateway.gateways DROP beat, DROP counted, DROP worst_skew_ms, DROP ended_at`);
}

describe('migrate', () => {
  it('may run on several gateways at once', async () => {
    const sql = await Postgres.open({ store: await server.database(), passwordFile: undefined }, { connections: 3 });
    await Promise.all([migrate(sql), migrate(sql), migrate(sql)]);
    expect(await getOrSetFleetSalt(sql, 'first')).toBe('first');
    expect(await getOrSetFleetSalt(sql, 'second')).toBe('first');
    await sql.close();
  });

  it('replaces the salt of the fleet by that of usage.tag_key only, and says so', async () => {
    const sql = await Postgres.open({ store: await server.store(), passwordFile: undefined });
    expect(await agreeOnSalt(sql, 'first', false)).toEqual({ salt: 'first', isReplaced: false });
    expect(await agreeOnSalt(sql, 'second', false)).toEqual({ salt: 'first', isReplaced: false });
    expect(await agreeOnSalt(sql, 'keyed', true)).toEqual({ salt: 'keyed', isReplaced: true });
    expect(await agreeOnSalt(sql, 'keyed', true)).toEqual({ salt: 'keyed', isReplaced: false });
    expect(await agreeOnSalt(sql, 'second', false)).toEqual({ salt: 'keyed', isReplaced: false });
    await sql.close();
  });

  it('needs no privilege to create schemas if the schema exists, and says if the privilege is missing', async () => {
    const url = await server.database();
    const owner = await Postgres.open({ store: url, passwordFile: undefined });
    await owner.query('CREATE ROLE app LOGIN');
    const sql = await Postgres.open({ store: url.replace('gateway@', 'app@'), passwordFile: undefined });
    await expect(migrate(sql)).rejects.toThrow('permission denied for database');
    await owner.query('CREATE SCHEMA version_gateway AUTHORIZATION app');
    await migrate(sql);
    expect(await getOrSetFleetSalt(sql, 'ours')).toBe('ours');
    expect(await addBatch(sql, batchOf([rowOf({})]))).toBe('applied');
    await sql.close();
    await owner.close();
  });

  it('adds columns to the store of an earlier release, which still runs, and counts its requests as use', async () => {
    const sql = await store();
    const earlier = { requests: 5, failing: 5, used: 0, accepted: 0 };
    await addBatch(sql, batchOf([rowOf(earlier)]));
    for (const table of ['pair_hour', 'pair_day'])
      await sql.query(`ALTER TABLE version_gateway.${table} DROP served, DROP failing, DROP refused`);
    await sql.query('ALTER TABLE version_gateway.route_client DROP first, DROP used');
    await sql.query('ALTER TABLE version_gateway.version_client DROP accepted');
    await sql.query('DROP TABLE version_gateway.brownout_client, version_gateway.brownouts');
    await removeLaterVersions(sql);
    await sql.query(`UPDATE version_gateway.meta SET value = '2' WHERE key = 'version'`);
    const before = Date.now();
    await Promise.all([migrate(sql), migrate(sql)]);
    // The sizes of earlier requests are not known, and each batch of a gateway of the earlier release adds requests without sizes.
    const sizesSince = async () => {
      const rows = await sql.query<{ value: string }>(
        `SELECT value FROM version_gateway.meta WHERE key = 'sizes_since'`,
      );
      return Number(rows[0]?.value);
    };
    const migratedAt = await sizesSince();
    expect(migratedAt).toBeGreaterThanOrEqual(before);
    // A gateway of the earlier release sends rows without `accepted` and sizes.
    const {
      accepted: _accepted,
      body: _body,
      target: _target,
      head: _head,
      ...rest
    } = rowOf({ first: hour + 3000, last: hour + 4000, failing: 1, used: 0 });
    await addBatch(sql, batchOf([rest as UsageRow, rowOf({ ...earlier, client: 'user-agent:wget' })]));
    expect(await sizesSince()).toBeGreaterThan(migratedAt);
    expect(
      await sql.query('SELECT requests, failing FROM version_gateway.pair_day ORDER BY requests, failing'),
    ).toEqual([
      { requests: 5, failing: 5 },
      { requests: 6, failing: 1 },
    ]);
    expect(await sql.query('SELECT first, last, used FROM version_gateway.route_client ORDER BY client')).toEqual([
      { first: null, last: hour + 4000, used: hour + 2000 },
      { first: hour + 1000, last: hour + 2000, used: 0 },
    ]);
    expect(await sql.query('SELECT accepted FROM version_gateway.version_client')).toEqual([
      { accepted: 0 },
      { accepted: 0 },
    ]);
    await sql.close();
  });

  it('accepts a later schema that is compatible, and refuses any other', async () => {
    const sql = await store();
    await sql.query(`UPDATE version_gateway.meta SET value = '99' WHERE key = 'version'`);
    await migrate(sql);
    await sql.query(`UPDATE version_gateway.meta SET value = '99' WHERE key = 'compatible'`);
    await expect(migrate(sql)).rejects.toThrow(
      /^a later release has changed it \(version 99, this release knows \d\)\. {2}Update version-gateway\.$/,
    );
    await sql.close();
  });
});
