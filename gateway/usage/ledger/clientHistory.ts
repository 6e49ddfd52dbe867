import type { Arrival, ArrivalPeriod, ClientMovement } from '../usageQueries.ts';
import type { ReportingDatabase } from './database.ts';
import { dayMs, spanAt } from './spans.ts';
import { type NamedSums, type SqlReads, spanNumbers } from './sqlReads.ts';

// A flood of old names must not make the query slow. Above this number, clients are listed without the time of their last use.
const maxLookedUp = 1_000;

// Also true for a row with 0 requests: all its requests began on an earlier day.
const isUseSql = '(failing = 0 OR requests > failing)';

/**
 * The clients that used a version on the days from `since` to `until`, and did not use it during the time `absence` before `since`. If
 * the ledger begins less than `absence` before `since`, no client is known to be new.
 */
export async function arrivalsIn(
  database: ReportingDatabase,
  reads: SqlReads,
  { version, since, until, absence }: ArrivalPeriod & { readonly version: string },
): Promise<Omit<Arrival, 'name'>[]> {
  // A ledger of an earlier release does not record which requests failed.
  if (!(await reads.hasOutcomeColumns())) return [];
  const [id, { begin }] = [await reads.idOf(version), await reads.recordedPeriod()];
  const [firstDay, lastDay] = [spanAt('day', since), spanAt('day', until)];
  const firstAbsenceDay = firstDay - Math.ceil(absence / dayMs);
  if (begin >= firstDay * dayMs) return [];
  const users = await database.all<{ id: number; client: string; at: number; requests: number; first_call: number }>(
    `SELECT item AS id, name AS client, MIN(CAST(span AS BIGINT) * ${dayMs} + client_day.first) AS at,
      SUM(requests - failing) AS requests, MIN(version_client.first) AS first_call
      FROM client_day JOIN version_client ON version_client.version = client_day.version AND client = item
      JOIN clients ON clients.id = item
      WHERE client_day.version = ? AND span BETWEEN ? AND ? AND requests > failing
      GROUP BY item, name ORDER BY at, item`,
    [id, firstDay, lastDay],
  );
  const usesInAbsencePeriod = await database.all<{ item: number }>(
    `SELECT DISTINCT item FROM client_day WHERE version = ? AND span BETWEEN ? AND ? AND ${isUseSql}`,
    [id, firstAbsenceDay, firstDay - 1],
  );
  const idsInAbsencePeriod = new Set(usesInAbsencePeriod.map(({ item }) => item));
  const isNew = ({ first_call: firstCall }: { readonly first_call: number }): boolean => firstCall >= firstDay * dayMs;
  const candidates = users.filter((one) => isNew(one) || !idsInAbsencePeriod.has(one.id));
  const returning = candidates.filter((one) => !isNew(one)).slice(0, maxLookedUp);
  // The query lists days and clients, so that each row is looked up by the primary key.
  const earlierDays = spanNumbers({ from: spanAt('day', begin), to: firstAbsenceDay - 1 });
  const earlierUses = await database.all<{ item: number; span: number; last: number }>(
    `SELECT item, span, last FROM client_day WHERE version = ? AND span ${database.inListSql} AND item ${database.inListSql}
      AND ${isUseSql} ORDER BY span`,
    [id, earlierDays, returning.map(({ id }) => id)],
  );
  const lastUseById = new Map(earlierUses.map(({ item, span, last }) => [item, span * dayMs + last]));
  const lookedUpIds = new Set(returning.map(({ id }) => id));
  return candidates.flatMap((one) => {
    const { client, at, requests } = one;
    const last = lastUseById.get(one.id);
    // If a returning client was looked up and no earlier use was found, all its earlier requests failed: this is its first use.
    const isFirstUse = isNew(one) || (lookedUpIds.has(one.id) && last === undefined);
    if (isFirstUse && begin > firstAbsenceDay * dayMs) return [];
    return [{ client, at, requests, isNew: isFirstUse, lastUse: last }];
  });
}

/** The requests of each client to two versions, from the sums of each version by client; most requests first. */
export function movements(
  clients: readonly string[],
  inOld: ReadonlyMap<string, NamedSums>,
  inNew: ReadonlyMap<string, NamedSums>,
  describe: (client: string) => Pick<ClientMovement, 'name' | 'hasUsedOld'>,
): ClientMovement[] {
  const requests = (client: string): number => (inOld.get(client)?.requests ?? 0) + (inNew.get(client)?.requests ?? 0);
  return clients
    .toSorted((a, b) => requests(b) - requests(a))
    .map((client): ClientMovement => {
      const [oldUse, newUse] = [inOld.get(client), inNew.get(client)];
      return {
        client,
        ...describe(client),
        from: oldUse && { requests: oldUse.requests, failing: oldUse.failing, last: oldUse.last },
        to: newUse && { requests: newUse.requests, failing: newUse.failing, first: newUse.first, last: newUse.last },
      };
    });
}

/** The clients that used a version on one day. */
export interface DayOfClients {
  /** The number of the day since 1970-01-01. */
  readonly span: number;
  /** `id first last`, separated by commas: a client's first and last request, in ms from the start of the day. */
  readonly items: string;
}

// A pause of at least this share of `shortestPause` counts as long: a weekly job runs a few minutes early or late.
const longPauseShare = 0.75;
// A client that calls on most days and paused for a holiday or two does not usually pause that long.
const minShareOfLongPauses = 1 / 20;

/**
 * The usual pause between the requests of each client, by the client's id. Only clients that usually pause for about
 * `shortestPause` ms or longer have one. `days`: oldest first.
 */
export function usualPauses(days: readonly DayOfClients[], shortestPause: number): Map<number, number> {
  const clients = new Map<number, { last: number; pauses: number; longPauses: number[] }>();
  for (const { span, items } of days) {
    for (const item of items.split(',')) {
      const [id = 0, first = 0, last = 0] = item.split(' ').map(Number);
      const client = clients.get(id);
      if (client === undefined) {
        clients.set(id, { last: span * dayMs + last, pauses: 0, longPauses: [] });
        continue;
      }
      const pause = span * dayMs + first - client.last;
      client.pauses += 1;
      if (pause >= longPauseShare * shortestPause) client.longPauses.push(pause);
      client.last = span * dayMs + last;
    }
  }
  const usualPauseById = new Map<number, number>();
  for (const [id, { pauses, longPauses }] of clients) {
    // A single long pause is usual only if there was no other pause.
    const isUsual =
      longPauses.length === 1
        ? pauses === 1
        : longPauses.length >= 2 && longPauses.length >= minShareOfLongPauses * pauses;
    if (!isUsual) continue;
    const median = longPauses.sort((a, b) => a - b)[Math.floor((longPauses.length - 1) / 2)] as number;
    usualPauseById.set(id, median);
  }
  return usualPauseById;
}
