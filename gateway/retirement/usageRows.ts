import type { SeriesPoint, UsageQueries } from '../usage/queries.ts';
import { migrationState } from './migration.ts';
import { servedRoutes } from './served.ts';
import type { Grouping, UsageQuestion } from './usageReport.ts';

export type Cell = string | number | null | readonly Count[] | readonly UsedRoute[];

/** One line of a report, under the names of the columns. */
export type Row = Readonly<Record<string, Cell>>;

export interface Count {
  readonly at: string;
  readonly requests: number;
}

export type UsedRoute = ReturnType<typeof servedRoutes>[number];

// The days of a client are a query of their own.
const clientsWithDays = 50;

type MakeRows = (queries: UsageQueries, question: UsageQuestion) => Row[];

/** The rows of each kind of report, in the order in which they are shown. */
export const rowsBy: Readonly<Record<Grouping, MakeRows>> = {
  version: (queries, { since, version }) => {
    const days = queries.series('day', since, version);
    return queries
      .totals(since)
      .filter((one) => version === undefined || one.version === version)
      .map(({ last, ...counts }) => ({
        ...counts,
        last: text(last),
        days: days.filter((point) => point.version === counts.version).map(countOf),
      }));
  },

  client: (queries, question) =>
    versionsIn(queries, question).flatMap((version) =>
      queries.byClient(version, question.since).map((one, index) => ({
        version,
        client: one.client,
        name: one.name ?? null,
        requests: one.requests,
        errors: one.errors,
        served: one.served,
        first: text(one.first),
        last: text(one.last),
        routes: one.routes,
        top_routes: servedRoutes(one.topRoutes),
        days: index < clientsWithDays ? queries.clientSeries(version, one.client, question.since).map(countOf) : null,
      })),
    ),

  route: (queries, question) =>
    versionsIn(queries, question).flatMap((version) =>
      queries.byRoute(version, question.since).map(({ route, requests, errors, clients, last }) => {
        return { version, route, requests, errors, clients, last: text(last) };
      }),
    ),

  day: (queries, { step, since, version }) =>
    queries.series(step, since, version).map((point) => ({ version: point.version, ...countOf(point) })),

  migration: (queries, question) =>
    versionsIn(queries, question).flatMap((version) => {
      const successor = question.successor(version);
      return successor === undefined ? [] : migrationRows(queries, version, successor, question.since);
    }),
};

/** The one that is asked for, or all that the ledger knows. */
function versionsIn(queries: UsageQueries, { version, since }: UsageQuestion): string[] {
  if (version !== undefined) return [version];
  return queries.totals(since).map((one) => one.version);
}

function migrationRows(queries: UsageQueries, version: string, successor: string, since: number): Row[] {
  return queries.movement(version, successor, since).map(({ client, name, from, to }) => ({
    version,
    successor,
    client,
    name: name ?? null,
    state: migrationState({ from, to }),
    requests: from?.requests ?? 0,
    last: from ? text(from.last) : null,
    successor_requests: to?.requests ?? 0,
    successor_first: to ? text(to.first) : null,
    successor_last: to ? text(to.last) : null,
  }));
}

function countOf({ at, requests }: SeriesPoint): Count {
  return { at: text(at), requests };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
