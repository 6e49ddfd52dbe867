// node bench/fleetQueries.ts [STORE]: measures the queries of the dashboard on the shared ledger of a fleet in PostgreSQL, with
// a SYNTHETIC year of history, 20 versions with 5,000 clients each. STORE is the postgres:// URL of an empty database, or of one
// that an earlier run has filled. Without STORE, a PostgreSQL server (64 MiB of shared buffers) is started for this run, and
// removed at its end. The queries are measured twice: with the rows in the order in which the gateways wrote them, and after the
// maintenance has sorted them. The CPU time of PostgreSQL is only measured if the server runs on this host.
import { randomUUID } from 'node:crypto';
import { snapshotFrom } from '../gateway/config/load.ts';
import { FleetLedger } from '../gateway/operate/fleet/ledger.ts';
import { maintainStore } from '../gateway/operate/fleet/maintenance.ts';
import { Postgres, type Sql } from '../gateway/operate/fleet/postgres.ts';
import { migrate, schemaName, sumTables } from '../gateway/operate/fleet/schema.ts';
import { LedgerReader } from '../gateway/usage/ledger/reader.ts';
import { msPerSpan } from '../gateway/usage/ledger/spans.ts';
import type { Grouping } from '../gateway/usage/report/usagePage.ts';
import { usageReport } from '../gateway/usage/report/usageReport.ts';
import { gatherFacts } from '../gateway/versions/retirement/facts.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { mainThreadSeconds } from './support/proc.ts';

const [versions, clients, routes, days] = [20, 5_000, 40, 365];
const hourMs = msPerSpan.hour;
const dayMs = msPerSpan.day;
const now = Date.now();
const today = Math.floor(now / dayMs);
const targetMs = 200;

