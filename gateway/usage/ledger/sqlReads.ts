import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { RouteOfClient, SeriesPoint, UsageSums } from '../usageQueries.ts';
import { otherClients } from '../usageRow.ts';
import { failureOf, type LedgerFailure } from './failure.ts';
import { type Subject, schemaVersion } from './schema.ts';
import { beginOf, dayMs, endless, lengths, type Spans, spanAt, spansOf } from './spans.ts';
import type { DayOfClients } from './usualPauses.ts';

/** `id` and `name` are those of the version, client or route. */
export type NamedSums = UsageSums & { readonly id: number; readonly name: string; readonly first: number };

const maxRoutesPerClient = 5;

/** The id of the version whose name is bound to `?`. */
const versionId = '(SELECT id FROM versions WHERE name = ?)';
const otherClientsId = `(SELECT id FROM clients WHERE name = '${otherClients}')`;

/**
 * All SELECT statements on an open ledger. A statement that fails returns no rows and reports the failure; nothing throws.
 * The tables are sorted by version, then span: where a statement filters by client or route, it lists the spans one by
 * one (`span IN (…)`), so that SQLite looks each of them up instead of scanning all of them.
 */
export class SqlReads {
  readonly #database: DatabaseSync | undefined;
  readonly #onFailure: (failure: LedgerFailure) => void;

  /** Without a database every result is empty. */
  constructor(database: DatabaseSync | undefined, onFailure: (failure: LedgerFailure) => void) {
    this.#database = database;
    this.#onFailure = onFailure;
  }

  /** Divides a period into spans of which the ledger has rows. Clients and routes have rows per hour only for recent days. */
  spans(since: number, until: number, subject: Subject, longest: 'day' | 'block' = 'block'): Spans[] {
    const from = Math.max(since, this.#meta('kept_from'), 0);
    const hoursAreKept = subject === 'version' || from >= this.#meta('hours_from');
    return spansOf(from, Math.max(until, from), hoursAreKept ? 'hour' : 'day', longest);
  }

  /** The start of the period of which rows are kept, epoch ms. */
  keptFrom(): number {
    return this.#meta('kept_from');
  }

  /** The end of the last day with requests, epoch ms. Bounds spans that are listed one by one. */
  end(): number {
    const [row] = this.#all<{ day: number | null }>('SELECT MAX(span) AS day FROM version_day');
    return row?.day == null ? 0 : (row.day + 1) * dayMs;
  }

  /** The runs of gateways that wrote to the ledger, the latest first. Epoch ms. */
  runs(): readonly { readonly began: number; readonly seen: number }[] {
    return this.#all('SELECT began, seen FROM runs ORDER BY began DESC');
  }

  /** The sums of each version, or of each client or route of `version`. */
  sums(subject: Subject, spans: readonly Spans[], version?: string): NamedSums[] {
    const outcomes = this.#hasOutcomes() ? 'failing, refused' : '0 AS failing, 0 AS refused';
    const id = subject === 'version' ? 'version' : 'item';
    const parts = spans.map(
      ({ length }) => `SELECT ${id} AS id, requests, errors, served, ${outcomes},
        span * ${lengths[length]} + first AS first, span * ${lengths[length]} + last AS last
        FROM ${subject}_${length}
        WHERE version IN (SELECT id FROM versions ${version === undefined ? '' : 'WHERE name = ?'})
          AND span BETWEEN ? AND ?`,
    );
    const sums = `SELECT id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(served) AS served,
      SUM(failing) AS failing, SUM(refused) AS refused, MIN(first) AS first, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) GROUP BY id`;
    const ofVersion = version === undefined ? [] : [version];
    return this.#all(
      `SELECT sums.*, name FROM (${sums}) AS sums JOIN ${subject}s USING (id)`,
      spans.flatMap(({ from, to }) => [...ofVersion, from, to]),
    );
  }

