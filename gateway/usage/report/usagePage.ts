import { type Instant, isoText, isoTextOrNull } from '../../shared/instant.ts';
import { onlyFails } from '../counting/countedExchange.ts';
import type { ClientCounts, ClientMovement, ClientUse, Movement } from '../usageQueries.ts';

export const groupings = ['version', 'client', 'route', 'day', 'migration'] as const;
export type Grouping = (typeof groupings)[number];

/** The grouping of a query without `by`. Clients are counted for the whole fleet only, not for one `instance` of it. */
export function defaultGrouping(version: string | undefined, instance: string | undefined): Grouping {
  return version === undefined || instance !== undefined ? 'version' : 'client';
}

/** Why a report cannot be limited to one route, in words such as `needs a version.` Undefined: it can. */
export function whyRouteNotAllowed(query: {
  readonly by: Grouping;
  readonly version: string | undefined;
  readonly step?: string | undefined;
  readonly instance: string | undefined;
}): string | undefined {
  if (query.version === undefined) return 'needs a version.';
  if (query.instance !== undefined) return 'is counted for the whole fleet, and cannot be combined with an instance.';
  if (query.step === 'hour') return 'is counted by day.';
  return query.by === 'client' || query.by === 'route' || query.by === 'day'
    ? undefined
    : 'needs a report by client, route or day.';
}

/** The rows of a usage report, by what each row is about. */
export interface ReportRows {
  readonly version: VersionRow;
  readonly client: ClientRow;
  readonly route: RouteRow;
  readonly day: DayRow;
  readonly migration: MigrationRow;
}

// Not interfaces, so that a row is also a map of columns.

export type VersionRow = {
  readonly version: string;
  readonly requests: number;
  readonly errors: number;
  readonly served: number;
  readonly failing: number;
  readonly refused: number;
  /** Null: not known of one gateway, because clients are counted for the whole fleet. */
  readonly clients: number | null;
  /** Null: not known of one gateway. */
  readonly last: Instant | null;
  readonly days: readonly RequestCount[];
};

export type ClientRow = {
  readonly version: string;
  readonly client: string;
  readonly name: string | null;
  readonly requests: number;
  readonly errors: number;
  readonly served: number;
  readonly failing: number;
  readonly refused: number;
  /** Null: it uses only the successor. */
  readonly first: Instant | null;
  readonly last: Instant | null;
  /** The last request that neither failed nor was refused by a freeze. Null: there is none. */
  readonly last_used: Instant | null;
  readonly routes: number;
  readonly top_routes: readonly UsedRoute[];
  /** With the parameter `state`. Empty for `other clients`. */
  readonly state?: MigrationState | '';
  /** The start of the freeze that does not know the client. */
  readonly new_since?: Instant;
  /** Null: the report has too many clients. */
  readonly days: readonly RequestCount[] | null;
};

export type RouteRow = {
  readonly version: string;
  readonly route: string;
  readonly requests: number;
  readonly errors: number;
  readonly failing: number;
  readonly clients: number;
  readonly last: Instant;
  /** The status with which the successor answers the counterpart, if it was seen to lack it. */
  readonly successor_status: number | null;
};

export type DayRow = RequestCount & { readonly version: string };

export type MigrationRow = {
  readonly version: string;
  readonly successor: string;
  readonly client: string;
  readonly name: string | null;
  readonly state: MigrationState;
  readonly requests: number;
  readonly failing: number;
  readonly last: Instant | null;
  readonly successor_requests: number;
  readonly successor_first: Instant | null;
  readonly successor_last: Instant | null;
};

export type ReportCell = string | number | null | undefined | readonly RequestCount[] | readonly UsedRoute[];

/** A row of any report, read by the names of columns. */
export type Cells = Readonly<Record<string, ReportCell>>;

export type RequestCount = { readonly at: Instant; readonly requests: number };

export type UsedRoute = { readonly route: string; readonly requests: number; readonly last: Instant };

/** A client's use as JSON, in usage reports and in the retirement verdict. */
export function clientJson(use: ClientUse) {
  return { ...countsJson(use), routes: use.routes, top_routes: routesJson(use.topRoutes) };
}

/** A client's use as in `clientJson`, without the routes. `lastUsed`: the last request that neither failed nor was refused by a freeze. */
export function countsJson({ client, name, first, last, lastUsed, ...counts }: ClientCounts) {
  const { requests, errors, served, failing, refused } = counts;
  return {
    client,
    name: name ?? null,
    requests,
    errors,
    served,
    failing,
    refused,
    first: isoText(first),
    last: isoText(last),
    last_used: isoTextOrNull(lastUsed),
  };
}

function routesJson(routes: ClientUse['topRoutes']): UsedRoute[] {
  return routes.map(({ route, requests, last }) => ({ route, requests, last: isoText(last) }));
}

/** The values of `UsagePage.state`. */
export const states = [
  'here',
  'stayed',
  'both',
  'went back',
  'moved',
  'successor only',
  'failing',
  'refused',
  'any',
] as const;

