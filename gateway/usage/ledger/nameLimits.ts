import type { DatabaseSync } from 'node:sqlite';
import { otherClients, otherRoute } from '../usageRow.ts';
import { addUpBrownout, addUpRouteClient, addUpSizes, addUpSums } from './schema.ts';
import { dayMs, hourMs, msPerSpan, spanAt } from './spans.ts';

/** How many clients and routes of a version are counted under their own names per day. */
export interface NameLimits {
  readonly client: number;
  readonly route: number;
}

type LimitedSubject = keyof NameLimits;

const nameOfOthers: Readonly<Record<LimitedSubject, string>> = { client: otherClients, route: otherRoute };
// Folding is expensive. While batches are added, names are folded only when they exceed the limit by this factor.
const leeway = 1.25;

/** The names of clients, or of routes, of one version on one day. */
interface DayNames {
  readonly subject: LimitedSubject;
  readonly version: number;
  readonly day: number;
  /** An upper bound of their number. */
  count: number;
}

/**
 * Keeps the number of names per day below the limits. Each process limits its own names for one hour, but a day may get names
 * from many hours and processes. The names with the most requests stay; the others are folded: added to `other clients` or
 * `other`. Runs within the caller's transaction. Throws the errors of SQLite.
 */
export class NameFolding {
  #folded = 0;
  readonly #database: DatabaseSync;
  readonly #idOf: (subject: 'version' | LimitedSubject, name: string) => number;
  /** The days that have been written to. */
  readonly #days = new Map<string, DayNames>();

  constructor(database: DatabaseSync, idOf: (subject: 'version' | LimitedSubject, name: string) => number) {
    this.#database = database;
    this.#idOf = idOf;
  }

  /** Requests that were moved to `other clients` since the last call. */
  takeFolded(): number {
    const folded = this.#folded;
    this.#folded = 0;
    return folded;
  }

  noteWritten(subject: LimitedSubject, sums: readonly { readonly version: string; readonly hour: number }[]): void {
    for (const { version, hour } of sums) {
      const [id, day] = [this.#idOf('version', version), spanAt('day', hour)];
      const key = `${subject} ${id} ${day}`;
      const dayNames = this.#days.get(key);
      if (dayNames) dayNames.count += 1;
      else this.#days.set(key, { subject, version: id, day, count: this.#countNames(subject, id, day) });
    }
  }

  /** Folds the names of days that exceed the limits by the leeway. @returns true if it folded any */
  foldExcess(limits: NameLimits): boolean {
    let hasFolded = false;
    for (const dayNames of this.#days.values()) {
      // The name that stands for all others is added to the limit.
      const max = limits[dayNames.subject] * leeway + 1;
      if (dayNames.count > max) dayNames.count = this.#countNames(dayNames.subject, dayNames.version, dayNames.day);
      if (dayNames.count <= max) continue;
      this.#fold(dayNames, limits);
      hasFolded = true;
    }
    return hasFolded;
  }

  /** Folds without leeway, for the day of `now` (epoch ms) and the day before. */
  foldExactly(now: number, limits: NameLimits): void {
    const today = spanAt('day', now);
    const versions = this.#database.prepare('SELECT id FROM versions').all();
    for (const { id } of versions) {
      for (const subject of ['client', 'route'] as const) {
        for (const day of [today - 1, today]) {
          const count = this.#countNames(subject, Number(id), day);
          if (count > limits[subject] + 1) this.#fold({ subject, version: Number(id), day, count }, limits);
        }
      }
    }
    this.#days.clear();
  }

  clear(): void {
    this.#days.clear();
  }

  #fold(dayNames: DayNames, limits: NameLimits): void {
    const { subject, version, day } = dayNames;
    const into = this.#idOf(subject, nameOfOthers[subject]);
    const requests = fold(this.#database, { subject, version, day, into, keep: limits[subject] });
    if (subject === 'client') this.#folded += requests;
    dayNames.count = this.#countNames(subject, version, day);
  }

  #countNames(subject: LimitedSubject, version: number, day: number): number {
    const counted = this.#database
      .prepare(`SELECT COUNT(*) AS names FROM ${subject}_day WHERE version = ? AND span = ?`)
      .get(version, day);
    return Number(counted?.['names']);
  }
}

