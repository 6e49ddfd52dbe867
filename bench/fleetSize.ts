// node bench/fleetSize.ts [BATCHES]: what the counts of a fleet cost in PostgreSQL, with 500 clients that call 20 routes of two versions
// through every gateway, and 2,000 pairs of client and route in each batch. For fleets of 1 to 100 gateways, it writes BATCHES (default
// 160) batches as such a fleet does, and prints the CPU time and the write-ahead log per row. It adds queued batches after as
// many as such a fleet queues in two seconds, so the figures of the log do not depend on the speed of the machine. Then it prints the rows
// and bytes of each table, and what else the log contains after a checkpoint.
import { randomUUID } from 'node:crypto';
import { Postgres, type Sql } from '../gateway/operate/fleet/postgres.ts';
import { addAllQueued } from '../gateway/operate/fleet/queuedBatches.ts';
import { migrate, schemaName } from '../gateway/operate/fleet/schema.ts';
import { writeBatch } from '../gateway/operate/fleet/shipper.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { randomBatch } from './support/batches.ts';
import { cpuSecondsWithEnded } from './support/proc.ts';

const [batches = '160'] = process.argv.slice(2);
const secondsPerBatch = 5;
// A queued batch is added after about this time.
const queuedSeconds = 2;
const checkpointSeconds = 300;
const queryTimeoutMs = 600_000;

const server = await startPostgres();
try {
  for (const gateways of [1, 3, 10, 100]) await measure(gateways);
} finally {
  await server.stop();
}

async function measure(gateways: number): Promise<void> {
  const sql = await Postgres.open(
    { store: await server.database(), passwordFile: undefined },
    { connections: 1, queryTimeoutMs },
  );
  await migrate(sql);
  // Fewer batches arrive one at a time, and are added at once.
  const group = Math.max(1, Math.round((gateways / secondsPerBatch) * queuedSeconds));
  const instances = Array.from({ length: gateways }, () => ({ instance: randomUUID(), seq: 0 }));
  let next = 0;
  const write = async (count: number): Promise<number> => {
    let rows = 0;
    for (let number = 1; number <= count; number += 1) {
      const gateway = instances[next++ % gateways] as (typeof instances)[number];
      gateway.seq += 1;
      const batch = randomBatch(0);
      const now = Date.now();
      const run = { ...gateway, epoch: 1, began: now, seen: now, restarted: undefined, salt: 'salt' };
      // The store takes a gateway for the only one that writes if no other one has just written.
      if (group === 1) await sql.query(`UPDATE ${schemaName}.writers SET at = at - interval '1 minute'`);
      await writeBatch(sql, { ...run, rows: batch.text });
      if (number % group === 0) await addAllQueued(sql);
      rows += batch.rows;
    }
    await addAllQueued(sql);
    return rows;
  };
  // Nearly all pairs are stored then, as during a day.
  await write(Math.max(40, group));
  const [cpu, wal] = [cpuSecondsWithEnded(server.pid), await walBytes(sql)];
  const rows = await write(Number(batches));
  const walPerRow = ((await walBytes(sql)) - wal) / rows;
  const cpuPerRow = (cpuSecondsWithEnded(server.pid) - cpu) / rows;
  await sql.query('CHECKPOINT');
  const afterCheckpoint = await walBytes(sql);
  const laterRows = await write(Math.max(60, group));
  const pages = (await walBytes(sql)) - afterCheckpoint - laterRows * walPerRow;

  const rowsPerSecond = (rows / Number(batches)) * (gateways / secondsPerBatch);
  const walPerSecond = rowsPerSecond * walPerRow + pages / checkpointSeconds;
  console.log(
    `${gateways} gateways, ${rowsPerSecond.toFixed(0)} rows/s, ${group} batches added at once: ${(cpuPerRow * 1e6).toFixed(1)} us CPU per row,`,
    `${(cpuPerRow * rowsPerSecond * 100).toFixed(0)} % of a core; ${walPerRow.toFixed(0)} bytes of WAL per row and ${megabytes(pages)} after a checkpoint;`,
    `with a checkpoint every 5 minutes ${(walPerSecond / rowsPerSecond).toFixed(0)} bytes per row, ${megabytes(walPerSecond * 86_400)} a day`,
  );
  if (gateways === 100) await printTables(sql);
  await sql.close();
}

async function printTables(sql: Sql): Promise<void> {
  const tables = await sql.query<{ name: string; rows: number; heap: number; indexes: number }>(
    `SELECT COALESCE(parent.relname, c.relname) AS name, SUM(n_live_tup) AS rows, SUM(pg_table_size(c.oid)) AS heap,
        SUM(pg_indexes_size(c.oid)) AS indexes
      FROM pg_class AS c JOIN pg_stat_user_tables AS s ON s.relid = c.oid
        LEFT JOIN pg_inherits ON inhrelid = c.oid LEFT JOIN pg_class AS parent ON parent.oid = inhparent
      WHERE schemaname = '${schemaName}' AND c.relkind = 'r' GROUP BY 1 HAVING SUM(n_live_tup) > 100 ORDER BY 3 DESC`,
  );
  for (const { name, rows, heap, indexes } of tables)
    console.log(
      `  ${name.padEnd(14)} ${String(rows).padStart(6)} rows of ${(heap / rows).toFixed(0)} + ${(indexes / rows).toFixed(0)} bytes (table + index)`,
    );
}

async function walBytes(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ bytes: number }>("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes");
  return Number(row?.bytes);
}

function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
