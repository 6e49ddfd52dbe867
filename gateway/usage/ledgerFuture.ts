import type { DatabaseSync } from 'node:sqlite';
import { subjects } from './ledgerSchema.ts';
import { hourMs, type Length, lengths, spanAt } from './spans.ts';

// Rows that are dated later than the present were written while the clock was wrong.

/** When the latest request of the ledger came, to the hour below, epoch ms; 0 for none. */
export function latestRequest(database: DatabaseSync): number {
  return Number(database.prepare('SELECT MAX(span) AS span FROM version_hour').get()?.['span'] ?? 0) * hourMs;
}

/**
 * Dates rows of the future to `now`, which is the latest that they can be of. Every sum stays. Within a transaction of
 * the caller's; throws what SQLite says.
 */
export function dateToPresent(database: DatabaseSync, now: number): void {
  for (const subject of subjects) for (const length of ['hour', 'day', 'block'] as const) moveSpans(subject, length);
  for (const length of ['hour', 'day'] as const) moveSpans('pair', length);
  for (const [table, keys] of [
    ['version_client', ['version', 'client']],
    ['route_client', ['version', 'route', 'client']],
  ] as const) {
    const times = columnsOf(table).filter((column) => !keys.some((key) => key === column));
    const earlier = times.map((column) => `${column} = MIN(${column}, :now)`).join(', ');
    database.prepare(`UPDATE ${table} SET ${earlier} WHERE last > :now`).run({ now });
  }
  // Deletion goes on where it would be with the right clock.
  database.prepare(`UPDATE meta SET value = MIN(value, ?) WHERE key IN ('kept_from', 'hours_from')`).run(now);

  function moveSpans(subject: string, length: Length): void {
    const table = `${subject}_${length}`;
    const keys = subject === 'pair' ? ['client', 'route'] : ['item'];
    const others = ['version', 'span', ...keys, 'first', 'last'];
    const sums = columnsOf(table).filter((column) => !others.includes(column));
    const span = spanAt(length, now);
    const values = { span, at: now - span * lengths[length] };
    const which = 'WHERE version IN (SELECT id FROM versions) AND span';
    database
      .prepare(
        `INSERT INTO ${table} (version, span, ${keys.join(', ')}, ${sums.join(', ')}, first, last)
          SELECT version, :span, ${keys.join(', ')}, ${sums.map((sum) => `SUM(${sum})`).join(', ')}, :at, :at
          FROM ${table} ${which} > :span GROUP BY version, ${keys.join(', ')}
          ON CONFLICT DO UPDATE SET last = :at, ${sums.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(', ')}`,
      )
      .run(values);
    database.prepare(`DELETE FROM ${table} ${which} > :span`).run({ span });
    database
      .prepare(`UPDATE ${table} SET first = MIN(first, :at), last = MIN(last, :at) ${which} = :span AND last > :at`)
      .run(values);
  }

  function columnsOf(table: string): string[] {
    const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(table);
    return columns.map(({ name }) => String(name));
  }
}