/** Selects and sorts the rows of a report. */
export interface UsagePage {
  /** The number of rows; undefined: all of them. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Undefined: by version, then most requests first. */
  readonly sort?: { readonly column: string; readonly descending: boolean } | undefined;
  /** A part of the client, its name or the route. Case does not matter. */
  readonly filter?: string | undefined;
  /**
   * `here`: clients of the version with at least one request that did not fail; `refused`: clients with refused requests; `any`:
   * all clients, including those that use only the successor now. Undefined: the clients of the version, without their states.
   */
  readonly state?: MigrationState | 'here' | 'refused' | 'any' | undefined;
}

/** The columns that rows can be sorted by. `client` sorts by the client's name, if it has one. */
export const sortableColumns: { readonly [By in Grouping]?: readonly (keyof ReportRows[By])[] } = {
  client: [
    'client',
    'requests',
    'errors',
    'served',
    'failing',
    'refused',
    'first',
    'last',
    'last_used',
    'routes',
    'state',
  ],
  migration: ['client', 'requests', 'last', 'successor_requests', 'successor_first', 'successor_last', 'state'],
  route: ['route', 'requests', 'errors', 'failing', 'clients', 'last'],
};

/** The rows of a page; `total` is their number before `limit` and `offset`. */
export function pageOf<Row extends Cells>(
  allRows: readonly Row[],
  page: UsagePage,
): { readonly rows: readonly Row[]; readonly total: number } {
  const { limit, offset = 0, sort } = page;
  const matchingRows = rowsMatching(allRows, page);
  const sorted = sort ? inOrder(matchingRows, sort.column, sort.descending) : matchingRows;
  return { rows: sorted.slice(offset, limit === undefined ? undefined : offset + limit), total: matchingRows.length };
}

function rowsMatching<Row extends Cells>(
  allRows: readonly Row[],
  { filter = '', state = 'any' }: UsagePage,
): readonly Row[] {
  const needle = filter.trim().toLowerCase();
  // Without `state`, a report has only the clients of the version, so all its rows are wanted.
  if (needle === '' && state === 'any') return allRows;
  return allRows.filter((row) => {
    if (!hasState(row, state)) return false;
    return `${row['name'] ?? ''} ${row['client'] ?? row['route'] ?? ''}`.toLowerCase().includes(needle);
  });
}

function hasState(row: Cells, state: NonNullable<UsagePage['state']>): boolean {
  if (state === 'here')
    return row['last'] !== null && !onlyFails({ requests: Number(row['requests']), failing: Number(row['failing']) });
  if (state === 'refused') return Number(row['refused']) > 0;
  return state === 'any' || row['state'] === state;
}

// Shared by all comparisons: creating a collator is slow.
const collator = new Intl.Collator('en', { numeric: true });

/** A stable sort, so that pages never overlap. */
function inOrder<Row extends Cells>(rows: readonly Row[], column: string, descending: boolean): readonly Row[] {
  const cellOf = (row: Row): ReportCell => (column === 'client' ? (row['name'] ?? row['client']) : row[column]);
  const isTime = /(?:^|_)(?:first|last|used)$/.test(column);
  const compare = (a: ReportCell, b: ReportCell): number => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    const [textA, textB] = [String(a ?? ''), String(b ?? '')];
    // RFC 3339 instants of equal length sort by their characters, which is many times as fast as the collator.
    if (isTime) return textA < textB ? -1 : textA > textB ? 1 : 0;
    return collator.compare(textA, textB);
  };
  return rows.toSorted((a, b) => (descending ? -1 : 1) * compare(cellOf(a), cellOf(b)));
}

/**
 * How far a client has moved from one version to its successor.
 * - `stayed`: it uses only the old version
 * - `both`: it uses both
 * - `moved`: it used the old version and now uses only the successor
 * - `successor only`: it never used the old version
 * - `went back`: it used the successor, and since then only the old version
 * - `failing`: it uses neither; all its requests were answered 4xx
 */
export const migrationStates = ['stayed', 'both', 'moved', 'successor only', 'went back', 'failing'] as const;
export type MigrationState = (typeof migrationStates)[number];

// If a client uses both versions at the same time, it is random which of them it used last.
const minWentBackMs = 3_600_000;

export function migrationState(movement: Pick<ClientMovement, 'from' | 'to' | 'hasUsedOld'>): MigrationState {
  const [from, to] = [unlessAllFailed(movement.from), unlessAllFailed(movement.to)];
  if (to === undefined) return from === undefined ? 'failing' : 'stayed';
  if (from === undefined) return movement.hasUsedOld ? 'moved' : 'successor only';
  return from.last - to.last >= minWentBackMs ? 'went back' : 'both';
}

function unlessAllFailed<Side extends Movement>(side: Side | undefined): Side | undefined {
  return side === undefined || onlyFails(side) ? undefined : side;
}

/** A state as it is shown, with the versions' names: `/v1 only`. Any other text is returned unchanged. */
export function stateInWords(state: string, version: string, successor: string): string {
  if (state === 'stayed') return `${version} only`;
  return state === 'successor only' ? `${successor} only` : state;
}
