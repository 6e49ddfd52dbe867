import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FleetLedger } from '../../../gateway/operate/fleet/ledger.ts';
import { maintainStore } from '../../../gateway/operate/fleet/maintenance.ts';
import { Membership } from '../../../gateway/operate/fleet/membership.ts';
import { Postgres, type Sql, StoreError } from '../../../gateway/operate/fleet/postgres.ts';
import {
  addAllQueued,
  awaitQueued,
  lastQueued,
  QueuedBatchAdder,
  whileQueueIsClosed,
} from '../../../gateway/operate/fleet/queuedBatches.ts';
import { type BatchOutcome, type FleetBatch, writeBatch } from '../../../gateway/operate/fleet/shipper.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { batchOf, hour, rowOf } from './batches.ts';
import { gatewayState, identity } from './gatewayRow.ts';

const dayMs = 86_400_000;
// The advisory lock of the gateway that adds batches.
const addingLock = 0x56474142;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function store(connections = 12): Promise<Postgres & { readonly url: string }> {
  const url = await server.store();
  const sql = await Postgres.open({ store: url, passwordFile: undefined }, { connections });
  onTestFinished(() => sql.close());
  return Object.assign(sql, { url });
}

/** Keeps gateways from adding batches until the returned function is called, as a gateway does that adds batches. */
async function holdAdding(sql: Postgres): Promise<() => Promise<void>> {
  const connection = await sql.connect();
  await connection.query(`SELECT pg_advisory_lock(${addingLock})`);
  return async () => {
    // After a crash, the connection is broken.
    await connection.query(`SELECT pg_advisory_unlock(${addingLock})`).catch(() => {});
    connection.release();
  };
}

/** Puts batches into the queue: the first gateway of a test would add its batch at once. */
async function queue(sql: Postgres, batches: readonly FleetBatch[]): Promise<void> {
  const release = await holdAdding(sql);
  for (const batch of batches) expect(await writeBatch(sql, batch)).toBe('applied');
  await release();
  expect(await queued(sql)).toBe(batches.length);
}

async function queued(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ count: number }>('SELECT count(*) AS count FROM version_gateway.queued_batches');
  return row?.count ?? 0;
}

