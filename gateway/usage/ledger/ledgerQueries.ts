import { ClientNames } from '../clientNames.ts';
import type {
  ClientMovement,
  ClientUse,
  PastClient,
  RouteOfClient,
  RouteUse,
  SeriesPoint,
  UsageQueries,
  VersionTotal,
} from '../usageQueries.ts';
import { isSingleClient, otherClients } from '../usageRow.ts';
import { clientRoutes } from './clientRoutes.ts';
import { clientsBetween } from './clientsBetween.ts';
import { clientsEver } from './clientsEver.ts';
import { facts, type UsageSums } from './facts.ts';
import { LedgerAccess } from './ledgerAccess.ts';
import { movementOf } from './movement.ts';
import { partners } from './partners.ts';
import { type DayOfClients, daysOfPastClients, pastClients, usualPauses } from './pastClients.ts';
import { requestsOfClient } from './requestsOfClient.ts';
import { beginOf, dayMs, endless, hourMs, lengths, type Spans, spanAt } from './spans.ts';

// The longest pause between two runs that counts as covered: an hour, and of a short quiet period this share.
const longestGap = hourMs;
const gapShare = 0.1;
// Who is shown; to look at the routes of thousands takes longer than anybody waits.
const clientsWithRoutes = 50;

/** Answers from an open ledger. A question that cannot be answered has no rows, and sets `problem`; nothing throws. */
export abstract class LedgerQueries extends LedgerAccess implements UsageQueries {
  abstract readonly held: number;
  protected readonly names = new ClientNames();

  get problems(): readonly string[] {
    return [this.problem, this.names.problem].filter((one) => one !== undefined);
  }

  coveredSince(quiet: number = endless): number | undefined {
    const mostGap = Math.min(longestGap, quiet * gapShare);
    const runs = this.ask<{ began: number; seen: number }>('SELECT began, seen FROM runs ORDER BY began DESC');
    let since: number | undefined;
    for (const { began, seen } of runs) {
      if (since !== undefined && since - seen > mostGap) break;
      since = Math.min(began, since ?? began);
    }
    return since === undefined ? undefined : Math.max(since, this.meta('kept_from'));
  }

  totals(since: number, until: number = endless): readonly VersionTotal[] {
    const spans = this.spans(since, until, 'version');
    if (spans.length === 0) return [];
    const rows = this.ask<UsageSums & { id: number; version: string }>(
      ...facts('version', spans, undefined, this.hasOutcomes()),
    );
    const clients = new Map(
      this.ask<{ version: number; clients: number }>(...clientsBetween(this.spans(since, until, 'client'))).map(
        (row) => [row.version, row.clients],
      ),
    );
    return byRequests(
      rows.map(({ id, first: _first, ...row }) => {
        return { ...row, clients: clients.get(id) ?? 0 };
      }),
    );
  }

  byClient(version: string, since: number): readonly ClientUse[] {
    const spans = this.spans(since, endless, 'client');
    const rows = this.#clients(version, spans);
    const routes = this.#partners('client', version, spans);
    const clients = byRequests(rows);
    const named = clients.slice(0, clientsWithRoutes).map(({ id }) => id);
    const topRoutes = this.#topRoutes(version, named, since);
    const used = this.#used(version);
    return clients.map(({ id, ...counts }) => {
      const own = { routes: routes.get(id) ?? 0, topRoutes: topRoutes.get(id) ?? [] };
      return { ...counts, name: this.names.nameOf(counts.client), used: used.get(id), ...own };
    });
  }

  folded(since: number, version?: string): number {
    const spans = this.spans(since, this.end(), 'client');
    if (spans.length === 0) return 0;
    return this.ask<{ requests: number | null }>(...requestsOfClient(otherClients, spans, version))[0]?.requests ?? 0;
  }

  byRoute(version: string, since: number): readonly RouteUse[] {
    const spans = this.spans(since, endless, 'route');
    const rows = this.ask<UsageSums & { id: number; route: string }>(
      ...facts('route', spans, version, this.hasOutcomes()),
    );
    const clients = this.#partners('route', version, spans);
    return byRequests(
      rows.map(({ id, route, requests, errors, failing, last }) => {
        return { route, requests, errors, failing, clients: clients.get(id) ?? 0, last };
      }),
    );
  }

  series(step: 'hour' | 'day', since: number, version?: string): readonly SeriesPoint[] {
    return this.ask<SeriesPoint>(
      `SELECT name AS version, span * ${lengths[step]} AS at, requests, ${this.#failing()} FROM versions
        JOIN version_${step} ON version = id
        WHERE span >= ? ${version === undefined ? '' : 'AND name = ?'} ORDER BY span, name`,
      [spanAt(step, since), ...(version === undefined ? [] : [version])],
    );
  }