/**
 * The names to fold: all names of a version on one day, except the `keep` names with the most requests. Their requests are
 * added to the name with the id `into`.
 */
interface Folding {
  readonly subject: LimitedSubject;
  readonly version: number;
  readonly day: number;
  readonly into: number;
  readonly keep: number;
}

const addUp = `ON CONFLICT DO UPDATE SET ${addUpSums}`;

type Run = (sql: string, values?: readonly number[]) => void;

/** Folds the names of one day. Other days and all sums of the version stay the same. @returns the requests of the folded names */
function fold(database: DatabaseSync, { subject, version, day, into, keep }: Folding): number {
  const run: Run = (sql, values = []) => void database.prepare(sql).run(...values);
  // `accepted`: when a backend last answered a client 2xx.
  database.exec(`CREATE TEMP TABLE IF NOT EXISTS folded (item INTEGER PRIMARY KEY); DELETE FROM folded;
    CREATE TEMP TABLE IF NOT EXISTS seen_before (client INTEGER PRIMARY KEY, used INTEGER NOT NULL, accepted INTEGER NOT NULL);`);
  // Among names with equal requests the latest stay: a new regular client may have only one request. A client whose only
  // request is a stream that began in an earlier hour has none, and is ranked like a client with one.
  run(
    `INSERT INTO folded SELECT item FROM ${subject}_day WHERE version = ? AND span = ? AND item <> ?
      ORDER BY MAX(requests, 1) DESC, last DESC LIMIT -1 OFFSET ?`,
    [version, day, into, keep],
  );
  const requests = database
    .prepare(`SELECT SUM(requests) AS sum FROM ${subject}_day WHERE version = ? AND span = ? AND item IN folded`)
    .get(version, day)?.['sum'];
  const begin = day * dayMs;
  // The span of 30 days that contains the day.
  const block = spanAt('block', begin);
  // `foldBlock` comes first: it reads the rows of the day, which the statements below change.
  foldBlock(run, subject, version, day, into);
  const spans = [
    ['hour', begin / hourMs, begin / hourMs + 23],
    ['day', day, day],
  ] as const;
  for (const [length, from, to] of spans) {
    const where = 'WHERE version = ? AND span BETWEEN ? AND ?';
    run(
      `INSERT INTO ${subject}_${length} SELECT version, span, ?, SUM(requests), SUM(errors), SUM(served), MIN(first), MAX(last),
          SUM(failing), SUM(refused)
        FROM ${subject}_${length} ${where} AND item IN folded GROUP BY version, span
        ${addUp}`,
      [into, version, from, to],
    );
    run(`DELETE FROM ${subject}_${length} ${where} AND item IN folded`, [version, from, to]);
    const [clientSql, routeSql] = subject === 'client' ? ['?', 'route'] : ['client', '?'];
    const otherSubject = subject === 'client' ? 'route' : 'client';
    run(
      `INSERT INTO pair_${length} SELECT version, span, ${clientSql}, ${routeSql}, SUM(requests), SUM(errors), MIN(first), MAX(last),
          SUM(served), SUM(failing), SUM(refused)
        FROM pair_${length} ${where} AND ${subject} IN folded GROUP BY version, span, ${otherSubject} ${addUp}`,
      [into, version, from, to],
    );
    run(`DELETE FROM pair_${length} ${where} AND ${subject} IN folded`, [version, from, to]);
  }
  // Names that stay in the block because of other days: recompute when they were seen first and last.
  const remainingDays = `FROM ${subject}_day AS day WHERE day.version = block.version AND day.item = block.item
    AND day.span BETWEEN ? AND ?`;
  const [firstDay, lastDay] = daysOf(block);
  run(
    `UPDATE ${subject}_block AS block
      SET first = COALESCE((SELECT MIN((span - ?) * ${dayMs} + first) ${remainingDays}), first),
        last = COALESCE((SELECT MAX((span - ?) * ${dayMs} + last) ${remainingDays}), last)
      WHERE version = ? AND span = ? AND item IN folded`,
    [firstDay, firstDay, lastDay, firstDay, firstDay, lastDay, version, block],
  );
  if (subject === 'client') foldBrownouts(run, version, day, into);
  else foldSizes(run, version, day, into);
  correctSeenTimes(run, subject, version, day, into);
  return Number(requests ?? 0);
}

