import type { DatabaseSync } from 'node:sqlite';
import { otherClients, otherRoute } from '../usageRow.ts';
import { dayMs, hourMs, lengths, spanAt } from './spans.ts';
import type { Sum } from './writer.ts';

/** How many clients and routes of a version are told apart in a day. */
export interface NameCounts {
  readonly client: number;
  readonly route: number;
}

export type Bounded = keyof NameCounts;

const others: Readonly<Record<Bounded, string>> = { client: otherClients, route: otherRoute };
// To fold is work, so it waits until there is some.
const leeway = 1.25;

interface Day {
  readonly subject: Bounded;
  readonly version: number;
  readonly day: number;
  /** At most so many names. */
  names: number;
}

/**
 * Keeps the names in the ledger few, whatever its processes and hours bring together: those that called most on a day
 * keep their names, the rest is counted as one. Within a transaction of the caller's; throws what SQLite says.
 */
export class NameLimits {
  /** Requests of clients that were counted as others, since somebody has set it to 0. */
  folded = 0;
  readonly #database: DatabaseSync;
  readonly #idOf: (subject: 'version' | Bounded, name: string) => number;
  readonly #days = new Map<string, Day>();

  constructor(database: DatabaseSync, idOf: (subject: 'version' | Bounded, name: string) => number) {
    this.#database = database;
    this.#idOf = idOf;
  }

  /** What was just written. */
  note(subject: Bounded, sums: readonly Sum[]): void {
    for (const { version, hour } of sums) {
      const [id, day] = [this.#idOf('version', version), spanAt('day', hour)];
      const key = `${subject} ${id} ${day}`;
      const known = this.#days.get(key);
      if (known) known.names += 1;
      else this.#days.set(key, { subject, version: id, day, names: this.#count(subject, id, day) });
    }
  }

  /** @returns whether names were folded */
  keep(limits: NameCounts): boolean {
    let folded = false;
    for (const one of this.#days.values()) {
      const most = limits[one.subject] * leeway + 1;
      if (one.names > most) one.names = this.#count(one.subject, one.version, one.day);
      if (one.names <= most) continue;
      this.#fold(one, limits);
      folded = true;
    }
    return folded;
  }

  /** The same without leeway, for the day before `now` (epoch ms) and its own. */
  settle(now: number, limits: NameCounts): void {
    const today = spanAt('day', now);
    const versions = this.#database.prepare('SELECT id FROM versions').all();
    for (const { id } of versions) {
      for (const subject of ['client', 'route'] as const) {
        for (const day of [today - 1, today]) {
          const names = this.#count(subject, Number(id), day);
          if (names > limits[subject] + 1) this.#fold({ subject, version: Number(id), day, names }, limits);
        }
      }
    }
    this.#days.clear();
  }

  forget(): void {
    this.#days.clear();
  }

  #fold(one: Day, limits: NameCounts): void {
    const { subject, version, day } = one;
    const into = this.#idOf(subject, others[subject]);
    const requests = fold(this.#database, { subject, version, day, into, keep: limits[subject] });
    if (subject === 'client') this.folded += requests;
    one.names = this.#count(subject, version, day);
  }

  #count(subject: Bounded, version: number, day: number): number {
    const counted = this.#database
      .prepare(`SELECT COUNT(*) AS names FROM ${subject}_day WHERE version = ? AND span = ?`)
      .get(version, day);
    return Number(counted?.['names']);
  }
}

/** Which names of a version's day are to be counted as one, `into`; `keep`: how many stay, most requests first. */
export interface Folding {
  readonly subject: 'client' | 'route';
  readonly version: number;
  readonly day: number;
  readonly into: number;
  readonly keep: number;
}

const addUp = `ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, errors = errors + excluded.errors,
  first = MIN(first, excluded.first), last = MAX(last, excluded.last)`;
const addUpOutcomes = `served = served + excluded.served, failing = failing + excluded.failing,
  refused = refused + excluded.refused`;

