import type {
  BrownoutPeriod,
  BrownoutQueries,
  BrownoutTotal,
  NotRefusedClient,
  RefusedClient,
} from '../usageQueries.ts';
import { type BrownoutRecord, otherClients } from '../usageRow.ts';
import type { ReportingDatabase } from './database.ts';
import { dayMs, spanAt } from './spans.ts';

// The versions of the ledger's schema that added the table of refused clients, and the table of decisions.
const refusedSchemaVersion = 6;
const decisionsSchemaVersion = 7;
const dayBegin = `CAST(span AS BIGINT) * ${dayMs}`;
const otherClientsIdSql = `(SELECT id FROM clients WHERE name = '${otherClients}')`;

/**
 * The queries on brownouts, on SQLite and on PostgreSQL. They use days and never hours, because hours are deleted after a few
 * days. A row of a day has the exact times of its first and its last request. So it is known exactly whether a client called before
 * or after an instant of that day.
 */
export class BrownoutReads implements BrownoutQueries {
  readonly #database: ReportingDatabase;
  readonly #nameOf: (client: string) => string | undefined;

  constructor(database: ReportingDatabase, nameOf: (client: string) => string | undefined) {
    this.#database = database;
    this.#nameOf = nameOf;
  }

  async totals(version: string): Promise<readonly BrownoutTotal[]> {
    if ((await this.#database.schemaVersion()) < refusedSchemaVersion) return [];
    return this.#database.all(
      `SELECT brownout AS at, SUM(refused) AS refused, MAX(last) AS last,
        SUM(CASE WHEN client IS DISTINCT FROM ${otherClientsIdSql} THEN 1 ELSE 0 END) AS clients
        FROM brownout_client WHERE version = ? GROUP BY brownout ORDER BY brownout`,
      [await this.#idOf(version)],
    );
  }

  async decisions(version: string): Promise<readonly Omit<BrownoutRecord, 'version'>[]> {
    if ((await this.#database.schemaVersion()) < decisionsSchemaVersion) return [];
    return this.#database.all('SELECT at, state, reason, changed FROM brownouts WHERE version = ?', [version]);
  }

  async refused(period: BrownoutPeriod): Promise<readonly RefusedClient[]> {
    if ((await this.#database.schemaVersion()) < refusedSchemaVersion) return [];
    const { version, successor, retryUntil, moveUntil } = period;
    const [versionId, successorId] = [
      await this.#idOf(version),
      successor === undefined ? 0 : await this.#idOf(successor),
    ];
    // A client may have no name: some earlier releases deleted the name when they moved its requests to `other clients`.
    const rows = await this.#database.all<{
      id: number;
      client: string;
      refused: number;
      first: number;
      last: number;
      last_call: number;
      successor_first: number;
      successor_last_use: number;
    }>(
      `SELECT one.client AS id, COALESCE(name, '${otherClients}') AS client, refused, one.first AS first, one.last AS last,
        COALESCE(seen.last, one.last) AS last_call, COALESCE(moved.first, 0) AS successor_first,
        COALESCE(moved.used, 0) AS successor_last_use
        FROM brownout_client AS one LEFT JOIN clients ON clients.id = one.client
        LEFT JOIN version_client AS seen ON seen.version = one.version AND seen.client = one.client
        LEFT JOIN version_client AS moved ON moved.version = ? AND moved.client = one.client
        WHERE one.version = ? AND brownout = ? ORDER BY refused DESC, name`,
      [successorId, versionId, period.at],
    );
    // The days are read only for clients whose last use of the successor is too late, because an earlier use may be in time.
    const laterUsers = rows.filter((row) => row.successor_first < moveUntil && row.successor_last_use >= moveUntil);
    const lastUses = await this.#latestCalls(successorId, laterUsers, period.at, moveUntil, onlyUsesSql);
    const successorUseOf = ({ id: client, successor_last_use: lastUse }: (typeof rows)[number]) =>
      lastUse < moveUntil ? lastUse : (lastUses.get(client) ?? 0);
    // Calls are looked up only for clients that have not used the successor since the brownout first refused them.
    const laterCallers = rows.filter((row) => row.last_call >= retryUntil && successorUseOf(row) < row.first);
    const lastCalls = await this.#latestCalls(versionId, laterCallers, period.at, retryUntil);
    return rows.map((row) => ({
      client: row.client,
      name: this.#nameOf(row.client),
      refused: row.refused,
      first: row.first,
      last: row.last,
      lastCall: row.last_call,
      lastCallInRetryPeriod: row.last_call < retryUntil ? row.last_call : (lastCalls.get(row.id) ?? 0),
      successorUse: successorUseOf(row),
    }));
  }

  async notRefused(
    { version, at, end }: BrownoutPeriod,
    sparedNames: readonly string[],
    limit: number,
  ): Promise<{ readonly count: number; readonly clients: readonly NotRefusedClient[] }> {
    const versionId = await this.#idOf(version);
    const days = daysFrom(at, end - 1);
    const onDays = `FROM client_day WHERE version = ? AND span ${this.#database.inListSql} AND item NOT IN (${refusedClientsSql})`;
    // Clients that called only before or only after the brownout are left out. Most brownouts are on one day, and need no grouping,
    // which would double the time.
    const requestSums =
      days.length === 1
        ? `SELECT item, requests ${onDays} AND ${dayBegin} + last >= ? AND ${dayBegin} + first < ?`
        : `SELECT item, SUM(requests) AS requests ${onDays}
            GROUP BY item HAVING MAX(${dayBegin} + last) >= ? AND MIN(${dayBegin} + first) < ?`;
    const isSparedSql = `item IN (SELECT id FROM clients WHERE name ${this.#database.inListSql})`;
    const order = 'spared DESC, requests DESC, item';
    // There may be thousands of clients. Names are looked up only for those that are returned.
    const rows = await this.#database.all<{ client: string; requests: number; spared: number; total: number }>(
      `SELECT name AS client, requests, spared, total FROM (
          SELECT item, requests, CASE WHEN ${isSparedSql} THEN 1 ELSE 0 END AS spared, COUNT(*) OVER () AS total
          FROM (${requestSums}) AS sums WHERE item IS DISTINCT FROM ${otherClientsIdSql} ORDER BY ${order} LIMIT ?
        ) AS listed JOIN clients ON clients.id = item ORDER BY ${order}`,
      [sparedNames, versionId, days, versionId, at, at, end, limit],
    );
    const clients = rows.map(({ client, requests, spared }) => {
      return { client, requests, spared: spared === 1, name: this.#nameOf(client) };
    });
    return { count: rows[0]?.total ?? 0, clients };
  }

  /**
   * The last request of each client to a version, since the day of `at` and before `until`, by the id of the client. If a client
   * called before and after `until` on the same day, only its first request of that day is known.
   */
  async #latestCalls(
    version: number,
    clients: readonly { readonly id: number }[],
    at: number,
    until: number,
    condition = '',
  ): Promise<ReadonlyMap<number, number>> {
    const [first, last] = [`${dayBegin} + first`, `${dayBegin} + last`];
    const latestById = new Map<number, number>();
    let notFound = clients.map(({ id }) => id);
    // The last day comes first: most clients that still call have called on that day, and are not looked for on earlier days.
    for (const day of daysFrom(at, until).reverse()) {
      if (notFound.length === 0) break;
      const rows = await this.#database.all<{ id: number; called_at: number }>(
        `SELECT item AS id, CASE WHEN ${last} < ? THEN ${last} ELSE ${first} END AS called_at FROM client_day
          WHERE version = ? AND span = ? AND item ${this.#database.inListSql} AND ${first} < ? ${condition}`,
        [until, version, day, notFound, until],
      );
      for (const row of rows) latestById.set(row.id, row.called_at);
      notFound = notFound.filter((id) => !latestById.has(id));
    }
    return latestById;
  }

  /** 0 if the version has no requests. */
  async #idOf(version: string): Promise<number> {
    const [row] = await this.#database.all<{ id: number }>('SELECT id FROM versions WHERE name = ?', [version]);
    return row?.id ?? 0;
  }
}

// A day on which every request failed does not count as use.
const onlyUsesSql = 'AND (failing = 0 OR requests > failing)';
const refusedClientsSql = 'SELECT client FROM brownout_client WHERE version = ? AND brownout = ?';

/** The numbers of the days from one instant to another, both included. */
function daysFrom(from: number, to: number): number[] {
  const firstDay = spanAt('day', from);
  return Array.from({ length: spanAt('day', to) - firstDay + 1 }, (_one, index) => firstDay + index);
}
