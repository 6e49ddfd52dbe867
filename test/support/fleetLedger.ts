import { DatabaseSync } from 'node:sqlite';
import { afterAll, onTestFinished } from 'vitest';
import { FleetLedger } from '../../gateway/operate/fleet/ledger.ts';
import type { Transactions } from '../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../gateway/operate/fleet/schema.ts';
import type { LedgerDatabase } from '../../gateway/usage/ledger/database.ts';
import type { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';
import { msPerSpan } from '../../gateway/usage/ledger/spans.ts';
import { startStore } from './postgres.ts';
import { readLedger } from './readLedger.ts';

/** The gateway that counted all requests of a copied ledger. */
export const instance = '00000000-0000-4000-8000-000000000001';

type Rows = readonly Record<string, unknown>[];

/** For a suite that runs on each database: a reader of the rows that `ledger` has at this moment, closed after the test. */
export const readersOn: readonly (readonly [database: string, () => (ledger: Ledger) => LedgerReader])[] = [
  ['SQLite', () => readLedger],
  ['PostgreSQL', readerOfCopies],
];

/** Must be called while a suite is defined. All copies are made in one database, one after the other. */
function readerOfCopies(): (ledger: Ledger) => LedgerReader {
  let opened: ReturnType<typeof openStore> | undefined;
  afterAll(async () => {
    const { started, ledger } = (await opened) ?? {};
    await ledger?.close();
    await started?.close();
  });
  return ({ settings: { store: file, names } }) => {
    const tables = tablesIn(file);
    opened ??= openStore();
    const copied = opened.then(async ({ started, ledger }) => {
      await copyTo(started.sql, tables);
      return ledger;
    });
    const reader = new LedgerReader(onceReady(copied));
    reader.readClientNames(names);
    onTestFinished(() => reader.close());
    return reader;
  };
}

/** A store, and a connection that reads it. PostgreSQL starts a process for each connection, so all tests share this one. */
async function openStore() {
  const started = await startStore();
  return { started, ledger: await FleetLedger.open({ store: started.store, passwordFile: undefined }) };
}

/** The ledger stays open for the next reader. */
function onceReady(ledger: Promise<FleetLedger>): LedgerDatabase {
  return {
    inListSql: '= ANY (?)',
    isCurrent: true,
    isShared: true,
    schemaVersion: async () => (await ledger).schemaVersion(),
    all: async (sql, values) => (await ledger).all(sql, values),
    begin: async () => (await ledger).begin(),
    end: async () => (await ledger).end(),
    problemOf: String,
    close: async () => void (await ledger),
  };
}

/** The rows of a ledger file by table, without the tables that a store does not have. */
export function tablesIn(file: string): ReadonlyMap<string, Rows> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const names = tables
      .map(({ name }) => String(name))
      .filter((name) => !/^(?:sqlite_|outbox|evidence|losses|counted)/.test(name));
    const copied = names.map((name) => [name, database.prepare(`SELECT * FROM ${name}`).all()] as const);
    return new Map<string, Rows>([...copied, ['lost_counts', database.prepare('SELECT * FROM losses').all()]]);
  } finally {
    database.close();
  }
}

/** Replaces the rows of a store by those of a ledger file, as if one gateway had counted them. */
export async function copyTo(store: Transactions, tables: ReadonlyMap<string, Rows>): Promise<void> {
  await store.transaction(async (sql) => {
    const names = [...tables.keys()].filter((name) => name !== 'meta');
    await sql.query(`SET LOCAL search_path TO ${schemaName}`);
    // Not TRUNCATE: it makes new files for every table, index and partition, in many times the CPU time.
    const emptied = [...names, 'gateways', 'version_day_instance'].map((name) => `DELETE FROM ${name};`).join(' ');
    await sql.query(`${emptied} DELETE FROM meta WHERE key NOT IN ('version', 'compatible')`);
    const hours = (tables.get('version_hour') ?? []).map(({ span }) => Number(span) * msPerSpan.hour);
    if (hours.length > 0) {
      const range = [Math.min(...hours) - msPerSpan.block, Math.max(...hours) + msPerSpan.block];
      await sql.query('SELECT create_partitions($1, $2)', range);
    }
    for (const [name, rows] of tables) {
      const copied = name === 'runs' ? rows.map(({ id, ...run }) => ({ instance, epoch: id, ...run })) : rows;
      await insert(name, name === 'meta' ? copied.filter(({ key }) => key !== 'mark') : copied);
    }
    await sql.query(`INSERT INTO version_day_instance
      SELECT version, span, '${instance}', requests, errors, served, failing, refused FROM version_day`);
    await sql.query(`INSERT INTO gateways (instance, epoch, name, release, addresses, versions, config, ready, spooled, skew_ms)
      VALUES ('${instance}', 1, 'gw-1', '1.0.0', '{}', '{}', '', true, 0, 0)`);

    async function insert(table: string, rows: Rows): Promise<void> {
      const [first] = rows;
      if (first === undefined) return;
      const columns = Object.keys(first).join(', ');
      await sql.query(
        `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
          SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`,
        [JSON.stringify(rows)],
      );
    }
  });
}
