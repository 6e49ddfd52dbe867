import { type Instant, isoText, isoTextOrNull } from '../../shared/instant.ts';
import { evidenceOf } from '../callFacts.ts';
import { onlyFails } from '../counting/countedExchange.ts';
import { type LedgerRoute, requestsWithoutRoute } from '../counting/routeNames.ts';
import type { LiveFacts } from '../evidence/callEvidence.ts';
import { countedSince } from '../ledger/spans.ts';
import type { InstanceDay, RouteQueries, SeriesPoint, UsageQueries, UsageSums } from '../usageQueries.ts';
import { isSingleClient } from '../usageRow.ts';
import {
  type ClientRow,
  clientJson,
  type DayRow,
  type Grouping,
  type MigrationRow,
  type MigrationState,
  migrationState,
  pageOf,
  type ReportRows,
  type RequestCount,
  type RouteRow,
  type UsagePage,
  type VersionRow,
} from './usagePage.ts';

export interface UsageReportQuery {
  readonly by: Grouping;
  /** The path segment, `v1`; undefined: every version. */
  readonly version: string | undefined;
  /** Only the requests to this route of `version`. Undefined: to all. */
  readonly route?: LedgerRoute | undefined;
  /** Epoch ms. The report begins at the start of this hour, or of this day if hours are not counted for all its rows. */
  readonly since: number;
  readonly until: number;
  readonly step: 'hour' | 'day';
  /** Only the requests to this gateway of a fleet, for reports by version or day. Undefined: to all. */
  readonly instance?: string | undefined;
  /** The successor of a version; undefined: it has none. */
  readonly successor: (version: string) => string | undefined;
  /** For reports by route: the status with which the successor was seen to lack the counterpart of a route; undefined: not seen. */
  readonly missingStatus?: (version: string, route: string) => number | undefined;
  /** What the running gateways know. Absent: none was asked. */
  readonly live?: LiveFacts;
  /** Undefined: all rows. */
  readonly page?: UsagePage | undefined;
}

/** The body of `GET /api/usage`. */
export type UsageReport = UsageHead &
  (
    | { readonly by: 'version'; readonly rows: readonly VersionRow[] }
    | { readonly by: 'client'; readonly rows: readonly ClientRow[] }
    | { readonly by: 'route'; readonly rows: readonly RouteRow[] }
    | { readonly by: 'day'; readonly rows: readonly DayRow[] }
    | { readonly by: 'migration'; readonly rows: readonly MigrationRow[] }
  );

export type UsageBy<By extends Grouping> = UsageHead & { readonly by: By; readonly rows: readonly ReportRows[By][] };

/** What the reports of all groupings have. */
export interface UsageHead {
  readonly version: string | null;
  /** `GET /drinks/{id}`: the route that is reported on; absent: all of them. */
  readonly route?: string;
  /** With `route`: requests to the version that were counted without their route. They may be requests to `route`. */
  readonly without_route?: number;
  /** The gateway that is reported on; absent: all of them. */
  readonly instance?: string;
  readonly step: 'hour' | 'day';
  /** The start of an hour or of a day: all counts are of the time from then to `until`. */
  readonly since: Instant;
  readonly until: Instant;
  /** Since when every call of the version, or of all versions, is in the ledger. Null: the ledger is empty. */
  readonly covered_since: Instant | null;
  /** The same, within the period: `since`, or later. Earlier counts may be too low. */
  readonly counted_since: Instant | null;
  /** Why the ledger cannot be written or read. Then rows may be missing. */
  readonly problem: string | null;
  /** Every problem of the ledger, including `problem`, and why calls of other gateways or of a worker may be missing. */
  readonly problems: readonly string[];
  /** Requests that were counted as `other clients`, because the clients exceeded the limit. */
  readonly folded: number;
  /** Rows that wait in memory until they can be written. */
  readonly held: number;
  /** The number of rows before `limit` and `offset`. */
  readonly total: number;
  /** The number of rows before `filter` and `state`. */
  readonly total_unfiltered: number;
}

export async function usageReport(queries: UsageQueries, asked: UsageReportQuery): Promise<UsageReport> {
  // The compiler does not know that the rows are those of `by`, although `reportBy` has them so.
  return (await reportBy(asked.by, queries, asked)) as UsageReport;
}

