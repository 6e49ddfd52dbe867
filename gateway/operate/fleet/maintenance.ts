import type { NameLimits } from '../../usage/ledger/nameLimits.ts';
import { dayMs, hoursKeptMs, msPerSpan, type SpanLength, spanAt } from '../../usage/ledger/spans.ts';
import { type LedgerSettings, nameLimitsOf } from '../../usage/ledger/writableLedger.ts';
import { otherClients, otherRoute } from '../../usage/usageRow.ts';
import { type Folding, foldNames } from './folding.ts';
import { deleteFormerGateways } from './membership.ts';
import { type Sql, StoreError, type Transactions } from './postgres.ts';
import { namesLock, partitionSizes, schemaName, setMeta, sumTables } from './schema.ts';

// One gateway at a time maintains the store.
const maintenanceLock = 0x56474d54;
// Partitions exist this long before their first row.
const aheadMs = 40 * dayMs;
// The longest wait for a query that reads a table which is to be dropped or sorted. If it takes longer, a later run tries again.
const lockTimeout = '2s';
// The longest wait for a gateway that adds batches.
const namesLockTimeout = '20s';
// When a partition ended this long ago, hardly any new rows arrive in it.
const sortedAfterMs = 2 * dayMs;
// A partition cannot be read or written while it is sorted. Sorting a partition of this size takes a few seconds.
const largestSortedBytes = 256 * 2 ** 20;
const maxSortedPerRun = 12;

/**
 * Creates partitions ahead, limits the number of clients and routes of yesterday and today, deletes what is older than the
 * retention, and sorts the rows of earlier months. Every gateway calls it hourly; the call does nothing while another gateway
 * maintains the store. `now`: epoch ms.
 * @returns false if something is left to do, because another gateway does it or a query reads a table @throws StoreError
 */
export async function maintainStore(store: Transactions, now: number, settings: LedgerSettings): Promise<boolean> {
  const createPartitions = `SELECT ${schemaName}.create_partitions($1, $2)`;
  const stepResults = [
    await asMaintainer(store, (sql) => sql.query(createPartitions, [now - dayMs, now + aheadMs])),
    await asMaintainer(store, (sql) => foldExcess(sql, now, nameLimitsOf(settings))),
    await asMaintainer(store, (sql) => deleteFormerGateways(sql, settings.retention)),
    await falseIfLocked(asMaintainer(store, (sql) => deleteOld(sql, now, settings.retention))),
    await sortPartitions(store, now),
    await analyze(store, now),
  ];
  return stepResults.every(Boolean);
}

/** @returns the result of `work`, or false if a long query reads a table that `work` has to lock @throws StoreError */
async function falseIfLocked(work: Promise<boolean>): Promise<boolean> {
  return work.catch((error: unknown) => {
    // 55P03: lock_not_available.
    if (error instanceof StoreError && error.code === '55P03') return false;
    throw error;
  });
}

/** Runs `work` in a transaction. @returns false if another gateway maintains the store */
async function asMaintainer(store: Transactions, work: (sql: Sql) => Promise<unknown>): Promise<boolean> {
  return store.transaction(async (sql) => {
    const [row] = await sql.query<{ free: boolean }>(`SELECT pg_try_advisory_xact_lock(${maintenanceLock}) AS free`);
    if (row?.free !== true) return false;
    await work(sql);
    return true;
  });
}