/**
 * What the other days say stays; every sum of the version stays. Throws what SQLite says.
 * @returns how many requests are of the names that are folded
 */
export function fold(database: DatabaseSync, { subject, version, day, into, keep }: Folding): number {
  const run = (sql: string, ...values: (number | string)[]): void => void database.prepare(sql).run(...values);
  database.exec('CREATE TEMP TABLE IF NOT EXISTS folded (item INTEGER PRIMARY KEY); DELETE FROM folded;');
  // Of equals those that came last: whoever begins to call has called once, too, and so has whoever only has a stream open.
  run(
    `INSERT INTO folded SELECT item FROM ${subject}_day WHERE version = ? AND span = ? AND item <> ?
      ORDER BY MAX(requests, 1) DESC, last DESC LIMIT -1 OFFSET ?`,
    ...[version, day, into, keep],
  );
  const requests = database
    .prepare(`SELECT SUM(requests) AS sum FROM ${subject}_day WHERE version = ? AND span = ? AND item IN folded`)
    .get(version, day)?.['sum'];
  const begin = day * dayMs;
  const block = spanAt('block', begin);
  foldBlock(run, subject, version, day, into);
  const spans = [
    ['hour', begin / hourMs, begin / hourMs + 23],
    ['day', day, day],
  ] as const;
  for (const [length, from, to] of spans) {
    const which = 'WHERE version = ? AND span BETWEEN ? AND ?';
    run(
      `INSERT INTO ${subject}_${length} SELECT version, span, ?, SUM(requests), SUM(errors), SUM(served), MIN(first), MAX(last),
          SUM(failing), SUM(refused)
        FROM ${subject}_${length} ${which} AND item IN folded GROUP BY version, span
        ${addUp}, ${addUpOutcomes}`,
      ...[into, version, from, to],
    );
    run(`DELETE FROM ${subject}_${length} ${which} AND item IN folded`, version, from, to);
    const [client, route] = subject === 'client' ? ['?', 'route'] : ['client', '?'];
    const partner = subject === 'client' ? 'route' : 'client';
    run(
      `INSERT INTO pair_${length} SELECT version, span, ${client}, ${route}, SUM(requests), SUM(errors), MIN(first), MAX(last)
        FROM pair_${length} ${which} AND ${subject} IN folded GROUP BY version, span, ${partner} ${addUp}`,
      ...[into, version, from, to],
    );
    run(`DELETE FROM pair_${length} ${which} AND ${subject} IN folded`, version, from, to);
  }
  // Of who has other days in the block, too.
  const rest = `FROM ${subject}_day AS one WHERE one.version = longer.version AND one.item = longer.item
    AND one.span BETWEEN ? AND ?`;
  const [firstDay, lastDay] = daysOf(block);
  run(
    `UPDATE ${subject}_block AS longer
      SET first = COALESCE((SELECT MIN((span - ?) * ${dayMs} + first) ${rest}), first),
        last = COALESCE((SELECT MAX((span - ?) * ${dayMs} + last) ${rest}), last)
      WHERE version = ? AND span = ? AND item IN folded`,
    ...[firstDay, firstDay, lastDay, firstDay, firstDay, lastDay, version, block],
  );
  foldSeen(run, subject, version, day, into);
  return Number(requests ?? 0);
}

type Run = (sql: string, ...values: (number | string)[]) => void;