/** The requests that are added to the sums of each client. */
async function added(sql: Sql): Promise<Record<string, number>> {
  const rows = await sql.query<{ client: string; requests: number }>(
    `SELECT c.name AS client, SUM(requests) AS requests FROM version_gateway.client_day
      JOIN version_gateway.clients c ON c.id = item GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ client, requests }) => [client, requests]));
}

/** The requests of each version, as a report reads them. */
async function reported(url: string): Promise<Record<string, number>> {
  const reader = new LedgerReader(await FleetLedger.open({ store: url, passwordFile: undefined }));
  const totals = await reader.readConsistently(() => reader.requests(hour - dayMs, hour + 3 * dayMs));
  const { problem } = reader;
  await reader.close();
  if (problem !== undefined) throw new Error(problem);
  return Object.fromEntries(totals.map(({ version, requests }) => [version, requests]));
}

describe('a batch', () => {
  it('is added at once if no other gateway writes', async () => {
    const sql = await store();
    const { instance } = batchOf([]);
    for (const seq of [1, 2]) expect(await writeBatch(sql, batchOf([rowOf({})], { instance, seq }))).toBe('applied');
    expect(await queued(sql)).toBe(0);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 2 });
  });

  it('is confirmed and queued if another gateway has just written, and a report has it', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})]), batchOf([rowOf({}), rowOf({ version: 'v2' })])]);
    expect(await added(sql)).toEqual({});
    expect(await reported(sql.url)).toEqual({ v1: 2, v2: 1 });
    expect(await queued(sql)).toBe(0);
  });

  it('is in a report that began while another gateway added it', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})])]);
    const release = await holdAdding(sql);
    const report = reported(sql.url);
    await eventually(async () =>
      expect(
        await sql.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%add_queued_1%'`,
        ),
      ).toHaveLength(1),
    );
    expect(await writeBatch(sql, batchOf([rowOf({})]))).toBe('applied');
    await release();
    // The report sees the confirmation of both batches, after which a gateway may have left.
    expect(await report).toEqual({ v1: 2 });
  });

  it('is in each report that sees its confirmation, however many gateways write', async () => {
    const sql = await store();
    let isDone = false;
    const write = async (): Promise<void> => {
      const { instance } = batchOf([]);
      for (let seq = 1; !isDone; seq += 1) await writeBatch(sql, batchOf([rowOf({})], { instance, seq }));
    };
    const writing = Promise.all([write(), write(), write(), write()]);
    const ledger = await FleetLedger.open({ store: sql.url, passwordFile: undefined });
    try {
      let last = 0;
      for (let reports = 0; last < 300 || reports < 30; reports += 1) {
        await ledger.begin();
        const [sums] = await ledger.all<{ confirmed: number; added: number }>(
          `SELECT (SELECT COALESCE(SUM(seq), 0) FROM writers) AS confirmed, (SELECT COALESCE(SUM(requests), 0) FROM version_day) AS added`,
          [],
        );
        await ledger.end();
        expect(sums?.added).toBe(sums?.confirmed);
        last = sums?.confirmed ?? 0;
      }
    } finally {
      isDone = true;
      await writing;
      await ledger.close();
    }
  });

  it('has its losses in the ledger once, as soon as it is confirmed', async () => {
    const sql = await store();
    const losses = JSON.stringify([{ version: 'v1', from: hour, until: hour + 1000, reason: 'A worker ended.' }]);
    const batch = batchOf([rowOf({})], { losses });
    const release = await holdAdding(sql);
    for (const outcome of ['applied', 'known']) {
      expect(await writeBatch(sql, batch)).toBe(outcome);
      expect(await sql.query('SELECT version, began, ended, reason FROM version_gateway.losses')).toEqual([
        { version: 'v1', began: hour, ended: hour + 1000, reason: 'A worker ended.' },
      ]);
    }
    await release();
    expect(await reported(sql.url)).toEqual({ v1: 1 });
    expect(await sql.query('SELECT 1 FROM version_gateway.losses')).toHaveLength(1);
  });

  it('survives a crash of PostgreSQL once it is confirmed, and is added once if it is sent again', async () => {
    const sql = await store();
    const batches = [batchOf([rowOf({})]), batchOf([rowOf({})])];
    await queue(sql, batches);
    await server.crash();
    await server.start();
    for (const batch of batches) expect(await writeBatch(sql, batch)).toBe('known');
    expect(await reported(sql.url)).toEqual({ v1: 2 });
    for (const batch of batches) expect(await writeBatch(sql, batch)).toBe('known');
    expect(await reported(sql.url)).toEqual({ v1: 2 });
  });

  it('is queued once if two copies of it arrive at the same time', async () => {
    const sql = await store();
    const release = await holdAdding(sql);
    const batch = batchOf([rowOf({})]);
    expect((await Promise.all([writeBatch(sql, batch), writeBatch(sql, batch)])).sort()).toEqual(['applied', 'known']);
    await release();
    expect(await reported(sql.url)).toEqual({ v1: 1 });
  });

  it('whose counts are out of range is refused, so that it cannot keep others from being added', async () => {
    const sql = await store();
    const release = await holdAdding(sql);
    const results = await Promise.allSettled(
      [1, 1e15 + 1, -1e15 - 1, 1].map((requests) => writeBatch(sql, batchOf([rowOf({ requests })]))),
    );
    const error = expect.objectContaining({ message: expect.stringContaining('out of range') });
    expect(results).toEqual([
      { status: 'fulfilled', value: 'applied' },
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 'applied' },
    ]);
    await release();
    expect(await reported(sql.url)).toEqual({ v1: 2 });
    expect(await sql.query('SELECT seq FROM version_gateway.writers')).toHaveLength(2);
  });
});

