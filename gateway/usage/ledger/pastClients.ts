import { dayMs } from './spans.ts';

/** A client that used a version before some instant, and not since. Instants in epoch ms, durations in ms. */
export interface PastClient {
  readonly client: string;
  readonly name: string | undefined;
  /** Those that did not fail. */
  readonly requests: number;
  readonly first: number;
  /** When it last used the version. */
  readonly last: number;
  /** How long it usually pauses; undefined: it does not pause for so long, or too seldom to tell. */
  readonly usualPause: number | undefined;
}

// A weekly job is a few minutes early or late.
const tolerance = 0.75;
// A client that called on most days, and had a holiday or two, has no rhythm of holidays.
const leastShare = 1 / 20;

const past = `SELECT client FROM version_client
  WHERE version = (SELECT id FROM versions WHERE name = ?) AND used > 0 AND used < ?`;

/** The query for clients that used a version before `until` and not since, and its parameters. */
export function pastClients(version: string, until: number): [sql: string, values: (string | number)[]] {
  const sums = `SELECT item, SUM(requests - failing) AS requests FROM client_block
    WHERE version = (SELECT id FROM versions WHERE name = ?) AND item IN (${past}) GROUP BY item`;
  const sql = `SELECT id, name AS client, first, used AS last, COALESCE(requests, 0) AS requests
    FROM version_client JOIN clients ON clients.id = client LEFT JOIN (${sums}) ON item = client
    WHERE version = (SELECT id FROM versions WHERE name = ?) AND used > 0 AND used < ? ORDER BY used DESC`;
  return [sql, [version, version, until, version, until]];
}

/**
 * The query for the days on which these clients used the version, and its parameters: a row a day, in order, since objects
 * for hundreds of thousands of rows would take longer than SQLite does. Left out is who has been away for longer than it
 * was there: twice a usual pause is less than that.
 */
export function daysOfPastClients(
  version: string,
  until: number,
  now: number,
): [sql: string, values: (string | number)[]] {
  const sql = `SELECT span, group_concat(item || ' ' || first || ' ' || last) AS items FROM client_day
    WHERE version = (SELECT id FROM versions WHERE name = ?) AND (failing = 0 OR requests > failing)
      AND item IN (${past} AND ? - used <= used - first) GROUP BY span ORDER BY span`;
  return [sql, [version, version, until, now]];
}

export interface DayOfClients {
  readonly span: number;
  /** Of each client its number, and when it called first and last on this day, ms from its beginning. */
  readonly items: string;
}

/** How long clients usually pause, by their numbers: those that do so for about `least` ms or longer. */
export function usualPauses(days: readonly DayOfClients[], least: number): Map<number, number> {
  const seen = new Map<number, { last: number; pauses: number; long: number[] }>();
  for (const { span, items } of days) {
    for (const item of items.split(',')) {
      const [id = 0, first = 0, last = 0] = item.split(' ').map(Number);
      const known = seen.get(id);
      if (known === undefined) {
        seen.set(id, { last: span * dayMs + last, pauses: 0, long: [] });
        continue;
      }
      const pause = span * dayMs + first - known.last;
      known.pauses += 1;
      if (pause >= tolerance * least) known.long.push(pause);
      known.last = span * dayMs + last;
    }
  }
  const usual = new Map<number, number>();
  for (const [id, { pauses, long }] of seen) {
    // One pause is a rhythm only where nothing contradicts it.
    const isUsual = long.length === 1 ? pauses === 1 : long.length >= 2 && long.length >= leastShare * pauses;
    if (isUsual) usual.set(id, long.sort((a, b) => a - b)[Math.floor((long.length - 1) / 2)] as number);
  }
  return usual;
}