async function foldExcess(sql: Sql, now: number, limits: NameLimits): Promise<void> {
  const subjects = [
    { subject: 'client', others: otherClients, keep: limits.client },
    { subject: 'route', others: otherRoute, keep: limits.route },
  ] as const;
  for (const { subject, others, keep } of subjects) {
    const today = spanAt('day', now);
    const mostNames = keep + 1; // `keep` names, and the name `others`.
    const crowdedDays = await sql.query<Pick<Folding, 'version' | 'day'>>(
      `SELECT version, span AS day FROM ${schemaName}.${subject}_day WHERE span BETWEEN $1 AND $2
        GROUP BY version, span HAVING COUNT(*) > $3`,
      [today - 1, today, mostNames],
    );
    if (crowdedDays.length === 0) continue;
    // This lock keeps gateways from adding a batch at the same time: folding could delete names that the batch uses.
    await sql.query(`SELECT pg_advisory_xact_lock(${namesLock})`);
    for (const { version, day } of crowdedDays) await foldNames(sql, { subject, others, keep, version, day });
  }
}

/** Deletes what is older than the retention. It has work to do once a day. */
async function deleteOld(sql: Sql, now: number, retention: number): Promise<void> {
  const meta = await readMeta(sql);
  // Sums by hour are deleted if they are older than this. Only those of whole versions are kept as long as sums by day.
  const hoursFrom = spanAt('day', now - hoursKeptMs) * dayMs;
  // A longer retention does not bring back what was deleted.
  const keptFrom = Math.max(spanAt('day', now - retention) * dayMs, meta.get('kept_from') ?? 0);
  if (meta.get('hours_from') === hoursFrom && meta.get('kept_from') === keptFrom) return;
  await sql.query(`SET LOCAL lock_timeout = '${namesLockTimeout}'`);
  // Taken before the tables are locked: a gateway that adds batches holds it while it waits for the tables.
  await sql.query(`SELECT ${schemaName}.lock_names_1()`);
  await sql.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
  for (const { name, spanLength } of sumTables) {
    const isDeletedEarly = spanLength === 'hour' && !name.startsWith('version');
    await dropPartitions(sql, name, spanLength, isDeletedEarly ? Math.max(hoursFrom, keptFrom) : keptFrom);
  }
  const day = spanAt('day', keptFrom);
  for (const table of ['version_day_instance', 'sizes'])
    await sql.query(`DELETE FROM ${schemaName}.${table} WHERE span < $1`, [day]);
  for (const usageTable of ['version_client', 'route_client', 'brownout_client'])
    await sql.query(`DELETE FROM ${schemaName}.${usageTable} WHERE last < $1`, [keptFrom]);
  await sql.query(`DELETE FROM ${schemaName}.brownouts WHERE at < $1`, [keptFrom]);
  for (const [nameTable, usageTable, column] of [
    ['clients', 'version_client', 'client'],
    ['routes', 'route_client', 'route'],
    ['versions', 'version_client', 'version'],
  ]) {
    await sql.query(
      `DELETE FROM ${schemaName}.${nameTable} WHERE id NOT IN (SELECT ${column} FROM ${schemaName}.${usageTable})`,
    );
  }
  // If the clock of a run was wrong, `seen` is wrong, too.
  await sql.query(`DELETE FROM ${schemaName}.runs WHERE GREATEST(seen, ended) < $1`, [keptFrom]);
  await sql.query(`DELETE FROM ${schemaName}.lost_counts WHERE ended < $1`, [keptFrom]);
  // A gateway may send batches after an absence longer than the retention, so the number of its last batch is kept twice as long.
  await sql.query(`DELETE FROM ${schemaName}.writers WHERE at < now() - $1::float8 * interval '1 ms'`, [2 * retention]);
  await setMeta(sql, 'hours_from', String(hoursFrom));
  await setMeta(sql, 'kept_from', String(keptFrom));
}

/** The table `meta`: key → value as a number. A value that is text, such as the salt, becomes NaN. */
async function readMeta(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const meta = await sql.query<{ key: string; value: string }>(`SELECT key, value FROM ${schemaName}.meta`);
  return new Map(meta.map(({ key, value }) => [key, Number(value)]));
}

/**
 * Runs ANALYZE once a day, and after partitions were sorted. Autovacuum analyzes partitions, but not the tables that they belong to.
 * @returns false if another gateway maintains the store
 */
