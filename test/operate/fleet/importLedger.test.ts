import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importLedger } from '../../../gateway/operate/fleet/importLedger.ts';
import { FleetLedger } from '../../../gateway/operate/fleet/ledger.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { getOrSetFleetSalt, migrate } from '../../../gateway/operate/fleet/schema.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import type { BrownoutRecord } from '../../../gateway/usage/usageRow.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { coveredSince } from '../../support/readLedger.ts';

const now = Date.parse('2026-11-20T10:30:00Z');

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function emptyStore(): Promise<Postgres> {
  return Postgres.open({ store: await server.database(), passwordFile: undefined });
}

async function sums(sql: Postgres, table: string): Promise<unknown[]> {
  return sql.query(
    `SELECT clients.name, SUM(requests) AS requests FROM version_gateway.${table}
      JOIN version_gateway.clients ON clients.id = ${table.startsWith('pair') ? 'client' : 'item'}
      GROUP BY clients.name ORDER BY clients.name`,
  );
}

async function sizesSince(sql: Postgres): Promise<unknown[]> {
  return sql.query("SELECT value FROM version_gateway.meta WHERE key = 'sizes_since'");
}

describe('importLedger', () => {
  it('copies every count, and nothing when it runs again', async () => {
    const sql = await emptyStore();
    const rows = [
      row('v1', 'user-agent:curl', now - 40 * day, { requests: 3 }),
      row('v1', 'x-api-key:#0011', now, { requests: 2, body: 48, target: 10, head: 400 }),
      row('v2', 'user-agent:curl', now, { brownout: now - 1000, refused: 1 }),
    ];
    const { file } = ledgerWith(rows, now - 50 * day);
    const until = now;
    expect(await importLedger(sql, file)).toMatchObject({ kind: 'imported', requests: 6, until, foreignTags: 0 });
    expect(await importLedger(sql, file)).toMatchObject({ kind: 'unchanged' });
    const expected = [
      { name: 'user-agent:curl', requests: 4 },
      { name: 'x-api-key:#0011', requests: 2 },
    ];
    for (const table of ['client_hour', 'client_day', 'client_block', 'pair_day', 'pair_hour'])
      expect(await sums(sql, table), table).toEqual(expected);
    expect(await sql.query('SELECT brownout, refused, first FROM version_gateway.brownout_client')).toEqual([
      { brownout: now - 1000, refused: 1, first: now },
    ]);
    expect(await sql.query('SELECT MIN(began) AS began FROM version_gateway.runs')).toEqual([
      { began: now - 50 * day },
    ]);
    expect(await sql.query('SELECT body, target, head FROM version_gateway.sizes')).toEqual([
      { body: 48, target: 10, head: 400 },
    ]);
    expect(await sizesSince(sql)).toEqual([]);
    await sql.close();
  });

  it('covers only the time from which the file still has its counts, and does not read hours that the file has deleted', async () => {
    const store = await server.database();
    const sql = await Postgres.open({ store, passwordFile: undefined });
    const rows = [row('v1', 'user-agent:monthly', now - 100 * day), row('v1', 'user-agent:curl', now - 20 * day)];
    const { file, ledger, queries } = ledgerWith([...rows, row('v1', 'user-agent:curl', now)], now - 200 * day);
    ledger.configure({ store: file, retention: 30 * day });
    ledger.maintain(now);
    ledger.close();
    await importLedger(sql, file);
    const fleet = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }));
    expect(await coveredSince(queries)).toBe(Date.parse('2026-10-21T00:00:00Z'));
    expect(await coveredSince(fleet)).toBe(Date.parse('2026-10-21T00:00:00Z'));
    const since = now - 20 * day - hour;
    expect(await fleet.byClient('v1', since)).toEqual(await queries.byClient('v1', since));
    expect((await fleet.byClient('v1', since))[0]?.requests).toBe(2);
    await fleet.close();
    await sql.close();
  });

  it('copies the losses of the file, and what it cannot know after its last run', async () => {
    const store = await server.database();
    const sql = await Postgres.open({ store, passwordFile: undefined });
    const { file, ledger } = ledgerWith([row('v1', 'user-agent:curl', now)], now - 50 * day);
    const loss = { from: now - 3 * day, until: now - 2 * day, reason: 'Calls of /v1 may be missing: a worker ended.' };
    ledger.addLosses([{ version: 'v1', ...loss }], { process: 0, until: 1 });
    ledger.close();
    await importLedger(sql, file);
    const fleet = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }));
    expect(await fleet.coverage('v1')).toEqual({ since: loss.until, losses: [{ version: 'v1', ...loss }] });
    expect(await fleet.coverage('v2')).toEqual({ since: now - 50 * day, losses: [] });
    // This file is still written, or its gateway was killed.
    const open = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const before = Date.now();
    await importLedger(sql, open.file);
    const { since = 0, losses } = await fleet.coverage('v2');
    expect(since).toBeGreaterThanOrEqual(before);
    expect(losses).toMatchObject([
      {
        version: '',
        from: now,
        reason: expect.stringMatching(/^Gateway usage\.db ended without sending its last counts/),
      },
    ]);
    await fleet.close();
    await sql.close();
  });

  it('adds the counts of a second gateway, and folds its tags if its salt differs', async () => {
    const sql = await emptyStore();
    const first = ledgerWith([row('v1', 'x-api-key:#0011', now)], now - day);
    const second = ledgerWith([row('v1', 'x-api-key:#0022', now), row('v1', 'x-api-key:#0033', now)], now - day);
    await importLedger(sql, first.file);
    expect(await importLedger(sql, second.file)).toMatchObject({ kind: 'imported', requests: 2, foreignTags: 2 });
    expect(await sums(sql, 'client_block')).toEqual([
      { name: 'other clients', requests: 2 },
      { name: 'x-api-key:#0011', requests: 1 },
    ]);
    await sql.close();
  });

  it('an unknown first call of a route stays unknown, in either order of the files', async () => {
    const rows = (first: number) => [row('v1', 'user-agent:curl', now, { first })];
    const known = ledgerWith(rows(now), now - day);
    const migrated = ledgerWith(rows(now - 20 * day), now - 30 * day);
    const writer = new DatabaseSync(migrated.file);
    writer.exec('UPDATE route_client SET first = NULL');
    writer.close();
    for (const order of [
      [known, migrated],
      [migrated, known],
    ]) {
      const sql = await emptyStore();
      for (const { file } of order) await importLedger(sql, file);
      expect(await sql.query('SELECT first, last FROM version_gateway.route_client')).toEqual([
        { first: null, last: now },
      ]);
      expect(await sql.query('SELECT first FROM version_gateway.version_client')).toEqual([{ first: now - 20 * day }]);
      await sql.close();
    }
  });

  it('an unknown first call stays unknown when two clients of a file become `other clients`', async () => {
    const sql = await emptyStore();
    await migrate(sql);
    await getOrSetFleetSalt(sql, 'ours');
    const { file } = ledgerWith([row('v1', 'x-api-key:#01', now), row('v1', 'x-api-key:#02', now)], now - day);
    const writer = new DatabaseSync(file);
    writer.exec(`UPDATE route_client SET first = NULL WHERE client = (SELECT MIN(client) FROM route_client)`);
    writer.close();
    await importLedger(sql, file);
    expect(await sql.query('SELECT first FROM version_gateway.route_client')).toEqual([{ first: null }]);
    await sql.close();
  });

  it('copies what was decided about brownouts, unless the fleet has decided before', async () => {
    const sql = await emptyStore();
    const at = now - day;
    const decided: BrownoutRecord = { version: 'v1', at, state: 'approved', reason: null, changed: at - day };
    const skipped: BrownoutRecord = {
      version: 'v1',
      at: at + hour,
      state: 'skipped',
      reason: 'a client is new',
      changed: at,
    };
    const first = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    first.ledger.saveBrownouts([decided, skipped]);
    const second = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    second.ledger.saveBrownouts([{ ...decided, state: 'skipped' }]);
    for (const { file } of [first, second]) await importLedger(sql, file);
    expect(
      await sql.query('SELECT version, at, state, reason, changed FROM version_gateway.brownouts ORDER BY at'),
    ).toEqual([decided, skipped]);
    await sql.close();
  });

  it('refuses a ledger that was written after it was imported', async () => {
    const sql = await emptyStore();
    const { file, ledger } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    await importLedger(sql, file);
    const writer = new DatabaseSync(file);
    writer.exec(`UPDATE runs SET seen = ${now + day}`);
    writer.close();
    await expect(importLedger(sql, file)).rejects.toMatchObject({
      name: 'ImportError',
      message: expect.stringContaining('and has been written since.'),
    });
    expect(ledger.problem).toBeUndefined();
    await sql.close();
  });

  it('refuses the ledger of a gateway that is in a fleet, and changes nothing', async () => {
    const sql = await emptyStore();
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const writer = new DatabaseSync(file);
    writer.exec(`INSERT INTO meta VALUES ('instance', '1b4e28ba-2fa1-11d2-883f-0016d3cca427')`);
    writer.close();
    await expect(importLedger(sql, file)).rejects.toMatchObject({
      name: 'ImportError',
      message: expect.stringContaining('Import a copy from before it joined.'),
    });
    expect(await sql.query('SELECT * FROM version_gateway.version_day')).toEqual([]);
    await sql.close();
  });

  it('refuses a ledger of an earlier release that lacks a table, and names the remedy', async () => {
    const sql = await emptyStore();
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const writer = new DatabaseSync(file);
    writer.exec('DROP TABLE brownouts; PRAGMA user_version = 6');
    writer.close();
    await expect(importLedger(sql, file)).rejects.toMatchObject({
      name: 'ImportError',
      message: `${file} was written by an earlier release.  Start this release once with it, then import it.`,
    });
    await sql.close();
  });

  it('says that the sizes of requests are known only after the imported time, if an earlier release wrote the file', async () => {
    const sql = await emptyStore();
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const writer = new DatabaseSync(file);
    writer.exec('DROP TABLE sizes; PRAGMA user_version = 8');
    writer.close();
    expect(await importLedger(sql, file)).toMatchObject({ kind: 'imported', requests: 1 });
    expect(await sizesSince(sql)).toEqual([{ value: String(now) }]);
    await sql.close();
  });

  it('says why a file cannot be read', async () => {
    const sql = await emptyStore();
    await expect(importLedger(sql, '/no/such/usage.db')).rejects.toThrow(
      '/no/such/usage.db cannot be read: there is no such file.',
    );
    await sql.close();
  });

  it('blames a damaged file, not the store, and changes nothing', async () => {
    const sql = await emptyStore();
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const database = new DatabaseSync(file);
    database.exec('DROP TABLE pair_day');
    database.close();
    await expect(importLedger(sql, file)).rejects.toMatchObject({
      name: 'ImportError',
      message: expect.stringMatching(/cannot be read: .*pair_day/),
    });
    expect(await sql.query('SELECT * FROM version_gateway.imports')).toEqual([]);
    await sql.close();
  });

  it('imports two ledgers with the same usage.tag_key, and combines their clients', async () => {
    const sql = await emptyStore();
    const files = [1, 2].map((requests) =>
      ledgerWith([row('v1', 'x-api-key:#00', now, { requests })], now - day, 'a key of this test'),
    );
    for (const { file } of files)
      expect(await importLedger(sql, file)).toMatchObject({ kind: 'imported', foreignTags: 0 });
    expect(await sums(sql, 'client_day')).toEqual([{ name: 'x-api-key:#00', requests: 3 }]);
    await sql.close();
  });

  it('imports nothing twice when two imports run at once', async () => {
    const sql = await emptyStore();
    await migrate(sql);
    await getOrSetFleetSalt(sql, 'ours');
    const { file } = ledgerWith([row('v1', 'user-agent:curl', now)], now - day);
    const outcomes = await Promise.all([importLedger(sql, file), importLedger(sql, file)]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['imported', 'unchanged']);
    expect(await sums(sql, 'client_day')).toEqual([{ name: 'user-agent:curl', requests: 1 }]);
    await sql.close();
  });
});