  /**
   * The number of clients of each version, by the version's id, without `other clients`. For nearly
   * all clients their first and last request suffice. Only clients seen both before and after the period are looked up in it.
   */
  clientCounts(spans: readonly Spans[]): Map<number, number> {
    const begin = beginOf(spans);
    const end = Math.max(...spans.map(({ length, to }) => (to + 1) * lengths[length]));
    // The longest spans first, because a hit in them is the likeliest.
    const lookedUp = end >= endless ? [] : [...spans].sort((a, b) => lengths[b.length] - lengths[a.length]);
    const seenWithin = lookedUp.map(
      ({ length }) => `EXISTS (SELECT 1 FROM client_${length} AS seen WHERE seen.version = version_client.version
        AND seen.span IN (SELECT value FROM json_each(?)) AND seen.item = version_client.client)`,
    );
    const rows = this.#all<{ version: number; clients: number }>(
      `SELECT version, COUNT(*) AS clients FROM version_client WHERE client IS NOT ${otherClientsId}
        AND last >= ? AND first < ? AND (${['first >= ?', 'last < ?', ...seenWithin].join(' OR ')}) GROUP BY version`,
      [begin, end, begin, end, ...lookedUp.map(listOf)],
    );
    return new Map(rows.map((row) => [row.version, row.clients]));
  }

  /** By the id of a client: the number of its routes since `since`. Or by the id of a route: the number of its clients. */
  partnerCounts(subject: 'client' | 'route', version: string, since: number): Map<number, number> {
    const partner = subject === 'client' ? 'route' : 'client';
    const withoutOthers = partner === 'client' ? `AND client IS NOT ${otherClientsId}` : '';
    const rows = this.#all<{ id: number; partners: number }>(
      `SELECT ${subject} AS id, COUNT(${partner}) AS partners FROM route_client
        WHERE version = ${versionId} AND last >= ? ${withoutOthers} GROUP BY ${subject}`,
      [version, since],
    );
    return new Map(rows.map(({ id, partners }) => [id, partners]));
  }

  /** The most used routes of each of these clients, by the client's id. `spans`: hours and days only. */
  topRoutes(version: string, clients: readonly number[], spans: readonly Spans[]): Map<number, RouteOfClient[]> {
    // A ledger of an earlier release lacks these tables until the gateway has migrated it.
    const [{ tables } = { tables: 0 }] = this.#all<{ tables: number }>(
      "SELECT COUNT(*) AS tables FROM sqlite_schema WHERE name = 'pair_day'",
    );
    if (tables === 0 || spans.length === 0 || clients.length === 0) return new Map();
    const parts = spans.map(
      ({ length }) => `SELECT client, route, requests, span * ${lengths[length]} + last AS last FROM pair_${length}
        WHERE version = ${versionId}
          AND span IN (SELECT value FROM json_each(?)) AND client IN (SELECT value FROM json_each(?))`,
    );
    const sums = `SELECT client, route, SUM(requests) AS requests, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) GROUP BY client, route`;
    const ranked = `SELECT *, ROW_NUMBER() OVER (PARTITION BY client ORDER BY requests DESC, route) AS rank FROM (${sums})`;
    const rows = this.#all<RouteOfClient & { id: number }>(
      `SELECT client AS id, name AS route, requests, last FROM (${ranked}) JOIN routes ON routes.id = route
        WHERE rank <= ${maxRoutesPerClient} ORDER BY client, rank`,
      spans.flatMap((one) => [version, listOf(one), JSON.stringify(clients)]),
    );
    const byClient = Map.groupBy(rows, ({ id }) => id);
    return new Map([...byClient].map(([id, own]) => [id, own.map(({ id: _id, ...route }) => route)]));
  }

  /** The requests of one client, to one version or to all of them. */
  requestsOf(client: string, spans: readonly Spans[], version?: string): number {
    if (spans.length === 0) return 0;
    const parts = spans.map(
      ({ length }) => `SELECT requests FROM client_${length}
        WHERE version IN (SELECT id FROM versions ${version === undefined ? '' : 'WHERE name = ?'})
          AND span IN (SELECT value FROM json_each(?)) AND item = (SELECT id FROM clients WHERE name = ?)`,
    );
    const ofVersion = version === undefined ? [] : [version];
    const [row] = this.#all<{ requests: number | null }>(
      `SELECT SUM(requests) AS requests FROM (${parts.join(' UNION ALL ')})`,
      spans.flatMap((one) => [...ofVersion, listOf(one), client]),
    );
    return row?.requests ?? 0;
  }

  /** Requests of each version by hour or by day, oldest first. */
  series(step: 'hour' | 'day', since: number, version?: string): readonly SeriesPoint[] {
    return this.#all(
      `SELECT name AS version, span * ${lengths[step]} AS at, requests, ${this.#failing()} FROM versions
        JOIN version_${step} ON version = id
        WHERE span >= ? ${version === undefined ? '' : 'AND name = ?'} ORDER BY span, name`,
      [spanAt(step, since), ...(version === undefined ? [] : [version])],
    );
  }

  /** The requests of one client to one version by day, oldest first. */
  clientSeries(version: string, client: string, since: number): readonly SeriesPoint[] {
    const [oldest] = this.#all<{ day: number | null }>('SELECT MIN(span) AS day FROM version_day');
    const firstDay = Math.max(spanAt('day', since), oldest?.day ?? 0, spanAt('day', this.keptFrom()));
    return this.#all(
      `WITH RECURSIVE days (day, until) AS (
          SELECT ?, MAX(span) FROM client_day WHERE version = ${versionId}
          UNION ALL SELECT day + 1, until FROM days WHERE day < until
        )
        SELECT ? AS version, span * ${dayMs} AS at, requests, ${this.#failing()} FROM days CROSS JOIN client_day
        WHERE version = ${versionId} AND span = day AND item = (SELECT id FROM clients WHERE name = ?) ORDER BY span`,
      [firstDay, version, version, version, client],
    );
  }

  /** All clients in the ledger. */
  clients(): readonly { readonly id: number; readonly client: string }[] {
    return this.#all('SELECT id, name AS client FROM clients');
  }

  /** The clients that ever used a version, over the whole ledger. */
  clientsEver(version: string): readonly { readonly client: string }[] {
    return this.#all(
      `SELECT name AS client FROM clients WHERE id IN
        (SELECT client FROM version_client WHERE version = ${versionId} ${this.#hasOutcomes() ? 'AND used > 0' : ''})`,
      [version],
    );
  }

  /** The last use of each version, without these clients. */
  lastUsed(withoutClients: readonly number[]): ReadonlyMap<string, number> {
    const rows = this.#all<{ version: string; used_at: number }>(
      `SELECT name AS version, MAX(${this.#used()}) AS used_at FROM version_client
        JOIN versions ON versions.id = version
        WHERE client NOT IN (SELECT value FROM json_each(?)) GROUP BY version HAVING used_at > 0`,
      [JSON.stringify(withoutClients)],
    );
    return new Map(rows.map((row) => [row.version, row.used_at]));
  }

  /** The last use of a version by each of its clients, by the client's id. Leaves out clients whose requests all failed. */
  lastUsedByClient(version: string): Map<number, number> {
    const used = this.#used();
    const rows = this.#all<{ client: number; used: number }>(
      `SELECT client, ${used} AS used FROM version_client WHERE version = ${versionId} AND ${used} > 0`,
      [version],
    );
    return new Map(rows.map((row) => [row.client, row.used]));
  }

  /** The clients that used a version before `until` and not since, the latest first. */
  pastClients(version: string, until: number) {
    // In a ledger of an earlier release, clients whose requests all failed cannot be recognized.
    if (!this.#hasOutcomes()) return [];
    const sums = `SELECT item, SUM(requests - failing) AS requests FROM client_block
      WHERE version = ${versionId} AND item IN (${pastClientIds}) GROUP BY item`;
    return this.#all<{ id: number; client: string; first: number; last: number; requests: number }>(
      `SELECT id, name AS client, first, used AS last, COALESCE(requests, 0) AS requests
        FROM version_client JOIN clients ON clients.id = client LEFT JOIN (${sums}) ON item = client
        WHERE version = ${versionId} AND used > 0 AND used < ? ORDER BY used DESC`,
      [version, version, until, version, until],
    );
  }

  /**
   * The days on which these clients used the version, oldest first. One row per day, because an object for each of
   * hundreds of thousands of rows takes longer than the query. Leaves out clients that have been absent for longer than
   * the time between their first and last use, because their usual pause cannot explain the absence.
   */
  pastClientDays(version: string, until: number, now: number): readonly DayOfClients[] {
    if (!this.#hasOutcomes()) return [];
    return this.#all(
      `SELECT span, group_concat(item || ' ' || first || ' ' || last) AS items FROM client_day
        WHERE version = ${versionId} AND (failing = 0 OR requests > failing)
          AND item IN (${pastClientIds} AND ? - used <= used - first) GROUP BY span ORDER BY span`,
      [version, version, until, now],
    );
  }

  /** False for a ledger of an earlier release that is not migrated yet: it has no columns for failed requests. */
  #hasOutcomes(): boolean {
    const [row] = this.#all<{ user_version: number }>('PRAGMA user_version');
    return (row?.user_version ?? schemaVersion) >= 3;
  }

  #failing(): string {
    return this.#hasOutcomes() ? 'failing' : '0 AS failing';
  }

  #used(): string {
    return this.#hasOutcomes() ? 'used' : 'last';
  }

  #meta(key: string): number {
    return this.#all<{ value: number }>('SELECT value FROM meta WHERE key = ?', [key])[0]?.value ?? 0;
  }

  #all<Row extends object>(sql: string, values: readonly SQLInputValue[] = []): Row[] {
    try {
      const rows = this.#database?.prepare(sql).all(...values) ?? [];
      return rows as (Record<string, SQLInputValue> & Row)[];
    } catch (error) {
      this.#onFailure(failureOf(error));
      return [];
    }
  }
}

const pastClientIds = `SELECT client FROM version_client WHERE version = ${versionId} AND used > 0 AND used < ?`;

/** The numbers of the spans as a JSON array, for `json_each`. */
function listOf({ from, to }: Spans): string {
  return JSON.stringify(Array.from({ length: to - from + 1 }, (_one, index) => from + index));
}