  clientSeries(version: string, client: string, since: number): readonly SeriesPoint[] {
    // Day by day, since the table is sorted by day before client.
    return this.ask<SeriesPoint>(
      `WITH RECURSIVE days (day, until) AS (
          SELECT ?, MAX(span) FROM client_day WHERE version = (SELECT id FROM versions WHERE name = ?)
          UNION ALL SELECT day + 1, until FROM days WHERE day < until
        )
        SELECT ? AS version, span * ${dayMs} AS at, requests, ${this.#failing()} FROM days CROSS JOIN client_day
        WHERE version = (SELECT id FROM versions WHERE name = ?) AND span = day
          AND item = (SELECT id FROM clients WHERE name = ?) ORDER BY span`,
      [Math.max(spanAt('day', since), this.oldestDay()), version, version, version, client],
    );
  }

  movement(from: string, to: string, since: number): readonly ClientMovement[] {
    const spans = this.spans(since, endless, 'client');
    const before = new Map(this.#clients(from, spans).map((use) => [use.client, use]));
    const after = new Map(this.#clients(to, spans).map((use) => [use.client, use]));
    return movementOf(before, after, this.ask(...clientsEver(from, this.hasOutcomes())), this.names);
  }

  #clients(version: string, spans: readonly Spans[]): (UsageSums & { id: number; client: string })[] {
    return this.ask(...facts('client', spans, version, this.hasOutcomes()));
  }

  lastUsed(isIgnored?: (one: Pick<ClientUse, 'client' | 'name'>) => boolean): ReadonlyMap<string, number> {
    const clients = isIgnored ? this.ask<{ id: number; client: string }>('SELECT id, name AS client FROM clients') : [];
    const ignored = clients.filter(({ client }) => isIgnored?.({ client, name: this.names.nameOf(client) }));
    const rows = this.ask<{ version: string; used_at: number }>(
      `SELECT name AS version, MAX(${this.hasOutcomes() ? 'used' : 'last'}) AS used_at FROM version_client
        JOIN versions ON versions.id = version
        WHERE client NOT IN (SELECT value FROM json_each(?)) GROUP BY version HAVING used_at > 0`,
      [JSON.stringify(ignored.map(({ id }) => id))],
    );
    return new Map(rows.map((row) => [row.version, row.used_at]));
  }

  #failing(): string {
    return this.hasOutcomes() ? 'failing' : '0 AS failing';
  }

  pastClients(version: string, until: number, now: number, least?: number): readonly PastClient[] {
    // A ledger of an earlier release does not know who only failed.
    if (!this.hasOutcomes()) return [];
    const rows = this.ask<Omit<PastClient, 'name' | 'usualPause'> & { id: number }>(...pastClients(version, until));
    const days = least === undefined ? [] : this.ask<DayOfClients>(...daysOfPastClients(version, until, now));
    const pauses = usualPauses(days, least ?? 0);
    return rows
      .filter(isSingleClient)
      .map(({ id, ...row }) => ({ ...row, name: this.names.nameOf(row.client), usualPause: pauses.get(id) }));
  }

  /** When each client of a version last used it, by number; those that never did are left out. */
  #used(version: string): Map<number, number> {
    const used = this.hasOutcomes() ? 'used' : 'last';
    const rows = this.ask<{ client: number; used: number }>(
      `SELECT client, ${used} AS used FROM version_client WHERE version = (SELECT id FROM versions WHERE name = ?) AND ${used} > 0`,
      [version],
    );
    return new Map(rows.map((row) => [row.client, row.used]));
  }

  #topRoutes(version: string, clients: readonly number[], since: number): Map<number, RouteOfClient[]> {
    const spans = this.spans(since, this.end(), 'client', 'day');
    // A ledger of an earlier release, which is only being read, has no such tables.
    const [{ tables } = { tables: 0 }] = this.ask<{ tables: number }>(
      "SELECT COUNT(*) AS tables FROM sqlite_schema WHERE name = 'pair_day'",
    );
    if (tables === 0 || spans.length === 0 || clients.length === 0) return new Map();
    const rows = this.ask<RouteOfClient & { id: number }>(...clientRoutes(version, clients, spans));
    const byId = Map.groupBy(rows, ({ id }) => id);
    return new Map([...byId].map(([id, own]) => [id, own.map(({ id: _id, ...rest }) => rest)]));
  }

  /** How many different ones each has met since then. */
  #partners(one: 'client' | 'route', version: string, spans: readonly Spans[]): Map<number, number> {
    const rows = this.ask<{ id: number; met: number }>(...partners(one, version, beginOf(spans)));
    return new Map(rows.map(({ id, met }) => [id, met]));
  }
}

function byRequests<Use extends { readonly requests: number }>(uses: Use[]): Use[] {
  return uses.sort((a, b) => b.requests - a.requests);
}
