import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, row } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

// What a ledger of a release before the tables of losses and of sizes lacks.
const dropLosses = `DROP TABLE losses; DROP TABLE counted; DROP TABLE sizes; ALTER TABLE runs DROP COLUMN closed;
  ALTER TABLE outbox DROP COLUMN losses`;

/** A ledger of an earlier release: one client, 7 requests to two routes a day ago. */
function earlierLedger(): string {
  const store = join(temporaryFolder(), 'usage.db');
  const database = new DatabaseSync(store);
  database.exec(readFileSync(new URL('ledger-1.sql', import.meta.url), 'utf8'));
  const at = noon - dayMs;
  database.exec(`INSERT INTO meta VALUES ('salt', 'the old salt'); INSERT INTO runs VALUES (1, ${at}, ${noon});
    INSERT INTO versions VALUES (1, 'v1'); INSERT INTO clients VALUES (1, 'x-client-id:shop');
    INSERT INTO routes VALUES (1, 'GET /a'), (2, 'GET /b');
    INSERT INTO version_client VALUES (1, 1, ${at}, ${at});
    INSERT INTO route_client VALUES (1, 1, 1, ${at}), (1, 2, 1, ${at});`);
  for (const [length, ms] of [
    ['hour', hourMs],
    ['day', dayMs],
    ['block', 30 * dayMs],
  ] as const) {
    const rest = `7, 1, 6, ${at % ms}, ${at % ms}`;
    database.exec(`INSERT INTO version_${length} VALUES (1, ${Math.floor(at / ms)}, 0, ${rest});
      INSERT INTO client_${length} VALUES (1, ${Math.floor(at / ms)}, 1, ${rest});
      INSERT INTO route_${length} VALUES (1, ${Math.floor(at / ms)}, 1, ${rest});`);
  }
  database.close();
  return store;
}

it('migrates the ledger of an earlier release and adds to it', async () => {
  const store = earlierLedger();
  const { ledger, notices } = openLedger({ store });
  expect([ledger.problem, ledger.salt, notices]).toEqual([undefined, 'the old salt', []]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([
    { client: 'x-client-id:shop', requests: 7, routes: 2, topRoutes: [] },
  ]);
  ledger.add([row({ route: 'GET /a', requests: 3 })]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([
    { requests: 10, routes: 2, topRoutes: [{ route: 'GET /a', requests: 3, last: noon }] },
  ]);
  ledger.close();
  // A second start does not migrate again.
  const { ledger: again } = openLedger({ store });
  expect(await readLedger(again).byClient('v1', 0)).toMatchObject([{ requests: 10, topRoutes: [{ requests: 3 }] }]);
  expect(again.problem).toBeUndefined();
});

it('treats all requests of an earlier release as use, because it did not record failures', async () => {
  const store = earlierLedger();
  const { ledger } = openLedger({ store });
  const at = noon - dayMs;
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([
    { errors: 1, failing: 0, refused: 0, lastUsed: at },
  ]);
  expect(await readLedger(ledger).lastUsed()).toEqual(new Map([['v1', at]]));
  ledger.add([row({ requests: 4, failing: 4, used: 0, client: 'scanner' }), row({ requests: 2, refused: 2 })]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([
    { requests: 9, failing: 0, refused: 2, lastUsed: noon },
    { client: 'scanner', requests: 4, failing: 4, lastUsed: undefined },
  ]);
  expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 13, failing: 4, refused: 2 }]);
  expect(await readLedger(ledger).lastUsed(({ client }) => client === 'x-client-id:shop')).toEqual(new Map());
});

it('adds the outcomes of clients per route, and counts all earlier requests as use', () => {
  const store = join(temporaryFolder(), 'usage.db');
  openLedger({ store }).ledger.add([row({ first: noon - 60_000, requests: 5, failing: 5, used: 0, accepted: 0 })]);
  const database = new DatabaseSync(store);
  // The ledger as the release before it has written it.
  for (const table of ['pair_hour', 'pair_day'])
    for (const column of ['served', 'failing', 'refused']) database.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  for (const column of ['first', 'used']) database.exec(`ALTER TABLE route_client DROP COLUMN ${column}`);
  for (const table of ['version_client', 'outbox_rows']) database.exec(`ALTER TABLE ${table} DROP COLUMN accepted`);
  for (const column of ['body', 'target', 'head']) database.exec(`ALTER TABLE outbox_rows DROP COLUMN ${column}`);
  database.exec('DROP TABLE brownout_client; DROP TABLE brownouts; DROP TABLE evidence; PRAGMA user_version = 4');
  database.exec(dropLosses);
  const seen = 'SELECT first, last, used FROM route_client JOIN clients ON id = client ORDER BY name';
  const { ledger } = openLedger({ store });
  expect(ledger.problem).toBeUndefined();
  expect(database.prepare(seen).all()).toEqual([{ first: null, last: noon - 60_000, used: null }]);
  const later = { requests: 2, failing: 2, used: 0 };
  ledger.add([row(later), row({ ...later, client: 'new' })]);
  expect(database.prepare('SELECT requests, failing FROM pair_day ORDER BY client').all()).toEqual([
    { requests: 7, failing: 2 },
    { requests: 2, failing: 2 },
  ]);
  // The earlier requests may all have succeeded.
  expect(database.prepare(seen).all()).toEqual([
    { first: noon, last: noon, used: 0 },
    { first: null, last: noon, used: noon - 60_000 },
  ]);
  database.close();
});

