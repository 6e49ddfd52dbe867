import type { AcceptedUse, ClientDay, RouteOfClient, SeriesPoint } from '../usageQueries.ts';
import type { DayOfClients } from './clientHistory.ts';
import type { ReportingDatabase } from './database.ts';
import { routeOutcomesVersion } from './schema.ts';
import { endOfTime, type SpanRange, spanAt } from './spans.ts';
import { type NamedSums, type SqlReads, spanNumbers, spanStartSql } from './sqlReads.ts';

const maxRoutesPerClient = 5;

/** Where a statement finds the clients of a version, or the clients of some routes of a version. */
interface ClientTables {
  /** The tables of sums: `client_hour`, `client_day` and `client_block`, or `pair_hour` and `pair_day`. */
  readonly sumTable: 'client' | 'pair';
  /** The column of these tables with the client. */
  readonly clientColumn: 'item' | 'client';
  /** A condition that selects the routes: `AND …`; '' for all routes. */
  readonly routeCondition: string;
  /** The table or subquery with `version`, `client`, `first`, `last` and `used`. */
  readonly seen: string;
}

/**
 * SELECT statements about the clients of a version, or only about their requests to some of its routes. They run on SQLite and
 * on PostgreSQL.
 */
export class ClientReads {
  readonly #database: ReportingDatabase;
  readonly #reads: SqlReads;
  readonly routes: readonly string[] | undefined;

  /** `routes`: their names in the ledger; undefined: all routes. */
  constructor(database: ReportingDatabase, reads: SqlReads, routes?: readonly string[]) {
    this.#database = database;
    this.#reads = reads;
    this.routes = routes;
  }

  /** The spans for which the tables have rows. Single routes have sums of hours and days, but not of blocks, which are 30 days long. */
  async spans(since: number): Promise<SpanRange[]> {
    return this.routes === undefined ? this.#reads.spans(since, endOfTime, 'client') : this.spansWithoutBlocks(since);
  }

  /** From `since` to the last day with requests, as hours and days. */
  async spansWithoutBlocks(since: number): Promise<SpanRange[]> {
    const { begin, end } = await this.#reads.recordedPeriod();
    return this.#reads.spans(Math.max(since, begin), end, 'client', 'day');
  }

  /** `firstFrom`: only clients that were first seen at this time or later. */
  async sums(version: string, spans: readonly SpanRange[], firstFrom?: number): Promise<NamedSums[]> {
    if (spans.length === 0) return [];
    const { sumTable, clientColumn, routeCondition, seen } = await this.#tables();
    const versionId = await this.#reads.idOf(version);
    const outcomes = (await this.#reads.hasOutcomeColumns()) ? 'failing, refused' : '0 AS failing, 0 AS refused';
    const newClientsOnly = `AND ${clientColumn} IN (SELECT client FROM ${seen} AS seen WHERE version = ? AND first >= ?)`;
    const [condition, conditionValues] = firstFrom === undefined ? ['', []] : [newClientsOnly, [versionId, firstFrom]];
    const parts = spans.map(
      ({ length }) => `SELECT ${clientColumn} AS id, requests, errors, served, ${outcomes},
        ${spanStartSql(length)} + first AS first, ${spanStartSql(length)} + last AS last
        FROM ${sumTable}_${length} WHERE version = ? AND span BETWEEN ? AND ? ${routeCondition} ${condition}`,
    );
    const sums = `SELECT id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(served) AS served,
      SUM(failing) AS failing, SUM(refused) AS refused, MIN(first) AS first, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) AS parts GROUP BY id`;
    return this.#database.all(
      `SELECT sums.*, name FROM (${sums}) AS sums JOIN clients USING (id) ORDER BY id`,
      spans.flatMap(({ from, to }) => [versionId, from, to, ...conditionValues]),
    );
  }

