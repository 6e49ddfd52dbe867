import type { DatabaseSync } from 'node:sqlite';
import { otherClients } from './callers.ts';
import { fold } from './ledgerFold.ts';
import { otherRoute } from './routeNames.ts';
import { spanAt } from './spans.ts';
import type { Sum } from './sums.ts';

/** How many clients and routes of a version are told apart in a day. */
export interface Limits {
  readonly client: number;
  readonly route: number;
}

export type Bounded = keyof Limits;

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
export class LedgerBounds {
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
  keep(limits: Limits): boolean {
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
  settle(now: number, limits: Limits): void {
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

  #fold(one: Day, limits: Limits): void {
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