const [givenStore] = process.argv.slice(2);
const server = givenStore === undefined ? await startPostgres() : undefined;
const store = givenStore ?? (await server?.database()) ?? '';
const postgres = await Postgres.open({ store, passwordFile: undefined }, { queryTimeoutMs: 900_000 });
try {
  await migrate(postgres);
  if ((await rowsIn(postgres, 'version_day')) === 0) {
    await fill();
    await measure('As written');
  }
  const start = performance.now();
  // Each call sorts only some of the partitions.
  for (let count = 0; count < 10; count++)
    await maintainStore(postgres, now, { store, retention: 400 * dayMs, maxClients: 10_000, maxRoutes: 1_000 });
  console.log(`maintained in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  await measure('After the maintenance');
} finally {
  await postgres.close();
  await server?.stop();
}

/**
 * Like bench/ledger.ts: 5 % of the clients call daily, 15 % on 30 % of the days, the others on 3 %. On such a day, a client calls in
 * one hour. On the last nine days, which alone have rows by hour, it calls in up to six hours a day.
 */
async function fill(): Promise<void> {
  const start = performance.now();
  await postgres.transaction(async (sql) => {
    await sql.query(`SET LOCAL search_path TO ${schemaName}; SELECT setseed(0.42)`);
    await sql.query(`INSERT INTO versions (name) SELECT 'v' || n FROM generate_series(1, ${versions}) AS n`);
    await sql.query(
      `INSERT INTO clients (name) SELECT 'x-api-key:#' || md5(n::text) FROM generate_series(1, ${clients}) AS n`,
    );
    await sql.query(
      `INSERT INTO routes (name) SELECT 'GET /resources' || n || '/{id}' FROM generate_series(1, ${routes}) AS n`,
    );
    await sql.query('SELECT create_partitions($1, $2)', [(today - days) * dayMs, (today + 1) * dayMs]);
    await sql.query(`CREATE TEMPORARY TABLE events ON COMMIT DROP AS
      SELECT version, client, 1 + floor(random() ^ 2 * ${routes})::integer AS route, day * 24 + floor(random() * 24)::integer AS hour,
        1 + floor(random() ^ 4 * 5000)::bigint AS requests
      FROM generate_series(1, ${versions}) AS version, generate_series(${today - days + 1}, ${today}) AS day,
        generate_series(1, ${clients}) AS client,
        generate_series(1, CASE WHEN ${today} - day < 9 THEN 6 ELSE 1 END) AS nth
      -- The condition names every row source, so that it is evaluated for each combination of them.
      WHERE random() + 0 * (version + day + nth) < CASE WHEN client < ${clients * 0.05} THEN 1 WHEN client < ${clients * 0.2} THEN 0.3 ELSE 0.03 END`);
    for (const { name, spanLength, keys, counts } of sumTables) {
      const subject = name.slice(0, name.indexOf('_'));
      const itemColumns = subject === 'pair' ? ['client', 'route'] : subject === 'version' ? [] : [subject];
      // The tables of versions have only the item 0.
      const items = subject === 'version' ? ['0'] : itemColumns;
      const hoursPerSpan = msPerSpan[spanLength] / hourMs;
      const group = ['version', `hour / ${hoursPerSpan}`, ...itemColumns].join(', ');
      const msInSpan = `(hour % ${hoursPerSpan})::bigint * ${hourMs}`;
      const sums = counts.map((count) =>
        count === 'requests' || count === 'served' ? 'SUM(requests)' : 'SUM(requests / 50)',
      );
      const recent = spanLength === 'hour' && subject !== 'version' ? `WHERE hour >= ${(today - 8) * 24}` : '';
      await sql.query(`INSERT INTO ${name} (version, span, ${keys.join(', ')}, ${counts.join(', ')}, first, last)
        SELECT version, hour / ${hoursPerSpan}, ${items.join(', ')}, ${sums.join(', ')}, MIN(${msInSpan}) + 1000, MAX(${msInSpan}) + 3000000
        FROM events ${recent} GROUP BY ${group} ORDER BY 2, MIN(hour), 1, 3`);
    }
    const times = `MIN(hour) * ${hourMs}::bigint + 1000, MAX(hour) * ${hourMs}::bigint + 3000000`;
    const last = `MAX(hour) * ${hourMs}::bigint + 3000000`;
    await sql.query(`INSERT INTO version_client SELECT version, client, ${times}, ${last} FROM events GROUP BY 1, 2`);
    await sql.query(`INSERT INTO route_client SELECT version, route, client, ${last} FROM events GROUP BY 1, 2, 3`);
    await sql.query("INSERT INTO meta VALUES ('hours_from', $1)", [String((today - 8) * dayMs)]);
    await sql.query('INSERT INTO runs VALUES ($1, 1, $2, $3)', [randomUUID(), (today - days) * dayMs, now]);
  });
  // As autovacuum does: vacuums the partitions, but not the partitioned tables.
  const tables = await postgres.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables JOIN pg_class ON oid = format('%I.%I', schemaname, tablename)::regclass
      WHERE schemaname = '${schemaName}' AND relkind = 'r'`,
  );
  for (const { name } of tables) await postgres.query(`VACUUM ANALYZE ${name}`);
  console.log(`SYNTHETIC history written in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

async function measure(title: string): Promise<void> {
  const reader = new LedgerReader(await FleetLedger.open({ store, passwordFile: undefined }));
  const [stored] = await postgres.query<{ rows: number; size: number }>(
    `SELECT (SELECT COUNT(*) FROM ${schemaName}.client_day) AS rows, pg_database_size(current_database()) AS size`,
  );
  console.log(
    `${title}: ${days} days, ${versions} versions × ${clients} clients: ${stored?.rows} rows by client and day, ${(Number(stored?.size) / 2 ** 20).toFixed(0)} MiB in all`,
  );
  const upstream = 'http://127.0.0.1:1';
  const routesOf = Object.fromEntries(Array.from({ length: versions }, (_one, n) => [`/v${n + 1}`, upstream]));
  const snapshot = snapshotFrom({
    routes: { ...routesOf, '/v7': { upstream, deprecation: '2026-01-01', sunset: '2027-12-31' } },
  });
  const servingReport = { versions: [], workers: [] };
  const usage = (by: Grouping, period: number, version?: string) => () =>
    usageReport(reader, { by, version, since: now - period, until: now, step: 'day', successor: () => 'v8' });
  const verdict = (quiet: number) => () =>
    gatherFacts({ name: 'v7' }, { snapshot, queries: reader, report: servingReport }, quiet, now);
  await printTime('verdict, quiet for 7 days', verdict(7 * dayMs));
  await printTime('verdict, quiet for 90 days', verdict(90 * dayMs));
  await printTime('overview, 30 days', usage('version', 30 * dayMs));
  await printTime('overview, 365 days', usage('version', 365 * dayMs));
  await printTime('by client, 30 days', usage('client', 30 * dayMs, 'v7'));
  await printTime('by client, 365 days', usage('client', 365 * dayMs, 'v7'));
  await printTime('by route, 365 days', usage('route', 365 * dayMs, 'v7'));
  await printTime('by migration, 365 days', usage('migration', 365 * dayMs, 'v7'));
  await printTime('by day, 365 days', usage('day', 365 * dayMs));
  if (reader.problem !== undefined) console.log(reader.problem);
  await reader.close();

  /** Prints the times of eight runs: the first, then the median and the shortest of the others with PostgreSQL's mean CPU time. */
  async function printTime(name: string, query: () => Promise<unknown>): Promise<void> {
    const firstStart = performance.now();
    await reader.readConsistently(query);
    const first = performance.now() - firstStart;
    const before = await cpuMs();
    const times: number[] = [];
    for (let round = 0; round < 7; round++) {
      const start = performance.now();
      await reader.readConsistently(query);
      times.push(performance.now() - start);
    }
    const cpu = ((await cpuMs()) - before) / times.length;
    const [best = 0, , , median = 0] = times.sort((a, b) => a - b);
    const warning = median < targetMs ? '' : `  above ${targetMs} ms`;
    console.log(
      `  ${name.padEnd(28)} ${median.toFixed(0).padStart(6)} ms  (first ${first.toFixed(0)}, best ${best.toFixed(0)}, PostgreSQL CPU ${cpu.toFixed(0)})${warning}`,
    );
  }
}

/**
 * The CPU time of the processes of all open connections to the database. Parallel workers of a statement are not included, but the
 * reader uses none.
 */
async function cpuMs(): Promise<number> {
  const processes = await postgres.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'",
  );
  return processes.reduce((sum, { pid }) => sum + mainThreadSeconds(pid) * 1000, 0);
}

async function rowsIn(sql: Sql, table: string): Promise<number> {
  const [row] = await sql.query<{ rows: number }>(`SELECT COUNT(*) AS rows FROM ${schemaName}.${table}`);
  return row?.rows ?? 0;
}
