import { otherClients } from '../usage/callers.ts';
import type { SeriesPoint, UsageQueries } from '../usage/queries.ts';
import { migrationState } from './migration.ts';
import { servedClient, type servedRoutes } from './served.ts';
import { rowOnlyFails } from './usagePage.ts';
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
      withStates(version, queries, question, () =>
        queries.byClient(version, question.since).map((one) => ({ version, ...servedClient(one) })),
      ),
    ),

  route: (queries, question) =>
    versionsIn(queries, question).flatMap((version) =>
      queries.byRoute(version, question.since).map(({ route, requests, errors, failing, clients, last }) => {
        return { version, route, requests, errors, failing, clients, last: text(last) };
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

/** The biggest clients of each version with their requests a day. */
export function withDays(rows: readonly Row[], queries: UsageQueries, since: number): Row[] {
  const done = new Map<Cell | undefined, number>();
  return rows.map((row) => {
    const nth = done.get(row['version']) ?? 0;
    done.set(row['version'], nth + 1);
    if (nth >= clientsWithDays) return { ...row, days: null };
    const days = queries.clientSeries(String(row['version']), String(row['client']), since);
    return { ...row, days: days.map(countOf) };
  });
}

/** The clients of a version, if it is asked for with how far each has moved on, and those that are gone by now. */
function withStates(version: string, queries: UsageQueries, question: UsageQuestion, clients: () => Row[]): Row[] {
  const rows = clients();
  if (question.page?.state === undefined) return rows;
  const successor = question.successor(version);
  const movement = successor === undefined ? [] : queries.movement(version, successor, question.since);
  const states = new Map(movement.map((one) => [one.client, migrationState(one)]));
  const gone = movement.filter(({ from }) => from === undefined);
  return [
    ...rows.map((row) => ({ ...row, state: states.get(String(row['client'])) ?? stateless(row) })),
    ...gone.map(({ client, name }) => ({
      version,
      client,
      name: name ?? null,
      ...nothing,
      state: states.get(client) ?? 'moved',
    })),
  ];
}

// What is counted as others is nobody who could move.
const stateless = (row: Row): string =>
  row['client'] === otherClients ? '' : rowOnlyFails(row) ? 'failing' : 'stayed';

const counts = { requests: 0, errors: 0, served: 0, failing: 0, refused: 0 };
const nothing = { ...counts, first: null, last: null, last_used: null, routes: 0, top_routes: [] };

function migrationRows(queries: UsageQueries, version: string, successor: string, since: number): Row[] {
  return queries.movement(version, successor, since).map(({ client, name, before, from, to }) => ({
    version,
    successor,
    client,
    name: name ?? null,
    state: migrationState({ before, from, to }),
    requests: from?.requests ?? 0,
    failing: from?.failing ?? 0,
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
