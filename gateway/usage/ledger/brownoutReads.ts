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

// An earlier ledger has no table of refused clients. The next version added the table of decisions.
const firstSchemaVersion = 6;
const begin = `CAST(span AS BIGINT) * ${dayMs}`;
const othersId = `(SELECT id FROM clients WHERE name = '${otherClients}')`;

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
    if ((await this.#database.schemaVersion()) < firstSchemaVersion) return [];
    return this.#database.all(
      `SELECT brownout AS at, SUM(refused) AS refused, MAX(last) AS last,
        SUM(CASE WHEN client IS DISTINCT FROM ${othersId} THEN 1 ELSE 0 END) AS clients
        FROM brownout_client WHERE version = ? GROUP BY brownout ORDER BY brownout`,
      [await this.#idOf(version)],
    );
  }

  async decisions(version: string): Promise<readonly Omit<BrownoutRecord, 'version'>[]> {
    if ((await this.#database.schemaVersion()) <= firstSchemaVersion) return [];
    return this.#database.all('SELECT at, state, reason, changed FROM brownouts WHERE version = ?', [version]);
  }

  async refused(period: BrownoutPeriod): Promise<readonly RefusedClient[]> {
    if ((await this.#database.schemaVersion()) < firstSchemaVersion) return [];
    const id = await this.#idOf(period.version);
    // A gateway of an earlier release may have deleted the name of a client that it folded.
    const rows = await this.#database.all<{
      id: number;
      client: string;
      refused: number;
      first: number;
      last: number;
      called: number;
    }>(
      `SELECT one.client AS id, COALESCE(name, '${otherClients}') AS client, refused, one.first AS first, one.last AS last,
        COALESCE(seen.last, one.last) AS called
        FROM brownout_client AS one LEFT JOIN clients ON clients.id = one.client
        LEFT JOIN version_client AS seen ON seen.version = one.version AND seen.client = one.client
        WHERE one.version = ? AND brownout = ? ORDER BY refused DESC, name`,
      [id, period.at],
    );
    const { version, successor, soon, moving } = period;
    const calls = await this.#latestCalls(version, period, soon);
    const uses = successor === undefined ? new Map() : await this.#latestCalls(successor, period, moving, isUse);
    return rows.map(({ id: client, called, ...row }) => ({
      ...row,
      name: this.#nameOf(row.client),
      lastCall: called,
      soonCall: calls.get(client) ?? 0,
      successorUse: uses.get(client) ?? 0,
    }));
  }

  async notRefused({ version, at, end }: BrownoutPeriod): Promise<readonly NotRefusedClient[]> {
    const id = await this.#idOf(version);
    const days = daysFrom(at, end - 1);
    // Clients that called only before or only after the brownout on these days were not spared.
    const requests = `SELECT item, SUM(requests) AS requests FROM client_day
      WHERE version = ? AND span ${this.#database.isInList} AND item NOT IN (${refusedBy})
      GROUP BY item HAVING MAX(${begin} + last) >= ? AND MIN(${begin} + first) < ?`;
    const rows = await this.#database.all<{ client: string; requests: number }>(
      `SELECT name AS client, requests FROM (${requests}) AS sums JOIN clients ON clients.id = item
        WHERE name <> '${otherClients}' ORDER BY requests DESC, item`,
      [id, days, id, at, at, end],
    );
    return rows.map((row) => ({ ...row, name: this.#nameOf(row.client) }));
  }

  /** By the id of a client that the brownout refused: its last request to `called` since the day of the start and before `until`. */
  async #latestCalls(
    called: string,
    { version, at }: BrownoutPeriod,
    until: number,
    condition = '',
  ): Promise<ReadonlyMap<number, number>> {
    const [first, last] = [`${begin} + first`, `${begin} + last`];
    // On the last day, the client may have called before and after `until`. Its first request is then later than all of the days before.
    const rows = await this.#database.all<{ id: number; called_at: number }>(
      `SELECT item AS id, MAX(CASE WHEN ${last} < ? THEN ${last} ELSE ${first} END) AS called_at FROM client_day
        WHERE version = ? AND span ${this.#database.isInList} AND item IN (${refusedBy}) AND ${first} < ? ${condition}
        GROUP BY item`,
      [until, await this.#idOf(called), daysFrom(at, until), await this.#idOf(version), at, until],
    );
    return new Map(rows.map((row) => [row.id, row.called_at]));
  }

  /** 0 if the version has no requests. */
  async #idOf(version: string): Promise<number> {
    const [row] = await this.#database.all<{ id: number }>('SELECT id FROM versions WHERE name = ?', [version]);
    return row?.id ?? 0;
  }
}

// Days on which every request failed are not use.
const isUse = 'AND (failing = 0 OR requests > failing)';
const refusedBy = 'SELECT client FROM brownout_client WHERE version = ? AND brownout = ?';

/** The numbers of the days from one instant to another, both included. */
function daysFrom(from: number, to: number): number[] {
  const first = spanAt('day', from);
  return Array.from({ length: spanAt('day', to) - first + 1 }, (_one, index) => first + index);
}