/** Subtracts the counts of the day from the block of each folded name, and adds them to the block of `into`. */
function foldBlock(run: Run, subject: LimitedSubject, version: number, day: number, into: number): void {
  const block = spanAt('block', day * dayMs);
  const offset = day * dayMs - block * msPerSpan.block;
  run(
    `INSERT INTO ${subject}_block
      SELECT version, ?, ?, SUM(requests), SUM(errors), SUM(served), MIN(first) + ?, MAX(last) + ?,
        SUM(failing), SUM(refused)
      FROM ${subject}_day WHERE version = ? AND span = ? AND item IN folded GROUP BY version
      ${addUp}`,
    [block, into, offset, offset, version, day],
  );
  const subtractDay = ['requests', 'errors', 'served', 'failing', 'refused']
    .map((column) => `${column} = block.${column} - day.${column}`)
    .join(', ');
  run(
    `UPDATE ${subject}_block AS block SET ${subtractDay} FROM ${subject}_day AS day
      WHERE block.version = ? AND block.span = ? AND block.item IN folded
        AND day.version = block.version AND day.span = ? AND day.item = block.item`,
    [version, block, day],
  );
  // Keeps blocks with other days, even blocks with 0 requests: a day has 0 requests if a request of an earlier day only continued on it.
  run(
    `DELETE FROM ${subject}_block AS block WHERE version = ? AND span = ? AND item IN folded AND NOT EXISTS
      (SELECT 1 FROM ${subject}_day AS day WHERE day.version = block.version AND day.item = block.item
        AND day.span BETWEEN ? AND ? AND day.span <> ?)`,
    [version, block, ...daysOf(block), day],
  );
}

/** The first and the last day of a block. */
function daysOf(block: number): [first: number, last: number] {
  return [(block * msPerSpan.block) / dayMs, ((block + 1) * msPerSpan.block) / dayMs - 1];
}

/**
 * SQL for the last use in a span, as far as the sums tell it: the time of the last request, even if that one failed; 0 if all requests
 * failed. So it may be too late, and it lacks a request of an earlier span that went on.
 */
function usedAt(lengthMs: number, aggregate: 'MAX' | '' = ''): string {
  return `${aggregate}(CASE WHEN failing = 0 OR requests > failing THEN span * ${lengthMs} + last ELSE 0 END)`;
}

/** If a brownout refused a folded client on this day, all requests that it refused to this client are added to `into`. */
function foldBrownouts(run: Run, version: number, day: number, into: number): void {
  const where = 'WHERE version = ? AND client IN folded AND first < ? AND last >= ?';
  const values = [version, (day + 1) * dayMs, day * dayMs];
  run(
    `INSERT INTO brownout_client SELECT version, brownout, ?, SUM(refused), MIN(first), MAX(last)
      FROM brownout_client ${where} GROUP BY version, brownout ON CONFLICT DO UPDATE SET ${addUpBrownout}`,
    [into, ...values],
  );
  run(`DELETE FROM brownout_client ${where}`, values);
}

