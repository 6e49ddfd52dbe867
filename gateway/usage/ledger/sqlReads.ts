import { type Coverage, coverageOf, type Loss, unwrittenTime } from '../evidence/coverage.ts';
import type { FirstCall, InstanceDay, RouteSizes, SeriesPoint, UsageSums } from '../usageQueries.ts';
import { otherClients } from '../usageRow.ts';
import type { ReportingDatabase } from './database.ts';
import { lossesVersion, type Subject } from './schema.ts';
import { beginOf, dayMs, endOfTime, msPerSpan, type SpanLength, type SpanRange, spanAt, spanRanges } from './spans.ts';

/** `id` and `name` are those of the version, client or route. */
export type NamedSums = UsageSums & { readonly id: number; readonly name: string; readonly first: number };

/** A ledger that no gateway is heard to write. */
export interface UnwrittenLedger {
  /** By the clock of the ledger, epoch ms. */
  readonly now: () => number;
  /** The calls that its gateway has not recorded at `now`. Absent: none. */
  readonly unrecordedCalls?: (now: number) => Promise<readonly Loss[]>;
}

const otherClientsIdSql = `(SELECT id FROM clients WHERE name = '${otherClients}')`;

/**
 * SELECT statements on an open ledger, except those about single clients (`ClientReads`). They run on SQLite and on PostgreSQL.
 * The tables are sorted by version, then span. A statement that filters by client or route has a list of spans, not a range: so
 * the database looks up the client or route in each span, and does not read all rows of the range. A table such as
 * `route_day` has the spans of one length, here `day`. A `block` is a span of 30 days.
 */
export class SqlReads {
  readonly #database: ReportingDatabase;
  readonly #inListSql: string;

  constructor(database: ReportingDatabase) {
    this.#database = database;
    this.#inListSql = database.inListSql;
  }

  /**
   * Divides a period into spans for which the ledger has rows: none before `kept_from`, and rows per hour of clients and
   * routes only since `hours_from`.
   */
  async spans(
    since: number,
    until: number,
    subject: Subject,
    longest: 'day' | 'block' = 'block',
  ): Promise<SpanRange[]> {
    const from = Math.max(since, Number(await this.meta('kept_from')), 0);
    const hoursAreKept = subject === 'version' || from >= Number(await this.meta('hours_from'));
    return spanRanges(from, Math.max(until, from), hoursAreKept ? 'hour' : 'day', longest);
  }

