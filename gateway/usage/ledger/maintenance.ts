import type { DatabaseSync } from 'node:sqlite';
import { addUpSizes, subjects } from './schema.ts';
import { dayMs, hourMs, hoursKeptMs, msPerSpan, type SpanLength, spanAt } from './spans.ts';

/**
 * Deletes what is older than the retention, within the caller's transaction. Deleting hours loses nothing, because days and
 * blocks of 30 days are written together with them. Throws the errors of SQLite.
 */
export function deleteOld(database: DatabaseSync, now: number, retention: number): void {
  const hoursFrom = spanAt('day', now - hoursKeptMs) * dayMs;
  const meta = new Map(
    database
      .prepare('SELECT key, value FROM meta')
      .all()
      .map(({ key, value }) => [key, value]),
  );
  // A longer retention does not bring back what was deleted.
  const keptFrom = Math.max(spanAt('day', now - retention) * dayMs, Number(meta.get('kept_from') ?? 0));
  // Only whole days are deleted: at most one call a day has work to do.
  if (meta.get('hours_from') === hoursFrom && meta.get('kept_from') === keptFrom) return;
  for (const subject of ['client', 'route']) {
    deleteBefore(database, `${subject}_hour`, 'hour', Math.max(hoursFrom, keptFrom));
    deleteBefore(database, `${subject}_day`, 'day', keptFrom);
    deleteBefore(database, `${subject}_block`, 'block', keptFrom);
  }
  deleteBefore(database, 'pair_hour', 'hour', Math.max(hoursFrom, keptFrom));
  deleteBefore(database, 'pair_day', 'day', keptFrom);
  deleteBefore(database, 'sizes', 'day', keptFrom);
  for (const length of ['hour', 'day', 'block'] as const) deleteBefore(database, `version_${length}`, length, keptFrom);
  for (const table of ['version_client', 'route_client', 'brownout_client']) {
    database.prepare(`DELETE FROM ${table} WHERE last < ?`).run(keptFrom);
  }
  database.prepare('DELETE FROM brownouts WHERE at < ?').run(keptFrom);
  database.prepare('DELETE FROM evidence WHERE last < ?').run(keptFrom);
  database.prepare('DELETE FROM losses WHERE ended < ?').run(keptFrom);
  database.exec(`
    DELETE FROM clients WHERE id NOT IN (SELECT client FROM version_client);
    DELETE FROM routes WHERE id NOT IN (SELECT route FROM route_client);
    DELETE FROM versions WHERE id NOT IN (SELECT version FROM version_client);
  `);
  // The latest run stays, even if it is old: the current run may not be in the table yet.
  database.prepare('DELETE FROM runs WHERE seen < ? AND id < (SELECT MAX(id) FROM runs)').run(keptFrom);
  const setMeta = database.prepare('INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
  setMeta.run('hours_from', hoursFrom);
  setMeta.run('kept_from', keptFrom);
}

/** Deletes the spans that end before `instant`, version by version, because the tables are sorted by version first. */
function deleteBefore(database: DatabaseSync, table: string, length: SpanLength, instant: number): void {
  database
    .prepare(`DELETE FROM ${table} WHERE version IN (SELECT id FROM versions) AND span < ?`)
    .run(Math.floor(instant / msPerSpan[length]));
}

/** When the latest request in the ledger came, rounded down to the hour, epoch ms; 0 for none. */
export function latestRequest(database: DatabaseSync): number {
  return Number(database.prepare('SELECT MAX(span) AS span FROM version_hour').get()?.['span'] ?? 0) * hourMs;
}

/**
 * Sets every later instant to `now`: such rows were written while the clock was wrong. Every sum stays the same. Within the
 * caller's transaction; throws the errors of SQLite.
 */
export function setFutureToPresent(database: DatabaseSync, now: number): void {
  // For versions, clients and routes.
  for (const subject of subjects) for (const length of ['hour', 'day', 'block'] as const) moveSpans(subject, length);
  for (const length of ['hour', 'day'] as const) moveSpans('pair', length);
  const today = spanAt('day', now);
  database
    .prepare(`INSERT INTO sizes SELECT version, ?1, route, MAX(body), MAX(target), MAX(head) FROM sizes
      WHERE version IN (SELECT id FROM versions) AND span > ?1 GROUP BY version, route ON CONFLICT DO UPDATE SET ${addUpSizes}`)
    .run(today);
  database.prepare('DELETE FROM sizes WHERE version IN (SELECT id FROM versions) AND span > ?').run(today);
  for (const [table, notTimes] of [
    ['version_client', ['version', 'client']],
    ['route_client', ['version', 'route', 'client']],
    ['brownout_client', ['version', 'brownout', 'client', 'refused']],
  ] as const) {
    const times = columnsOf(table).filter((column) => !notTimes.some((one) => one === column));
    const atMostNow = times.map((column) => `${column} = MIN(${column}, :now)`).join(', ');
    database.prepare(`UPDATE ${table} SET ${atMostNow} WHERE last > :now`).run({ now });
  }
  database.prepare('UPDATE evidence SET first = MIN(first, :now), last = :now WHERE last > :now').run({ now });
  database.prepare('UPDATE losses SET began = MIN(began, :now), ended = :now WHERE ended > :now').run({ now });
  // So that deletion continues as if the clock had always been right.
  database.prepare(`UPDATE meta SET value = MIN(value, ?) WHERE key IN ('kept_from', 'hours_from')`).run(now);

  function moveSpans(subject: string, length: SpanLength): void {
    const table = `${subject}_${length}`;
    const keys = subject === 'pair' ? ['client', 'route'] : ['item'];
    const notSummed = ['version', 'span', ...keys, 'first', 'last'];
    const sums = columnsOf(table).filter((column) => !notSummed.includes(column));
    const span = spanAt(length, now);
    // `first` and `last` are ms from the start of the span.
    const values = { span, offset: now - span * msPerSpan[length] };
    const whereSpan = 'WHERE version IN (SELECT id FROM versions) AND span';
    database
      .prepare(
        `INSERT INTO ${table} (version, span, ${keys.join(', ')}, ${sums.join(', ')}, first, last)
          SELECT version, :span, ${keys.join(', ')}, ${sums.map((sum) => `SUM(${sum})`).join(', ')}, :offset, :offset
          FROM ${table} ${whereSpan} > :span GROUP BY version, ${keys.join(', ')}
          ON CONFLICT DO UPDATE SET last = :offset, ${sums.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(', ')}`,
      )
      .run(values);
    database.prepare(`DELETE FROM ${table} ${whereSpan} > :span`).run({ span });
    database
      .prepare(
        `UPDATE ${table} SET first = MIN(first, :offset), last = MIN(last, :offset) ${whereSpan} = :span AND last > :offset`,
      )
      .run(values);
  }

  function columnsOf(table: string): string[] {
    const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(table);
    return columns.map(({ name }) => String(name));
  }
}