async function reportBy<By extends Grouping>(
  by: By,
  queries: UsageQueries,
  asked: UsageReportQuery,
): Promise<UsageBy<By>> {
  const { version, route, instance, step, until } = asked;
  const isByDay = instance !== undefined || (by === 'day' && step === 'day');
  const since = countedSince(asked.since, until, isByDay ? 'day' : 'hour');
  const query = { ...asked, since };
  const routeQueries = route ? await queries.ofRoutes(route.names) : queries;
  const { rowsOf, completed } = reports[by];
  const allRows = await rowsOf(queries, query, routeQueries);
  const { rows: pageRows, total } = pageOf(allRows, query.page ?? {});
  const rows = (await completed?.(pageRows, routeQueries, since)) ?? pageRows;
  const routeMembers = route && version !== undefined ? await routeFields(route, version, since, queries) : {};
  // `other clients` are counted for the whole fleet.
  const folded = instance === undefined ? await foldedIn(queries, routeQueries, query) : 0;
  const evidence = await evidenceOf(queries, { version, now: until, quiet: until - since, since }, asked.live);
  const unheard = [...evidence.missing.filter((one) => asked.live?.gaps.includes(one)), ...evidence.pending];
  const head: UsageHead = {
    version: version ?? null,
    ...routeMembers,
    ...(instance !== undefined && { instance }),
    step,
    since: isoText(since),
    until: isoText(until),
    covered_since: isoTextOrNull(evidence.coveredSince),
    counted_since: isoTextOrNull(evidence.countedSince),
    // Read last, because the queries above set it.
    problem: queries.problem ?? null,
    problems: [...queries.problems, ...unheard.map(({ text }) => text)],
    folded,
    held: queries.unwrittenRows,
    total,
    total_unfiltered: allRows.length,
  };
  return { by, ...head, rows };
}

async function routeFields(route: LedgerRoute, version: string, since: number, queries: UsageQueries) {
  return { route: `${route.method} ${route.path}`, without_route: await requestsWithoutRoute(queries, version, since) };
}

/** The requests of `other clients`. */
async function foldedIn(
  queries: UsageQueries,
  routeQueries: RouteQueries,
  { version, route, since }: UsageReportQuery,
): Promise<number> {
  if (route === undefined || version === undefined) return queries.requestsOfOtherClients(since, version);
  const clients = await routeQueries.byClient(version, since);
  return clients.find((one) => !isSingleClient(one))?.requests ?? 0;
}

/** `routeQueries`: of the route that is reported on, or the same as `queries`. */
interface Report<Row> {
  rowsOf(queries: UsageQueries, query: UsageReportQuery, routeQueries: RouteQueries): Promise<readonly Row[]>;
  /** Adds to the rows of a page what is too much for all rows. */
  completed?(rows: readonly Row[], routeQueries: RouteQueries, since: number): Promise<readonly Row[]>;
}

const reports: { readonly [By in Grouping]: Report<ReportRows[By]> } = {
  version: {
    rowsOf: async (queries, { since, version, instance }) => {
      if (instance !== undefined) return instanceTotals(await queries.instanceDays(instance, since, version));
      const days = await queries.series('day', since, version);
      const totals = await queries.totals(since);
      return totals
        .filter((one) => version === undefined || one.version === version)
        .map(({ last, ...counts }) => ({
          ...counts,
          last: isoText(last),
          days: days.filter((point) => point.version === counts.version).map(requestCount),
        }));
    },
  },

  client: {
    rowsOf: (queries, query, routeQueries) =>
      eachVersion(queries, query, async (version) => {
        const clients = await routeQueries.byClient(version, query.since);
        const rows = clients.map((one) => ({ version, ...clientJson(one), days: null }));
        return query.page?.state === undefined ? rows : withStates(rows, version, queries, query);
      }),
    completed: withDays,
  },

  route: {
    rowsOf: (queries, query, routeQueries) =>
      eachVersion(queries, query, async (version) => {
        const routes = await routeQueries.byRoute(version, query.since);
        return routes.map(({ route, requests, errors, failing, clients, last }) => {
          const successorStatus = query.missingStatus?.(version, route) ?? null;
          const counts = { requests, errors, failing, clients, last: isoText(last) };
          return { version, route, ...counts, successor_status: successorStatus };
        });
      }),
  },

  day: {
    rowsOf: async (queries, { step, since, version, instance }, routeQueries) => {
      const points = await (instance === undefined
        ? routeQueries.series(step, since, version)
        : queries.instanceDays(instance, since, version));
      return points.map((point) => ({ version: point.version, ...requestCount(point) }));
    },
  },

  migration: {
    rowsOf: (queries, query) =>
      eachVersion(queries, query, async (version) => {
        const successor = query.successor(version);
        return successor === undefined ? [] : migrationRows(queries, version, successor, query.since);
      }),
  },
};