  /** From the first to the last day with requests, epoch ms. A statement need not list spans outside this period. */
  async recordedPeriod(): Promise<{ readonly begin: number; readonly end: number }> {
    const [row] = await this.#database.all<{ first: number | null; last: number | null }>(
      'SELECT MIN(span) AS first, MAX(span) AS last FROM version_day',
    );
    if (row?.first == null || row.last === null) return { begin: 0, end: 0 };
    return { begin: row.first * dayMs, end: (row.last + 1) * dayMs };
  }

  /**
   * What the ledger covers of `version`, or of all versions. A pause of at most `maxGap` ms is no gap if the run before it was closed.
   * `unwritten`: for a ledger that no gateway is heard to write.
   */
  async coverage(
    version: string | undefined,
    maxGap: number,
    until?: number,
    unwritten?: UnwrittenLedger,
  ): Promise<Coverage> {
    const hasLosses = (await this.#database.schemaVersion()) >= lossesVersion;
    // Runs of earlier releases count as closed. In the store of a fleet, several runs are open at a time; the view `losses` has the
    // unclean ends.
    const closed = hasLosses && !this.#database.isShared ? 'closed' : '1 AS closed';
    const rows = await this.#database.all<{ began: number; seen: number; closed: number }>(
      `SELECT began, seen, ${closed} FROM runs`,
    );
    const losses = hasLosses
      ? await this.#database.all<Loss>('SELECT version, began AS "from", ended AS until, reason FROM losses')
      : [];
    const runs = rows.map(({ began, seen, closed }) => ({ began, seen, closed: closed === 1 }));
    const notBefore = Math.max(Number(await this.meta('kept_from')), Number(await this.meta('covered_from')));
    if (unwritten) {
      const now = unwritten.now();
      losses.push(...unwrittenTime(runs, now, maxGap), ...((await unwritten.unrecordedCalls?.(now)) ?? []));
    }
    return coverageOf(runs, losses, { notBefore, maxGap, until }, version);
  }

  /** The sums of each version, or of each route of `version`. */
  async sums(subject: 'version' | 'route', spans: readonly SpanRange[], version?: string): Promise<NamedSums[]> {
    const outcomes = (await this.hasOutcomeColumns()) ? 'failing, refused' : '0 AS failing, 0 AS refused';
    const idColumn = subject === 'version' ? 'version' : 'item';
    const versions = await this.versionIds(version);
    // In the tables, `first` and `last` are the times since the start of the span.
    const parts = spans.map(
      ({ length }) => `SELECT ${idColumn} AS id, requests, errors, served, ${outcomes},
        ${spanStartSql(length)} + first AS first, ${spanStartSql(length)} + last AS last
        FROM ${subject}_${length} WHERE version ${this.#inListSql} AND span BETWEEN ? AND ?`,
    );
    const sums = `SELECT id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(served) AS served,
      SUM(failing) AS failing, SUM(refused) AS refused, MIN(first) AS first, MAX(last) AS last
      FROM (${parts.join(' UNION ALL ')}) AS parts GROUP BY id`;
    return this.#database.all(
      `SELECT sums.*, name FROM (${sums}) AS sums JOIN ${subject}s USING (id) ORDER BY id`,
      spans.flatMap(({ from, to }) => [versions, from, to]),
    );
  }

  /**
   * The number of clients of each version, by the version's id, without `other clients`. For nearly all clients their first and
   * last request suffice. Only clients seen both before and after the period are looked up in it.
   */
  async clientCounts(spans: readonly SpanRange[]): Promise<Map<number, number>> {
    const begin = beginOf(spans);
    const end = Math.max(...spans.map(({ length, to }) => (to + 1) * msPerSpan[length]));
    // The longest spans first, because a hit in them is the likeliest.
    const lookedUpSpans = end >= endOfTime ? [] : [...spans].sort((a, b) => msPerSpan[b.length] - msPerSpan[a.length]);
    const seenWithin = lookedUpSpans.map(
      ({ length }) => `EXISTS (SELECT 1 FROM client_${length} AS seen WHERE seen.version = version_client.version
        AND seen.span ${this.#inListSql} AND seen.item = version_client.client)`,
    );
    const rows = await this.#database.all<{ version: number; clients: number }>(
      `SELECT version, COUNT(*) AS clients FROM version_client WHERE client IS DISTINCT FROM ${otherClientsIdSql}
        AND last >= ? AND first < ? AND (${['first >= ?', 'last < ?', ...seenWithin].join(' OR ')}) GROUP BY version`,
      [begin, end, begin, end, ...lookedUpSpans.map(spanNumbers)],
    );
    return new Map(rows.map((row) => [row.version, row.clients]));
  }

  /** The number of clients of each route since `since`, without `other clients`, by the id of the route. */
  async clientsOfRoutes(version: string, since: number): Promise<Map<number, number>> {
    const rows = await this.#database.all<{ route: number; clients: number }>(
      `SELECT route, COUNT(client) AS clients FROM route_client
        WHERE version = ? AND last >= ? AND client IS DISTINCT FROM ${otherClientsIdSql} GROUP BY route`,
      [await this.idOf(version), since],
    );
    return new Map(rows.map(({ route, clients }) => [route, clients]));
  }

  /** The requests of one client, to one version or to all of them. */
  async requestsOf(client: string, spans: readonly SpanRange[], version?: string): Promise<number> {
    if (spans.length === 0) return 0;
    const versions = await this.versionIds(version);
    const parts = spans.map(
      ({ length }) => `SELECT requests FROM client_${length}
        WHERE version ${this.#inListSql} AND span ${this.#inListSql} AND item = (SELECT id FROM clients WHERE name = ?)`,
    );
    const [row] = await this.#database.all<{ requests: number | null }>(
      `SELECT SUM(requests) AS requests FROM (${parts.join(' UNION ALL ')}) AS parts`,
      spans.flatMap((one) => [versions, spanNumbers(one), client]),
    );
    return row?.requests ?? 0;
  }

  /**
   * Requests of each version by hour or day, oldest first. `routes`: only requests to these. Routes have rows per hour only
   * for the last days.
   */
  async series(
    step: 'hour' | 'day',
    since: number,
    version?: string,
    routes?: readonly string[],
  ): Promise<readonly SeriesPoint[]> {
    const versionValues = version === undefined ? [] : [version];
    if (routes !== undefined)
      return this.#database.all(
        `SELECT versions.name AS version, ${spanStartSql(step)} AS at, SUM(requests) AS requests, SUM(failing) AS failing
          FROM route_${step} JOIN versions ON versions.id = version JOIN routes ON routes.id = item
          WHERE span >= ? AND routes.name ${this.#inListSql} ${version === undefined ? '' : 'AND versions.name = ?'}
          GROUP BY versions.name, span ORDER BY span, versions.name`,
        [spanAt(step, since), routes, ...versionValues],
      );
    return this.#database.all(
      `SELECT name AS version, ${spanStartSql(step)} AS at, requests, ${await this.#failingColumn()} FROM versions
        JOIN version_${step} ON version = id
        WHERE span >= ? ${version === undefined ? '' : 'AND name = ?'} ORDER BY span, name`,
      [spanAt(step, since), ...versionValues],
    );
  }

  /** The largest requests to each route of a version on each day. Nothing in a ledger of an earlier release. */
  async sizes(version: string, since: number): Promise<readonly RouteSizes[]> {
    if ((await this.#database.schemaVersion()) < lossesVersion) return [];
    return this.#database.all(
      `SELECT name AS route, ${spanStartSql('day')} AS at, body, target, head FROM sizes JOIN routes ON routes.id = route
        WHERE version = ? AND span >= ?`,
      [await this.idOf(version), spanAt('day', since)],
    );
  }

  async sizesSince(): Promise<number> {
    const hasSizes = (await this.#database.schemaVersion()) >= lossesVersion;
    return hasSizes ? Number(await this.meta('sizes_since')) : Number.POSITIVE_INFINITY;
  }

  /** The names of the gateways that share the ledger; undefined if there is only one. */
  async instances(): Promise<readonly string[] | undefined> {
    if (!this.#database.isShared) return undefined;
    const rows = await this.#database.all<{ name: string }>('SELECT DISTINCT name FROM gateways ORDER BY name');
    return rows.map(({ name }) => name);
  }

  /** The requests to the gateways of this name, by version and day, oldest first. */
  async instanceDays(name: string, since: number, version?: string): Promise<readonly InstanceDay[]> {
    return this.#database.all(
      `SELECT name AS version, ${spanStartSql('day')} AS at, SUM(requests) AS requests, SUM(errors) AS errors,
        SUM(served) AS served, SUM(failing) AS failing, SUM(refused) AS refused
        FROM version_day_instance JOIN versions ON versions.id = version
        WHERE instance IN (SELECT instance FROM gateways WHERE name = ?) AND span >= ?
          ${version === undefined ? '' : 'AND name = ?'} GROUP BY name, span ORDER BY span, name`,
      [name, spanAt('day', since), ...(version === undefined ? [] : [version])],
    );
  }

  /** All clients in the ledger. */
  async clients(): Promise<readonly { readonly id: number; readonly client: string }[]> {
    return this.#database.all('SELECT id, name AS client FROM clients');
  }

  /** The clients that first called a version at `since` or later and before `before`, over the whole ledger. */
  async firstCalls(
    version: string,
    since: number,
    before: number,
    limit: number,
  ): Promise<readonly Omit<FirstCall, 'name'>[]> {
    return this.#database.all(
      `SELECT name AS client, first, ${await this.#usedColumn()} AS "lastUsed" FROM version_client JOIN clients ON clients.id = client
        WHERE version = ? AND first >= ? AND first < ? ORDER BY first, name LIMIT ?`,
      [await this.idOf(version), since, before, limit],
    );
  }

  /**
   * The id of a version; 0 if it has no requests. Statements take the id instead of a subquery, so that PostgreSQL can
   * estimate how many rows they read.
   */
  async idOf(version: string): Promise<number> {
    return (await this.versionIds(version))[0] ?? 0;
  }

  /** The ids of all versions, of the version with this name, or of those for which a function returns true. */
  async versionIds(wanted?: string | ((name: string) => boolean)): Promise<number[]> {
    const rows = await this.#database.all<{ id: number; name: string }>('SELECT id, name FROM versions', []);
    const isWanted = typeof wanted === 'function' ? wanted : (name: string) => wanted === undefined || name === wanted;
    return rows.filter(({ name }) => isWanted(name)).map(({ id }) => id);
  }

  /** False for a ledger of an earlier release that is not migrated yet: it has no columns for failed requests. */
  async hasOutcomeColumns(): Promise<boolean> {
    return (await this.#database.schemaVersion()) >= 3;
  }

  async #failingColumn(): Promise<string> {
    return (await this.hasOutcomeColumns()) ? 'failing' : '0 AS failing';
  }

  async #usedColumn(): Promise<string> {
    return (await this.hasOutcomeColumns()) ? 'used' : 'last';
  }

  /** The value of a key in the table `meta`; 0 if there is none. */
  async meta(key: string): Promise<number | string> {
    const rows = await this.#database.all<{ value: number | string }>('SELECT value FROM meta WHERE key = ?', [key]);
    return rows[0]?.value ?? 0;
  }
}

export function spanNumbers({ from, to }: Pick<SpanRange, 'from' | 'to'>): number[] {
  return Array.from({ length: to - from + 1 }, (_one, index) => from + index);
}

/** The start of a row's span, epoch ms. Without the CAST, PostgreSQL would multiply 32-bit integers, which overflow. */
export function spanStartSql(length: SpanLength): string {
  return `CAST(span AS BIGINT) * ${msPerSpan[length]}`;
}
