import type { Arrival } from '../usageQueries.ts';
import { otherClients } from '../usageRow.ts';
import type { ReportingDatabase } from './database.ts';
import { dayMs, spanAt } from './spans.ts';

// A flood of old names must not make the query slow. The rest is listed without the time of the last use.
const maxLookedUp = 1_000;

const isUse = '(failing = 0 OR requests > failing)';

/**
 * The clients that used a version on the days from `since` to `until`, but never before, or not for `quiet` before. `begin`:
 * the first day of the ledger. If the ledger does not go back `quiet` before `since`, no client is known to be new.
 */
export async function arrivalsIn(
  database: ReportingDatabase,
  version: string,
  { since, until, quiet, begin }: { since: number; until: number; quiet: number; begin: number },
): Promise<Omit<Arrival, 'name'>[]> {
  const [from, to] = [spanAt('day', since), spanAt('day', until)];
  const silentFrom = from - Math.ceil(quiet / dayMs);
  const [row] = await database.all<{ id: number }>('SELECT id FROM versions WHERE name = ?', [version]);
  if (row === undefined || begin >= from * dayMs) return [];
  const seen = await database.all<{ id: number; client: string; at: number; requests: number; ever: number }>(
    `SELECT item AS id, name AS client, MIN(CAST(span AS BIGINT) * ${dayMs} + client_day.first) AS at,
      SUM(requests - failing) AS requests, MIN(version_client.first) AS ever
      FROM client_day JOIN version_client ON version_client.version = client_day.version AND client = item
      JOIN clients ON clients.id = item
      WHERE client_day.version = ? AND span BETWEEN ? AND ? AND requests > failing AND name <> '${otherClients}'
      GROUP BY item, name ORDER BY at, item`,
    [row.id, from, to],
  );
  const recent = await database.all<{ item: number }>(
    `SELECT DISTINCT item FROM client_day WHERE version = ? AND span BETWEEN ? AND ? AND ${isUse}`,
    [row.id, silentFrom, from - 1],
  );
  const wasRecent = new Set(recent.map(({ item }) => item));
  const isNew = ({ ever }: { readonly ever: number }): boolean => ever >= from * dayMs;
  const candidates = seen.filter((one) => isNew(one) || !wasRecent.has(one.id));
  const old = candidates.filter((one) => !isNew(one)).slice(0, maxLookedUp);
  const first = spanAt('day', begin);
  const days = Array.from({ length: Math.max(0, silentFrom - first) }, (_one, index) => first + index);
  const before = await database.all<{ item: number; span: number; last: number }>(
    `SELECT item, span, last FROM client_day WHERE version = ? AND span ${database.isInList} AND item ${database.isInList}
      AND ${isUse} ORDER BY span`,
    [row.id, days, old.map(({ id }) => id)],
  );
  const lastUse = new Map(before.map(({ item, span, last }) => [item, span * dayMs + last]));
  const lookedUp = new Set(old.map(({ id }) => id));
  return candidates.flatMap((one) => {
    const { id, client, at, requests } = one;
    const last = lastUse.get(id);
    // All its earlier requests failed, so this is its first use.
    const isFirstUse = isNew(one) || (lookedUp.has(id) && last === undefined);
    if (isFirstUse && begin > silentFrom * dayMs) return [];
    return [{ client, at, requests, isNew: isFirstUse, lastUse: last }];
  });
}
