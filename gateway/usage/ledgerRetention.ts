import type { DatabaseSync } from 'node:sqlite';
import { dayMs, type Length, lengths, spanAt } from './spans.ts';

/** How long it is known to the hour, and not only to the day, what a client and a route did. */
export const hoursKeptMs = 8 * dayMs;

/**
 * Deletes what is too old, within a transaction of the caller's. Days and longer spans were added up when they were
 * written, so that nothing is lost with the hours. Throws what SQLite says.
 */
export function deleteOld(database: DatabaseSync, now: number, retention: number): void {
  const hoursFrom = spanAt('day', now - hoursKeptMs) * dayMs;
  const done = new Map(
    database
      .prepare('SELECT key, value FROM meta')
      .all()
      .map(({ key, value }) => [key, value]),
  );
  // What is gone does not come back with a longer retention.
  const keptFrom = Math.max(spanAt('day', now - retention) * dayMs, Number(done.get('kept_from') ?? 0));
  // Whole days go: there is nothing to do until the next one begins.
  if (done.get('hours_from') === hoursFrom && done.get('kept_from') === keptFrom) return;
  for (const subject of ['client', 'route']) {
    deleteBefore(database, `${subject}_hour`, 'hour', Math.max(hoursFrom, keptFrom));
    deleteBefore(database, `${subject}_day`, 'day', keptFrom);
    deleteBefore(database, `${subject}_block`, 'block', keptFrom);
  }
  deleteBefore(database, 'pair_hour', 'hour', Math.max(hoursFrom, keptFrom));
  deleteBefore(database, 'pair_day', 'day', keptFrom);
  for (const length of ['hour', 'day', 'block'] as const) deleteBefore(database, `version_${length}`, length, keptFrom);
  for (const table of ['version_client', 'route_client']) {
    database.prepare(`DELETE FROM ${table} WHERE last < ?`).run(keptFrom);
  }
  database.exec(`
    DELETE FROM clients WHERE id NOT IN (SELECT client FROM version_client);
    DELETE FROM routes WHERE id NOT IN (SELECT route FROM route_client);
    DELETE FROM versions WHERE id NOT IN (SELECT version FROM version_client);
  `);
  // The youngest run stays: it is this one, unless it has not written yet.
  database.prepare('DELETE FROM runs WHERE seen < ? AND id < (SELECT MAX(id) FROM runs)').run(keptFrom);
  const remember = database.prepare('INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
  remember.run('hours_from', hoursFrom);
  remember.run('kept_from', keptFrom);
}

/** Spans that end before `instant`; version by version, since the tables are sorted by that first. */
function deleteBefore(database: DatabaseSync, table: string, length: Length, instant: number): void {
  database
    .prepare(`DELETE FROM ${table} WHERE version IN (SELECT id FROM versions) AND span < ?`)
    .run(Math.floor(instant / lengths[length]));
}