describe('the queue', () => {
  it('is added in several transactions if it is long', async () => {
    const sql = await store();
    await queue(
      sql,
      Array.from({ length: 5 }, () => batchOf([rowOf({}), rowOf({ client: 'user-agent:wget' })])),
    );
    const left: unknown[] = [];
    for (let count = 0; count < 3; count += 1)
      left.push(...(await sql.query('SELECT version_gateway.add_queued_1(NULL, true, 4) AS left')));
    expect(left).toEqual([{ left: true }, { left: true }, { left: false }]);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 5, 'user-agent:wget': 5 });
  });

  it('is added in smaller transactions if the server cancels a long one', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})]), batchOf([rowOf({})])]);
    // As statement_timeout does, if more than one batch is added at once.
    await sql.query('ALTER FUNCTION version_gateway.add_rows RENAME TO add_all_rows');
    await sql.query(`CREATE FUNCTION version_gateway.add_rows(uuid, version_gateway.batch_row[], bigint[]) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        IF cardinality($3) > 1 THEN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END IF;
        PERFORM version_gateway.add_all_rows($1, $2, $3);
      END $$`);
    await sql.query('UPDATE version_gateway.queued_batches SET row_count = 20000');
    await addAllQueued(sql);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 2 });
  });

  it('takes no more batches when it is full, until its batches are added', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})])]);
    await sql.query('UPDATE version_gateway.queued_batches SET row_count = 256000');
    let times = 0;
    const makeRoom = async (): Promise<void> => {
      times += 1;
      await addAllQueued(sql);
    };
    expect(await writeBatch(sql, batchOf([rowOf({})]), { onQueued: () => {}, makeRoom })).toBe('applied');
    expect(times).toBe(1);
    expect(await reported(sql.url)).toEqual({ v1: 2 });
  });

  it('is added by the gateway that has queued a batch, also if another one was adding batches', async () => {
    const sql = await store();
    const settings = { store: sql.url, passwordFile: undefined };
    const problems: (string | undefined)[] = [];
    const adder = new QueuedBatchAdder(settings, sql, (problem) => problems.push(problem));
    onTestFinished(() => adder.stop());
    const release = await holdAdding(sql);
    for (let count = 0; count < 2; count += 1) await writeBatch(sql, batchOf([rowOf({})]), adder);
    await eventually(() => expect(problems).toEqual([undefined]));
    expect(await queued(sql)).toBe(2);
    await release();
    await eventually(async () => expect(await added(sql)).toEqual({ 'user-agent:curl': 2 }));
    expect(new Set(problems)).toEqual(new Set([undefined]));
  });

  it('is added again later if that fails, and the reason is reported', async () => {
    const sql = await store();
    const problems: (string | undefined)[] = [];
    const adder = new QueuedBatchAdder({ store: sql.url, passwordFile: undefined }, sql, (one) => problems.push(one));
    onTestFinished(() => adder.stop());
    const release = await holdAdding(sql);
    await writeBatch(sql, batchOf([rowOf({})]), adder);
    await sql.query('ALTER FUNCTION version_gateway.add_rows RENAME TO moved');
    await release();
    await eventually(() => expect(problems).toContainEqual(expect.stringContaining('add_rows')));
    await expect(reported(sql.url)).rejects.toThrow('add_rows');
    await sql.query('ALTER FUNCTION version_gateway.moved RENAME TO add_rows');
    await eventually(async () => expect(await added(sql)).toEqual({ 'user-agent:curl': 1 }));
    expect(problems.at(-1)).toBeUndefined();
  });

  it('is added into a partition that was dropped while the batch was queued', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})])]);
    const [partition] = await sql.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'version_gateway.client_hour'::regclass`,
    );
    await sql.query(`DROP TABLE ${partition?.name}`);
    expect(await reported(sql.url)).toEqual({ v1: 1 });
  });

  it('keeps the names of its batches, whichever release deletes names', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})])]);
    // As the maintenance of any release does.
    await sql.transaction(async (one) => {
      await one.query(`SELECT pg_advisory_xact_lock(${0x56474644})`);
      for (const [names, column] of [
        ['clients', 'client'],
        ['versions', 'version'],
      ])
        await one.query(
          `DELETE FROM version_gateway.${names} WHERE id NOT IN (SELECT ${column} FROM version_gateway.version_client)`,
        );
    });
    expect(await reported(sql.url)).toEqual({ v1: 1 });
    expect(await added(sql)).toEqual({ 'user-agent:curl': 1 });
  });

  it('is added before the maintenance deletes what is old', async () => {
    const sql = await store();
    const settings = { store: '', retention: 30 * dayMs, maxClients: 10, maxRoutes: 10 };
    const old = hour - 40 * dayMs;
    const oldRow = rowOf({ client: 'user-agent:old', hour: old, first: old, last: old, used: old, accepted: old });
    await queue(sql, [batchOf([rowOf({}), oldRow])]);
    await maintainStore(sql, hour, settings);
    expect(await queued(sql)).toBe(0);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 1 });
    expect(await sql.query('SELECT name FROM version_gateway.clients')).toEqual([{ name: 'user-agent:curl' }]);
  });
});

it('the maintenance keeps the use of a client that is folded, although all its requests of the day failed', async () => {
  const sql = await store();
  const failing = { requests: 2, failing: 2, errors: 2, served: 0, used: 0, accepted: 0 };
  const at = (time: number) => ({ hour: time - (time % 3_600_000), first: time, last: time, used: time, accepted: 0 });
  const reader = 'user-agent:reader';
  // A stream of the day before went on into the day.
  const stream = [rowOf({ client: reader, ...at(hour - dayMs) }), rowOf({ client: reader, ...at(hour), requests: 0 })];
  const scanners = ['a', 'b', 'c'].map((client) => rowOf({ client, ...at(hour), ...failing, requests: 3, failing: 3 }));
  await writeBatch(sql, batchOf([...stream, rowOf({ client: reader, ...at(hour), ...failing }), ...scanners]));
  await addAllQueued(sql);
  await maintainStore(sql, hour, { store: '', retention: 400 * dayMs, maxClients: 2, maxRoutes: 10 });
  const used = await sql.query(
    `SELECT name, used FROM version_gateway.version_client JOIN version_gateway.clients ON id = client
      WHERE name IN ('${reader}', 'other clients') ORDER BY name`,
  );
  expect(used).toEqual([
    { name: 'other clients', used: hour },
    { name: reader, used: hour - dayMs },
  ]);
});

it('takes batches again if a reader hangs that has closed it', async () => {
  const sql = await store();
  let outcome: BatchOutcome | undefined;
  const closing = whileQueueIsClosed(sql, async () => {
    outcome = await writeBatch(sql, batchOf([rowOf({})]));
  });
  // The server has ended the transaction of the reader, so the reader has no answer.
  await expect(closing).rejects.toThrow(StoreError);
  expect(outcome).toBe('applied');
});

describe('a reader that must not write', () => {
  it('waits until a gateway has added the batches', async () => {
    const sql = await store();
    await sql.query('CREATE ROLE reader LOGIN');
    await sql.query(
      'GRANT USAGE ON SCHEMA version_gateway TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA version_gateway TO reader',
    );
    await queue(sql, [batchOf([rowOf({})])]);
    const reader = sql.url.replace('gateway@', 'reader@');
    const report = reported(reader);
    await eventually(async () =>
      expect(
        await sql.query(`SELECT 1 FROM pg_stat_activity WHERE usename = 'reader' AND query LIKE '%id <= $1 LIMIT 1%'`),
      ).toHaveLength(1),
    );
    await addAllQueued(sql);
    expect(await report).toEqual({ v1: 1 });
  });

  it('gets no answer if no gateway adds them', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})])]);
    const answer = sql.transaction(async (one) => {
      await one.query('SET TRANSACTION READ ONLY');
      // The first failure would end the transaction.
      const saved = {
        query: <Row extends object>(text: string, values?: readonly unknown[]) => inSavepoint<Row>(one, text, values),
      };
      await awaitQueued(saved, (await lastQueued(one)) ?? 0, 300);
    });
    await expect(answer).rejects.toThrow('this role may only read');
  });
});

async function inSavepoint<Row extends object>(sql: Sql, text: string, values?: readonly unknown[]): Promise<Row[]> {
  await sql.query('SAVEPOINT one');
  try {
    return await sql.query<Row>(text, values);
  } catch (error) {
    await sql.query('ROLLBACK TO one');
    throw error;
  }
}

describe('a gateway of an earlier release', () => {
  /** The row of a gateway of the earlier release, which does not look into the queue. */
  async function hearEarlier(sql: Sql, instance: string): Promise<void> {
    await sql.query(
      `INSERT INTO version_gateway.gateways AS g (instance, epoch, name, release, addresses, versions, config, ready, spooled, skew_ms, report)
        VALUES ($1, 1, 'gw-2', '0.9.0', '{}', '{}', '', true, 0, 0, '{"epoch": 1, "silent_after": 10000}')
        ON CONFLICT (instance) DO UPDATE SET heard = now()`,
      [instance],
    );
  }

  it('has all batches in the sums from its first heartbeat on', async () => {
    const sql = await store();
    await queue(sql, [batchOf([rowOf({})]), batchOf([rowOf({})])]);
    const instance = randomUUID();
    await hearEarlier(sql, instance);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 2 });
    // Gateways of this release write at the same time.
    await Promise.all(Array.from({ length: 4 }, () => writeBatch(sql, batchOf([rowOf({})]))));
    expect(await queued(sql)).toBe(0);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 6 });
    await sql.query('UPDATE version_gateway.gateways SET left_at = now()');
    await queue(sql, [batchOf([rowOf({})])]);
    // It is there again, after all gateways of this release have ended.
    await sql.query('UPDATE version_gateway.gateways SET left_at = NULL');
    expect(await added(sql)).toEqual({ 'user-agent:curl': 7 });
  });

  it('has a batch in the sums that was written at its first heartbeat', async () => {
    const sql = await store();
    const release = await holdAdding(sql);
    const connection = await sql.connect();
    await connection.query('BEGIN');
    expect(await writeBatch(connection, batchOf([rowOf({})]))).toBe('applied');
    await release();
    const heartbeat = hearEarlier(sql, randomUUID());
    await eventually(async () =>
      expect(
        await sql.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO version_gateway.gateways%'`,
        ),
      ).toHaveLength(1),
    );
    await connection.query('COMMIT');
    connection.release();
    await heartbeat;
    expect(await queued(sql)).toBe(0);
    expect(await added(sql)).toEqual({ 'user-agent:curl': 1 });
  });

  it('is recognized if its earlier run had this release', async () => {
    const sql = await store();
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await queue(sql, [batchOf([rowOf({})])]);
    expect(await added(sql)).toEqual({});
    // A gateway of the earlier release does not write the column `beat`, and a later run keeps the report until its own.
    await sql.query('UPDATE version_gateway.gateways SET epoch = epoch + 1');
    expect(await added(sql)).toEqual({ 'user-agent:curl': 1 });
  });
});