async function analyze(store: Transactions, now: number): Promise<boolean> {
  const today = spanAt('day', now);
  let isDue = false;
  const isMaintainer = await asMaintainer(store, async (sql) => {
    isDue = (await readMeta(sql)).get('analyzed') !== today;
  });
  if (!isDue) return isMaintainer;
  // Each table has a transaction of its own, because a new partition has to wait until the transaction ends.
  for (const { name } of sumTables)
    if (!(await asMaintainer(store, (sql) => sql.query(`ANALYZE ${schemaName}.${name}`)))) return false;
  return asMaintainer(store, (sql) => setMeta(sql, 'analyzed', String(today)));
}

/**
 * Sorts, by primary key, the rows of partitions whose time is over, each partition once. PostgreSQL stores rows in the order in
 * which they were written. So the rows of one version are spread over all pages, and a query on a version would read most pages.
 * @returns false if partitions are left: there are too many for one run, another gateway maintains the store, or a query reads
 * one of them
 */
async function sortPartitions(store: Transactions, now: number): Promise<boolean> {
  let unsorted: UnsortedPartition[] = [];
  const isMaintainer = await asMaintainer(store, async (sql) => {
    unsorted = await unsortedPartitions(sql, now);
  });
  for (const { name, key } of unsorted.slice(0, maxSortedPerRun)) {
    const sorting = asMaintainer(store, async (sql) => {
      await sql.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
      await sql.query(`CLUSTER ${schemaName}.${name} USING ${key}`);
      await setMeta(sql, 'analyzed', '0');
    }).catch((error: unknown) => {
      // 42P01: undefined_table. Another gateway has dropped the partition since the list was read.
      if (error instanceof StoreError && error.code === '42P01') return true;
      throw error;
    });
    // The query that reads this partition is probably a backup, which reads all partitions. To wait for each of them would delay the
    // gateways.
    if (!(await falseIfLocked(sorting))) return false;
  }
  return isMaintainer && unsorted.length <= maxSortedPerRun;
}

interface UnsortedPartition {
  readonly name: string;
  /** The name of the index of the primary key. */
  readonly key: string;
}

async function unsortedPartitions(sql: Sql, now: number): Promise<UnsortedPartition[]> {
  const unsorted: UnsortedPartition[] = [];
  for (const { name, spanLength } of sumTables) {
    // Tables of hours are small: all but that of whole versions are deleted after a few days.
    if (spanLength === 'hour') continue;
    const rows = await sql.query<UnsortedPartition>(
      `SELECT part.relname AS name, key.relname AS key FROM pg_inherits
        JOIN pg_class AS part ON part.oid = inhrelid JOIN pg_index ON indrelid = inhrelid AND indisprimary
        JOIN pg_class AS key ON key.oid = indexrelid
        WHERE inhparent = '${schemaName}.${name}'::regclass AND NOT indisclustered
          AND pg_relation_size(inhrelid) BETWEEN 1 AND ${largestSortedBytes}`,
    );
    unsorted.push(...rows.filter((row) => endOfPartition(row.name, spanLength) <= now - sortedAfterMs));
  }
  return unsorted;
}

/** The end of a partition, epoch ms. Its name ends with its number. */
function endOfPartition(partition: string, spanLength: SpanLength): number {
  return (
    (Number(partition.slice(partition.lastIndexOf('_p') + 2)) + 1) * partitionSizes[spanLength] * msPerSpan[spanLength]
  );
}

/** Drops the partitions that end at `instant` or earlier, epoch ms. */
async function dropPartitions(sql: Sql, table: string, spanLength: SpanLength, instant: number): Promise<void> {
  const partitions = await sql.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = '${schemaName}.${table}'::regclass`,
  );
  for (const { name } of partitions) {
    if (endOfPartition(name, spanLength) <= instant) await sql.query(`DROP TABLE ${schemaName}.${name}`);
  }
}