/** For one gateway, the number of clients and the last request are not known, because clients are counted for the whole fleet. */
function instanceTotals(days: readonly InstanceDay[]): VersionRow[] {
  const byVersion = [...Map.groupBy(days, ({ version }) => version)];
  return byVersion
    .map(([version, versionDays]) => {
      const sum = (count: keyof UsageSums & keyof InstanceDay): number =>
        versionDays.reduce((total, one) => total + one[count], 0);
      const [requests, errors, served] = [sum('requests'), sum('errors'), sum('served')];
      const otherCounts = { failing: sum('failing'), refused: sum('refused'), clients: null, last: null };
      return { version, requests, errors, served, ...otherCounts, days: versionDays.map(requestCount) };
    })
    .sort((a, b) => b.requests - a.requests);
}

/** Why there is no report on this gateway alone; undefined: there is one. */
export async function instanceFault(
  queries: UsageQueries,
  { by, step, instance }: Pick<UsageReportQuery, 'by' | 'step' | 'instance'>,
): Promise<string | undefined> {
  if (instance === undefined) return undefined;
  if (by !== 'version' && by !== 'day')
    return 'counts by client and by route are kept for the whole fleet only. For one gateway, use by=version or by=day.';
  if (step === 'hour') return 'counts by gateway are kept by day.';
  const gatewayNames = await queries.instances();
  if (gatewayNames === undefined)
    return 'the ledger is not that of a fleet. Gateways share one if they set fleet.store.';
  if (gatewayNames.includes(instance) || queries.problem !== undefined) return undefined;
  return `the fleet has no gateway of this name. It has ${gatewayNames.slice(0, 20).join(', ') || 'none yet'}.`;
}

/** The rows of `version`; if it is undefined, those of every version, one after the other. */
async function eachVersion<Row>(
  queries: UsageQueries,
  { version, since }: UsageReportQuery,
  rowsOf: (version: string) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  if (version !== undefined) return rowsOf(version);
  const totals = await queries.totals(since);
  const rows = await Array.fromAsync(totals, (one) => rowsOf(one.version));
  return rows.flat();
}

// So that a report of tens of thousands of clients stays small.
const maxClientsWithDays = 50;

/** Adds the requests per day to the first rows of each version. */
async function withDays(rows: readonly ClientRow[], queries: RouteQueries, since: number): Promise<ClientRow[]> {
  const daysByRow = new Map<ClientRow, RequestCount[]>();
  for (const [version, versionRows] of Map.groupBy(rows, (row) => row.version)) {
    const rowsWithDays = versionRows.slice(0, maxClientsWithDays);
    const clients = rowsWithDays.map(({ client }) => client);
    const byClient = Map.groupBy(await queries.clientSeries(version, clients, since), ({ client }) => client);
    for (const row of rowsWithDays) daysByRow.set(row, (byClient.get(row.client) ?? []).map(requestCount));
  }
  return rows.map((row) => ({ ...row, days: daysByRow.get(row) ?? null }));
}

/** Adds the migration state to each row, and adds a row for each client that uses only the successor now. */
async function withStates(
  rows: readonly ClientRow[],
  version: string,
  queries: UsageQueries,
  query: UsageReportQuery,
): Promise<ClientRow[]> {
  const successor = query.successor(version);
  const movement = successor === undefined ? [] : await queries.movement(version, successor, query.since);
  const stateByClient = new Map(movement.map((one) => [one.client, migrationState(one)]));
  const onlySuccessor = movement.filter(({ from }) => from === undefined);
  return [
    ...rows.map((row) => ({ ...row, state: stateByClient.get(row.client) ?? stateWithoutMovement(row) })),
    ...onlySuccessor.map(({ client, name }) => ({
      version,
      client,
      name: name ?? null,
      ...noUse,
      state: stateByClient.get(client) ?? 'moved',
    })),
  ];
}

/** `other clients` has no state, because it is not one client. */
function stateWithoutMovement(row: ClientRow): MigrationState | '' {
  if (!isSingleClient(row)) return '';
  return onlyFails(row) ? 'failing' : 'stayed';
}

const noUse = {
  requests: 0,
  errors: 0,
  served: 0,
  failing: 0,
  refused: 0,
  first: null,
  last: null,
  last_used: null,
  routes: 0,
  top_routes: [],
  days: null,
};

async function migrationRows(
  queries: UsageQueries,
  version: string,
  successor: string,
  since: number,
): Promise<MigrationRow[]> {
  const clients = await queries.movement(version, successor, since);
  return clients.map(({ client, name, hasUsedOld, from, to }) => ({
    version,
    successor,
    client,
    name: name ?? null,
    state: migrationState({ hasUsedOld, from, to }),
    requests: from?.requests ?? 0,
    failing: from?.failing ?? 0,
    last: isoTextOrNull(from?.last),
    successor_requests: to?.requests ?? 0,
    successor_first: isoTextOrNull(to?.first),
    successor_last: isoTextOrNull(to?.last),
  }));
}

function requestCount({ at, requests }: SeriesPoint): RequestCount {
  return { at: isoText(at), requests };
}