it('counts exactly with gateways of two releases that write the same rows, while connections break and PostgreSQL crashes', async () => {
  const sql = await store(2);
  const [writers, batches, versions, days] = [8, 12, 2, 2];
  const expected = new Map<string, number>();
  const largest = new Map<string, readonly [body: number, target: number]>();
  const confirmed = { requests: 0 };
  const sent = { requests: 0 };
  let isDone = false;
  const writerUrl = new URL(sql.url);
  writerUrl.searchParams.set('application_name', 'writer');
  const settings = { store: writerUrl.href, passwordFile: undefined };
  /** Ends connections of gateways in the middle of a statement, and crashes the server twice. */
  const breakConnections = async (): Promise<void> => {
    let crashes = 0;
    while (!isDone) {
      await sql
        .query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
            AND application_name = 'writer' AND state = 'active' AND random() < 0.3`,
        )
        .catch(() => {});
      if (crashes < 2 && confirmed.requests > (crashes + 1) * 1_000) {
        crashes += 1;
        await server.crash();
        await server.start();
      }
      await sleep(50);
    }
    expect(crashes).toBe(2);
  };
  /** A report has at least what was confirmed before it began. */
  const read = async (): Promise<void> => {
    while (!isDone) {
      const atLeast = confirmed.requests;
      const totals = await reported(sql.url).catch(() => undefined);
      if (totals === undefined) continue;
      const requests = Object.values(totals).reduce((sum, one) => sum + one, 0);
      expect(requests).toBeGreaterThanOrEqual(atLeast);
      expect(requests).toBeLessThanOrEqual(sent.requests);
      await sleep(20);
    }
  };
  const write = async (writer: number): Promise<void> => {
    const own = await Postgres.open(settings, { connections: 1 });
    const adder = new QueuedBatchAdder(settings, own);
    const instance = randomUUID();
    // The others have the earlier release.
    const send = writer % 4 === 0 ? writeEarlier : writeBatch;
    for (let seq = 1; seq <= batches; seq += 1) {
      const rows = Array.from({ length: 40 }, (_one, index) => {
        const day = (index + seq) % days;
        const rowHour = hour + day * 3_600_000;
        const row = {
          version: `v${1 + (index % versions)}`,
          client: `user-agent:${(index * (writer + 1)) % 13}`,
          route: `GET /r${(index * seq) % 7}`,
        };
        const times = {
          hour: rowHour,
          first: rowHour + 1,
          last: rowHour + 2,
          used: rowHour + 2,
          accepted: rowHour + 2,
        };
        const sizes = { body: ((index + 7) * (writer + 3) * seq) % 911, target: 1 + ((index * seq) % 83), head: 100 };
        return rowOf({ ...row, ...times, ...sizes, requests: 1 + ((index + seq) % 3) });
      });
      for (const { version, route, hour: at, body, target } of rows) {
        const key = `${version} ${route} ${Math.floor(at / 86_400_000)}`;
        const [largestBody = 0, largestTarget = 0] = largest.get(key) ?? [];
        largest.set(key, [Math.max(largestBody, body), Math.max(largestTarget, target)]);
      }
      for (const { version, client, route, hour: at, requests } of rows) {
        const key = `${version} ${client} ${route} ${Math.floor(at / dayMs)}`;
        expected.set(key, (expected.get(key) ?? 0) + requests);
      }
      const requests = rows.reduce((sum, one) => sum + one.requests, 0);
      sent.requests += requests;
      const batch = batchOf(rows, { instance, seq });
      for (;;) {
        const outcome = await send(own, batch, adder).catch((error: Error) => error);
        if (!(outcome instanceof Error)) break;
        expect(outcome.message).toMatch(/terminat|deadlock|onnection|ECONN|starting up|shutting down|recovery/);
      }
      confirmed.requests += requests;
    }
    adder.stop();
    await own.close();
  };
  const breaking = breakConnections();
  const reading = read();
  await Promise.all(Array.from({ length: writers }, (_one, writer) => write(writer)));
  isDone = true;
  await Promise.all([breaking, reading]);

  await addAllQueued(sql);
  const stored = await sql.query<{ key: string; requests: number }>(
    `SELECT concat_ws(' ', v.name, c.name, r.name, span) AS key, requests FROM version_gateway.pair_day
      JOIN version_gateway.versions v ON v.id = version JOIN version_gateway.clients c ON c.id = client
      JOIN version_gateway.routes r ON r.id = route`,
  );
  expect(Object.fromEntries(stored.map(({ key, requests }) => [key, requests]))).toEqual(Object.fromEntries(expected));
  const sizes = await sql.query<{ key: string; body: number; target: number }>(
    `SELECT concat_ws(' ', v.name, r.name, span) AS key, body, target FROM version_gateway.sizes
      JOIN version_gateway.versions v ON v.id = version JOIN version_gateway.routes r ON r.id = route`,
  );
  expect(Object.fromEntries(sizes.map(({ key, body, target }) => [key, [body, target]]))).toEqual(
    Object.fromEntries(largest),
  );
  const total = [...expected.values()].reduce((sum, one) => sum + one, 0);
  const subjects = ['version', 'client', 'route'].flatMap((one) => [`${one}_hour`, `${one}_day`, `${one}_block`]);
  for (const table of [...subjects, 'pair_hour', 'version_day_instance'])
    expect(await sql.query(`SELECT SUM(requests) AS sum FROM version_gateway.${table}`), table).toEqual([
      { sum: total },
    ]);
});

/** Sends a batch as the earlier release does. */
async function writeEarlier(sql: Sql, batch: FleetBatch): Promise<BatchOutcome> {
  const { instance, epoch, seq, began, seen, restarted, salt, rows } = batch;
  const [row] = await sql.query<{ outcome: BatchOutcome }>(
    'SELECT version_gateway.write_batch_1($1, $2, $3, $4, $5, $6, $7, $8) AS outcome',
    [instance, epoch, seq, began, seen, restarted ?? null, salt, rows],
  );
  return row?.outcome ?? 'applied';
}