it('keeps the rows that wait for the shared store when their key gets the brownout', () => {
  const store = join(temporaryFolder(), 'usage.db');
  const spool = 64 * 1024 * 1024;
  const before = openLedger({ store, spool }).ledger;
  before.add([row()]);
  before.add([row({ client: 'other' })]);
  before.close();
  const database = new DatabaseSync(store);
  const waiting = 'SELECT client, requests FROM outbox_rows ORDER BY client';
  const rows = database.prepare(waiting).all();
  expect(rows.length).toBeGreaterThan(0);
  // The table as the release before it has created it.
  database.exec(`CREATE TABLE copy AS SELECT * FROM outbox_rows; DROP TABLE outbox_rows;
    CREATE TABLE outbox_rows (epoch INTEGER NOT NULL, seq INTEGER NOT NULL, version TEXT NOT NULL, client TEXT NOT NULL,
      route TEXT NOT NULL, hour INTEGER NOT NULL, requests INTEGER NOT NULL, errors INTEGER NOT NULL,
      served INTEGER NOT NULL, failing INTEGER NOT NULL, refused INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, used INTEGER NOT NULL, accepted INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (epoch, hour, version, client, route)) WITHOUT ROWID;
    CREATE INDEX outbox_rows_of_batch ON outbox_rows (epoch, seq);
    INSERT INTO outbox_rows SELECT epoch, seq, version, client, route, hour, requests, errors, served, failing, refused,
      first, last, used, accepted FROM copy;
    DROP TABLE copy; DROP TABLE brownout_client; DROP TABLE brownouts; DROP TABLE evidence; PRAGMA user_version = 5; ${dropLosses}`);
  const { ledger } = openLedger({ store, spool });
  expect(ledger.problem).toBeUndefined();
  expect(database.prepare(waiting).all()).toEqual(rows);
  ledger.add([row({ client: 'other', brownout: noon })]);
  expect(database.prepare('SELECT refused FROM brownout_client').all()).toEqual([{ refused: 1 }]);
  database.close();
});

it('reads the ledger of an earlier release without changing it', async () => {
  const store = earlierLedger();
  const before = readFileSync(store);
  const reader = LedgerReader.open(store);
  expect(await reader.byClient('v1', 0)).toMatchObject([
    { requests: 7, failing: 0, lastUsed: noon - dayMs, routes: 2, topRoutes: [] },
  ]);
  expect(await reader.totals(0)).toMatchObject([{ requests: 7, failing: 0, refused: 0 }]);
  expect(await reader.lastUsed()).toEqual(new Map([['v1', noon - dayMs]]));
  expect(await reader.movement('v1', 'v2', 0)).toMatchObject([{ hasUsedOld: true, from: { requests: 7 } }]);
  expect(await reader.series('day', 0)).toMatchObject([{ requests: 7, failing: 0 }]);
  expect([reader.problem, await reader.requestsOfOtherClients(0)]).toEqual([undefined, 0]);
  reader.close();
  expect(readFileSync(store).equals(before)).toBe(true);
});

it('changes nothing if the migration fails', () => {
  const store = earlierLedger();
  const other = new DatabaseSync(store);
  // The migration cannot create its second table.
  other.exec('CREATE TABLE pair_day (something)');
  const { ledger, clock } = openLedger({ store });
  ledger.add([row()]);
  expect([ledger.problem, ledger.unwrittenRows]).toEqual([expect.stringContaining('pair_day already exists'), 1]);
  expect(other.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 });
  expect(other.prepare("SELECT name FROM sqlite_schema WHERE name = 'pair_hour'").all()).toEqual([]);
  other.exec('DROP TABLE pair_day');
  other.close();
  clock.time += 60_000;
  ledger.add([]);
  expect([ledger.problem, ledger.unwrittenRows]).toEqual([undefined, 0]);
});

it('keeps what was decided about brownouts, and a brownout that is over stays so', () => {
  const store = earlierLedger();
  const { ledger } = openLedger({ store });
  const at = noon + dayMs;
  const record = { version: 'v1', at, state: 'approved', reason: null, changed: noon } as const;
  expect(ledger.brownouts).toEqual([]);
  ledger.saveBrownouts([record, { ...record, at: at + dayMs }]);
  ledger.saveBrownouts([{ ...record, state: 'stopped', reason: 'stopped by an operator', changed: noon + 1 }]);
  ledger.saveBrownouts([{ ...record, state: 'ended' }, record]);
  ledger.close();
  const { ledger: again } = openLedger({ store });
  expect(again.brownouts).toEqual([
    { ...record, state: 'stopped', reason: 'stopped by an operator', changed: noon + 1 },
    { ...record, at: at + dayMs },
  ]);
  again.maintain(at + 800 * dayMs);
  again.saveBrownouts([]);
  expect(again.brownouts).toEqual([]);
});