  /** The most used routes of each of these clients, by the client's id. `spans`: hours and days only. */
  async topRoutes(
    version: string,
    clients: readonly number[],
    spans: readonly SpanRange[],
  ): Promise<Map<number, RouteOfClient[]>> {
    // A ledger of an earlier release lacks these tables until the gateway has migrated it.
    if ((await this.#database.schemaVersion()) < 2 || spans.length === 0 || clients.length === 0) return new Map();
    const { inListSql } = this.#database;
    const { routeCondition } = await this.#tables();
    const versionId = await this.#reads.idOf(version);
    const parts = spans.map(
      ({ length }) => `SELECT client, route, requests, ${spanStartSql(length)} + last AS last FROM pair_${length}
        WHERE version = ? AND span ${inListSql} AND client ${inListSql} ${routeCondition}`,
    );
    const sums = `SELECT client, route, SUM(requests) AS requests, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) AS parts GROUP BY client, route`;
    const ranked = `SELECT *, ROW_NUMBER() OVER (PARTITION BY client ORDER BY requests DESC, route) AS rank FROM (${sums}) AS sums`;
    const rows = await this.#database.all<RouteOfClient & { id: number }>(
      `SELECT client AS id, name AS route, requests, last FROM (${ranked}) AS ranked JOIN routes ON routes.id = route
        WHERE rank <= ${maxRoutesPerClient} ORDER BY client, rank`,
      spans.flatMap((one) => [versionId, spanNumbers(one), clients]),
    );
    const byClient = Map.groupBy(rows, ({ id }) => id);
    return new Map([...byClient].map(([id, routes]) => [id, routes.map(({ id: _id, ...route }) => route)]));
  }

  /**
   * The requests of one client to each version and route of one API, without routes on which all its requests failed. Undefined if no
   * version of the API has ever answered the client 2xx. The same statements run in both cases, so that their time does not tell which
   * one it is.
   */
  async acceptedUse(
    client: string,
    since: number,
    isOfApi: (version: string) => boolean,
  ): Promise<readonly AcceptedUse[] | undefined> {
    const { inListSql } = this.#database;
    const versions = await this.#reads.versionIds(isOfApi);
    const spans = await this.spansWithoutBlocks(since);
    const [acceptedClient] = await this.#database.all<{ id: number }>(
      `SELECT client AS id FROM version_client WHERE version ${inListSql} AND accepted > 0
        AND client = (SELECT id FROM clients WHERE name = ?) LIMIT 1`,
      [versions, client],
    );
    const parts = spans.map(
      ({
        length,
      }) => `SELECT version, route, requests, failing, ${spanStartSql(length)} + last AS last FROM pair_${length}
        WHERE version ${inListSql} AND span ${inListSql} AND client = ?`,
    );
    const sums = `SELECT version, route, SUM(requests) AS requests, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) AS parts GROUP BY version, route
      HAVING SUM(failing) = 0 OR SUM(requests) > SUM(failing)`;
    // No client has the id 0.
    const acceptedId = acceptedClient?.id ?? 0;
    const rows =
      spans.length === 0
        ? []
        : await this.#database.all<AcceptedUse>(
            `SELECT versions.name AS version, routes.name AS route, requests, last FROM (${sums}) AS sums
              JOIN versions ON versions.id = version JOIN routes ON routes.id = route ORDER BY requests DESC, routes.name`,
            spans.flatMap((one) => [versions, spanNumbers(one), acceptedId]),
          );
    return acceptedClient && rows;
  }

  /** The number of routes that each client has called since `since`, by the id of the client. */
  async routeCounts(version: string, since: number): Promise<Map<number, number>> {
    const { routeCondition } = await this.#tables();
    const rows = await this.#database.all<{ client: number; routes: number }>(
      `SELECT client, COUNT(route) AS routes FROM route_client WHERE version = ? AND last >= ? ${routeCondition} GROUP BY client`,
      [await this.#reads.idOf(version), since],
    );
    return new Map(rows.map(({ client, routes }) => [client, routes]));
  }

  /** The requests of these clients by day, oldest first. */
  async series(version: string, clients: readonly string[], since: number): Promise<readonly ClientDay[]> {
    const { inListSql } = this.#database;
    const namedClients = await this.#database.all<{ id: number; name: string }>(
      `SELECT id, name FROM clients WHERE name ${inListSql}`,
      [clients],
    );
    const { begin, end } = await this.#reads.recordedPeriod();
    const from = spanAt('day', Math.max(since, begin, Number(await this.#reads.meta('kept_from'))));
    const to = spanAt('day', end) - 1;
    if (namedClients.length === 0 || from > to) return [];
    const nameById = new Map(namedClients.map(({ id, name }) => [id, name]));
    const { sumTable, clientColumn, routeCondition } = await this.#tables();
    const failing = (await this.#reads.hasOutcomeColumns()) ? 'SUM(failing)' : '0';
    const rows = await this.#database.all<SeriesPoint & { item: number }>(
      `SELECT ${clientColumn} AS item, ${spanStartSql('day')} AS at, SUM(requests) AS requests, ${failing} AS failing FROM ${sumTable}_day
        WHERE version = ? AND span ${inListSql} AND ${clientColumn} ${inListSql} ${routeCondition} GROUP BY span, ${clientColumn} ORDER BY span, ${clientColumn}`,
      [await this.#reads.idOf(version), spanNumbers({ from, to }), [...nameById.keys()]],
    );
    return rows.map(({ item, ...point }) => ({ ...point, version, client: nameById.get(item) ?? '' }));
  }

  /** The last use of each version, without these clients. */
  async lastUsed(withoutClients: readonly number[]): Promise<ReadonlyMap<string, number>> {
    const { seen } = await this.#tables();
    const used = await this.#usedColumn();
    const rows = await this.#database.all<{ version: string; used_at: number }>(
      `SELECT name AS version, MAX(${used}) AS used_at FROM ${seen} AS seen JOIN versions ON versions.id = version
        WHERE NOT (client ${this.#database.inListSql}) GROUP BY name HAVING MAX(${used}) > 0`,
      [withoutClients],
    );
    return new Map(rows.map((row) => [row.version, row.used_at]));
  }

  /** The first request and the last use of each client that used the version at `since` or later, by the id of the client. */
  async uses(version: string, since = 0): Promise<Map<number, { readonly first: number; readonly lastUsed: number }>> {
    const { seen } = await this.#tables();
    const used = await this.#usedColumn();
    const rows = await this.#database.all<{ client: number; first: number; lastUsed: number }>(
      `SELECT client, first, ${used} AS "lastUsed" FROM ${seen} AS seen WHERE version = ? AND ${used} >= ?`,
      [await this.#reads.idOf(version), Math.max(since, 1)],
    );
    return new Map(rows.map((row) => [row.client, row]));
  }

  /** Those of these routes that a client used at `since` or later. `routes`: ids. Empty for a ledger of an earlier release. */
  async routesInUse(version: string, routes: readonly number[], since: number): Promise<ReadonlySet<number>> {
    if ((await this.#database.schemaVersion()) < routeOutcomesVersion) return new Set();
    const rows = await this.#database.all<{ route: number }>(
      `SELECT DISTINCT route FROM route_client WHERE version = ? AND route ${this.#database.inListSql} AND used >= ?`,
      [await this.#reads.idOf(version), routes, Math.max(since, 1)],
    );
    return new Set(rows.map(({ route }) => route));
  }

  /** The clients whose last use was before `until`, the latest first. */
  async past(version: string, until: number) {
    // In a ledger of an earlier release, clients whose requests all failed cannot be recognized.
    if (!(await this.#reads.hasOutcomeColumns())) return [];
    const { sumTable, clientColumn, routeCondition, seen } = await this.#tables();
    const versionId = await this.#reads.idOf(version);
    const past = `FROM ${seen} AS seen WHERE version = ? AND used > 0 AND used < ?`;
    const sums = `SELECT ${clientColumn} AS item, SUM(requests - failing) AS requests FROM ${sumTable}_${sumTable === 'pair' ? 'day' : 'block'}
      WHERE version = ? AND ${clientColumn} IN (SELECT client ${past}) ${routeCondition} GROUP BY ${clientColumn}`;
    return this.#database.all<{ id: number; client: string; first: number; last: number; requests: number }>(
      `SELECT id, name AS client, first, used AS last, COALESCE(requests, 0) AS requests
        FROM (SELECT * ${past}) AS past JOIN clients ON clients.id = client LEFT JOIN (${sums}) AS sums ON item = client
        ORDER BY used DESC, id`,
      [versionId, until, versionId, versionId, until],
    );
  }

  /**
   * The days on which these clients used the version, oldest first. One row per day, because to create objects for hundreds of
   * thousands of rows would take longer than the query. `clients`: ids. PostgreSQL filters by a list of ids while it reads the table.
   * This costs less than a join.
   */
  async daysOfUse(version: string, clients: readonly number[]): Promise<readonly DayOfClients[]> {
    if (clients.length === 0) return [];
    const { sumTable, clientColumn, routeCondition } = await this.#tables();
    // What follows FROM in a statement: a table and the condition for its rows.
    const fromDaysWithUse = `${sumTable}_day WHERE version = ? AND ${clientColumn} ${this.#database.inListSql} ${routeCondition}
      AND (failing = 0 OR requests > failing)`;
    // A client may use several routes on one day.
    const grouped = `(SELECT span, client AS item, MIN(first) AS first, MAX(last) AS last FROM ${fromDaysWithUse} GROUP BY span, client) AS days`;
    const fromClientDays = sumTable === 'pair' ? grouped : fromDaysWithUse;
    return this.#database.all(
      `SELECT span, string_agg(item || ' ' || first || ' ' || last, ',') AS items FROM ${fromClientDays} GROUP BY span ORDER BY span`,
      [await this.#reads.idOf(version), clients],
    );
  }

  async #tables(): Promise<ClientTables> {
    if (this.routes === undefined)
      return { sumTable: 'client', clientColumn: 'item', routeCondition: '', seen: 'version_client' };
    const { inListSql } = this.#database;
    const rows = await this.#database.all<{ id: number }>(`SELECT id FROM routes WHERE name ${inListSql} ORDER BY id`, [
      this.routes,
    ]);
    // The list must not be empty, so it begins with 0, which is the id of no route.
    const routeCondition = `AND route IN (${[0, ...rows.map(({ id }) => id)].join(', ')})`;
    // In rows of an earlier release `first` and `used` are NULL: `first` is then the earliest possible time, and `used` the latest.
    const seen = `(SELECT route_client.version, route_client.client, MAX(route_client.last) AS last,
        MIN(COALESCE(route_client.first, version_client.first, route_client.last)) AS first,
        MAX(COALESCE(route_client.used, route_client.last)) AS used
      FROM route_client LEFT JOIN version_client
        ON version_client.version = route_client.version AND version_client.client = route_client.client
      WHERE TRUE ${routeCondition} GROUP BY route_client.version, route_client.client)`;
    return { sumTable: 'pair', clientColumn: 'client', routeCondition, seen };
  }

  async #usedColumn(): Promise<string> {
    return this.routes !== undefined || (await this.#reads.hasOutcomeColumns()) ? 'used' : 'last';
  }
}