/** Takes the day out of its block, and gives it to the others there. Before the day itself changes. */
function foldBlock(run: Run, subject: string, version: number, day: number, into: number): void {
  const block = spanAt('block', day * dayMs);
  const offset = day * dayMs - block * lengths.block;
  run(
    `INSERT INTO ${subject}_block
      SELECT version, ?, ?, SUM(requests), SUM(errors), SUM(served), MIN(first) + ?, MAX(last) + ?,
        SUM(failing), SUM(refused)
      FROM ${subject}_day WHERE version = ? AND span = ? AND item IN folded GROUP BY version
      ${addUp}, ${addUpOutcomes}`,
    ...[block, into, offset, offset, version, day],
  );
  const less = ['requests', 'errors', 'served', 'failing', 'refused']
    .map((what) => `${what} = longer.${what} - one.${what}`)
    .join(', ');
  run(
    `UPDATE ${subject}_block AS longer SET ${less} FROM ${subject}_day AS one
      WHERE longer.version = ? AND longer.span = ? AND longer.item IN folded
        AND one.version = longer.version AND one.span = ? AND one.item = longer.item`,
    ...[version, block, day],
  );
  // A day without requests is a day all the same: something of before went on.
  run(
    `DELETE FROM ${subject}_block AS longer WHERE version = ? AND span = ? AND item IN folded AND NOT EXISTS
      (SELECT 1 FROM ${subject}_day AS one WHERE one.version = longer.version AND one.item = longer.item
        AND one.span BETWEEN ? AND ? AND one.span <> ?)`,
    ...[version, block, ...daysOf(block), day],
  );
}

/** The first and the last one. */
function daysOf(block: number): [first: number, last: number] {
  return [(block * lengths.block) / dayMs, ((block + 1) * lengths.block) / dayMs - 1];
}

/** The last use in a span whose requests did not all fail. It may have been earlier: then the last request failed. */
function usedAt(length: number, sum: 'MAX' | '' = ''): string {
  return `${sum}(CASE WHEN failing = 0 OR requests > failing THEN span * ${length} + last ELSE 0 END)`;
}

/** Who was seen where, and the names themselves. */
function foldSeen(run: Run, subject: 'client' | 'route', version: number, day: number, into: number): void {
  const [begin, end] = [day * dayMs, (day + 1) * dayMs];
  if (subject === 'client') {
    run('DELETE FROM version_client WHERE version = ? AND client IN folded', version);
    // The spans one by one, since the table is sorted by span before client.
    run(
      `INSERT INTO version_client
        SELECT version, item, MIN(span * ${lengths.block} + first), MAX(span * ${lengths.block} + last),
          ${usedAt(lengths.block, 'MAX')} FROM client_block
        WHERE version = ? AND span IN (SELECT DISTINCT span FROM version_block WHERE version = ?) AND item IN folded
        GROUP BY version, item`,
      ...[version, version],
    );
    run(
      `INSERT INTO version_client
        SELECT version, item, span * ${dayMs} + first, span * ${dayMs} + last, ${usedAt(dayMs)} FROM client_day
        WHERE version = ? AND span = ? AND item = ?
        ON CONFLICT DO UPDATE SET first = MIN(first, excluded.first), last = MAX(last, excluded.last),
          used = MAX(used, excluded.used)`,
      ...[version, day, into],
    );
  }
  run(
    `INSERT INTO route_client SELECT version, route, client, MAX(span * ${dayMs} + last) FROM pair_day
      WHERE version = ? AND span = ? AND ${subject} = ? GROUP BY version, route, client
      ON CONFLICT DO UPDATE SET last = MAX(last, excluded.last)`,
    ...[version, day, into],
  );
  const left = subject === 'client' ? 'SELECT client FROM version_client' : 'SELECT item FROM route_block';
  run(
    `DELETE FROM route_client WHERE version = ? AND ${subject} IN folded AND ${subject} NOT IN (${left} WHERE version = ?)`,
    ...[version, version],
  );
  // They met on this day; whether before, too, is only known by the days. To look there is not worth it.
  run(
    `UPDATE route_client SET last = ? WHERE version = ? AND ${subject} IN folded AND last >= ? AND last < ?`,
    ...[begin - 1, version, begin, end],
  );
  const table = subject === 'client' ? 'version_client' : 'route_client';
  run(`DELETE FROM ${subject}s WHERE id IN folded AND id NOT IN (SELECT ${subject} FROM ${table})`);
}