/** The largest sizes of the folded routes become sizes of `into`. */
function foldSizes(run: Run, version: number, day: number, into: number): void {
  const where = 'WHERE version = ? AND span = ? AND route IN folded';
  run(
    `INSERT INTO sizes SELECT version, span, ?, MAX(body), MAX(target), MAX(head) FROM sizes ${where} GROUP BY version, span
      ON CONFLICT DO UPDATE SET ${addUpSizes}`,
    [into, version, day],
  );
  run(`DELETE FROM sizes ${where}`, [version, day]);
}

/** Corrects the times of first and last requests, per version and per route, and deletes names that are not used any more. */
function correctSeenTimes(run: Run, subject: LimitedSubject, version: number, day: number, into: number): void {
  const [begin, end] = [day * dayMs, (day + 1) * dayMs];
  if (subject === 'client') {
    run('DELETE FROM seen_before');
    run(
      `INSERT INTO seen_before SELECT client, used, accepted FROM version_client
        WHERE version = ? AND client IN folded AND (used > 0 OR accepted > 0)`,
      [version],
    );
    run('DELETE FROM version_client WHERE version = ? AND client IN folded', [version]);
    // The condition names each span, so that SQLite can use the key of the table, which begins with the span.
    run(
      `INSERT INTO version_client
        SELECT version, item, MIN(span * ${msPerSpan.block} + first), MAX(span * ${msPerSpan.block} + last),
          MAX(${usedAt(msPerSpan.block, 'MAX')},
            COALESCE((SELECT used FROM seen_before WHERE seen_before.client = item AND used < ?), 0)),
          COALESCE((SELECT accepted FROM seen_before WHERE seen_before.client = item), 0) FROM client_block
        WHERE version = ? AND span IN (SELECT DISTINCT span FROM version_block WHERE version = ?) AND item IN folded
        GROUP BY version, item`,
      [begin, version, version],
    );
    run(
      `INSERT INTO version_client
        SELECT version, item, span * ${dayMs} + first, span * ${dayMs} + last,
          MAX(${usedAt(dayMs)}, COALESCE((SELECT MAX(used) FROM seen_before WHERE used >= ? AND used < ?), 0)), 0
        FROM client_day WHERE version = ? AND span = ? AND item = ?
        ON CONFLICT DO UPDATE SET first = MIN(first, excluded.first), last = MAX(last, excluded.last),
          used = MAX(used, excluded.used)`,
      [begin, end, version, day, into],
    );
  }
  run(
    `INSERT INTO route_client SELECT version, route, client, MAX(span * ${dayMs} + last), MIN(span * ${dayMs} + first),
        ${usedAt(dayMs, 'MAX')} FROM pair_day
      WHERE version = ? AND span = ? AND ${subject} = ? GROUP BY version, route, client
      ON CONFLICT DO UPDATE SET ${addUpRouteClient}`,
    [version, day, into],
  );
  const stillUsed = subject === 'client' ? 'SELECT client FROM version_client' : 'SELECT item FROM route_block';
  run(
    `DELETE FROM route_client WHERE version = ? AND ${subject} IN folded
      AND ${subject} NOT IN (${stillUsed} WHERE version = ?)`,
    [version, version],
  );
  run(`DELETE FROM route_client WHERE version = ? AND ${subject} IN folded AND first >= ? AND last < ?`, [
    version,
    begin,
    end,
  ]);
  // Only the rows of earlier days have the exact time of the last request before this day. Reading them costs too much,
  // so the end of the day before is stored.
  run(
    `UPDATE route_client SET last = ?1, used = MIN(used, ?1)
      WHERE version = ?2 AND ${subject} IN folded AND last >= ?3 AND last < ?4`,
    [begin - 1, version, begin, end],
  );
  const table = subject === 'client' ? 'version_client' : 'route_client';
  run(`DELETE FROM ${subject}s WHERE id IN folded AND id NOT IN (SELECT ${subject} FROM ${table})`);
}
