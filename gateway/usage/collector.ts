import type { UsageSettings } from '../config/operating.ts';
import type { UsageBatch, UsageRow } from './batch.ts';
import { type Caller, Callers, keepRow, rowOf, rowsOf } from './callers.ts';
import type { CountedExchange } from './counted.ts';
import { addCounts } from './counts.ts';
import { Identification } from './identify.ts';
import { isFailing, outcomeOf } from './outcome.ts';
import { otherRoute, RouteNames } from './routeNames.ts';

const hourMs = 3_600_000;
// Between two batches; beyond it routes are no longer told apart, so that nobody can fill the memory.
const maxRows = 100_000;
// So many requests in a row that all began in an earlier hour are no streams that end: the clock was set back.
const mostLate = 100_000;
// Of a version that routes.yaml does not list: enough to name who is left, and little enough for a scanner of many.
const unlisted = { clients: 1_000, routes: 50 } as const;

export type CollectorSettings = Pick<UsageSettings, 'identify' | 'maxClients' | 'maxRoutes'>;

/** A request that was counted before its end. */
export interface OpenRequest {
  /** What was known of it then. */
  readonly exchange: CountedExchange;
  readonly route: string;
  /** Whom it is counted for, and by what settings: other settings may name its client differently. */
  client: string;
  identification: Identification;
}

type Ended = Pick<CountedExchange, 'status' | 'served'> & { readonly endedAt: number };

interface Counted {
  readonly callers: Callers;
  readonly routes: RouteNames;
  readonly listed: boolean;
}

/**
 * Counts requests in memory, by hour, version, client and route, until somebody takes the counts. Never throws.
 * A request is counted in the hour in which it began: at its end, or before that by `open`. In each later hour it has a
 * row without requests, whose `last` tells when it was still seen.
 */
export class Collector {
  /** Requests that were counted under `other clients`, since the start. */
  folded = 0;
  #identification: Identification;
  #maxClients: number;
  #maxRoutes: number;
  #versions = new Map<string, Counted>();
  #rows = new Set<UsageRow>();
  #touched = new Set<Caller>();
  /** The latest that has begun. */
  #hour = 0;
  #lateInARow = 0;

  /** `salt`: the ledger's, so that a key has the same tag in every process and after every start. */
  constructor(settings: CollectorSettings, salt: string) {
    this.#identification = new Identification(settings.identify, salt);
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
  }

  /** Rows that `take` would return. */
  get size(): number {
    return this.#rows.size;
  }

  /** Other settings from now on; what is counted is kept. */
  configure(settings: CollectorSettings, salt: string): void {
    this.#identification = new Identification(settings.identify, salt);
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
    this.#forgetRows();
    this.#versions = new Map();
  }

  /** @returns who it was, whether or not there is a place for the name */
  count(exchange: CountedExchange): string {
    const { version, method, resource, paths, rawHeaders, address, status, served, at } = exchange;
    const hour = at - (at % hourMs);
    if (hour !== this.#hour) this.#turnTo(hour);
    const counted = this.#versions.get(version) ?? this.#versionFor(version, exchange.unlisted !== true);
    const name = this.#identification.clientOf(rawHeaders, address);
    const caller = counted.callers.byName.get(name) ?? this.#callerFor(name, version, counted);
    if (caller === counted.callers.others) this.folded += 1;
    const route = counted.routes.nameOf(method, resource, paths, status);
    caller.seen += 1;
    const { row: usual } = caller;
    const isUsual = usual?.route === route && usual.hour === hour;
    const row = isUsual ? usual : this.#rowFor(version, caller, route, hour, at);
    row.requests += 1;
    if (status >= 400) row.errors += 1;
    if (served) row.served += 1;
    const outcome = outcomeOf(status, exchange.problem);
    if (outcome === 'failing') row.failing += 1;
    if (outcome === 'refused') row.refused += 1;
    see(row, at, status > 0 && outcome !== 'failing');
    return name;
  }

  /** Counts a request that has not ended. */
  open(exchange: CountedExchange): OpenRequest {
    const client = this.count(exchange);
    const { version, method, resource, paths, status } = exchange;
    const { routes } = this.#versions.get(version) ?? this.#versionFor(version, true);
    const route = routes.nameOf(method, resource, paths, status);
    return { exchange, route, client, identification: this.#identification };
  }

  /** It goes on at `now`, epoch ms: its client is calling. `status`: of the response, 0 while there is none. */
  refresh(one: OpenRequest, now: number, status: number): void {
    const hour = now - (now % hourMs);
    if (hour !== this.#hour) this.#turnTo(hour);
    see(this.#rowOf(one, hour, now), now, status > 0 && !isFailing(status));
  }

  /** It has ended, and this became of it. Returns who it was. */
  finish(one: OpenRequest, { status, served, endedAt }: Ended): string {
    this.refresh(one, endedAt, status);
    const { exchange } = one;
    const failed = status >= 400 && exchange.status < 400;
    const failing = isFailing(status) && !isFailing(exchange.status);
    const answered = served && !exchange.served;
    if (failed || answered) {
      const row = this.#rowOf(one, exchange.at - (exchange.at % hourMs), exchange.at);
      if (failed) row.errors += 1;
      if (failing) row.failing += 1;
      if (answered) row.served += 1;
    }
    return one.client;
  }

  /** What was counted since the last time; two rows may be about the same. */
  take(): UsageBatch {
    const rows = [...this.#rows];
    this.#forgetRows();
    this.#rows = new Set();
    return rows;
  }

  #rowOf(one: OpenRequest, hour: number, at: number): UsageRow {
    const { version, rawHeaders, address } = one.exchange;
    if (one.identification !== this.#identification) {
      one.identification = this.#identification;
      one.client = this.#identification.clientOf(rawHeaders, address);
    }
    const counted = this.#versions.get(version) ?? this.#versionFor(version, true);
    const caller = counted.callers.byName.get(one.client) ?? this.#callerFor(one.client, version, counted);
    // Keeps its place among those that are told apart.
    caller.seen += 1;
    return this.#rowFor(version, caller, one.route, hour, at);
  }

  #rowFor(version: string, caller: Caller, wanted: string, hour: number, at: number): UsageRow {
    const exact = rowOf(caller, wanted, hour);
    if (exact) return exact;
    const route = this.#rows.size < maxRows ? wanted : otherRoute;
    const known = route === wanted ? undefined : rowOf(caller, route, hour);
    if (known) return known;
    const client = caller.name;
    const none = { requests: 0, errors: 0, served: 0, failing: 0, refused: 0, used: 0 };
    const row = { version, client, route, hour, ...none, first: at, last: at };
    this.#rows.add(row);
    if (caller.row === undefined) this.#touched.add(caller);
    keepRow(caller, row);
    return row;
  }

  #callerFor(name: string, version: string, { callers }: Counted): Caller {
    const { caller, leaver } = callers.admit(name);
    if (leaver) this.#fold(version, leaver, callers.others);
    return caller;
  }

  /** Counts one who has lost its place among the others, as far as that is not yet out of hand. */
  #fold(version: string, leaver: Caller, others: Caller): void {
    for (const row of rowsOf(leaver)) {
      this.#rows.delete(row);
      addCounts(this.#rowFor(version, others, row.route, row.hour, row.first), row);
      this.folded += row.requests;
    }
    this.#touched.delete(leaver);
  }

  #versionFor(version: string, listed: boolean): Counted {
    const [maxClients, maxRoutes] = [this.#maxClients, this.#maxRoutes];
    const callers = new Callers(listed ? maxClients : Math.min(maxClients, unlisted.clients));
    const routes = new RouteNames(listed ? maxRoutes : Math.min(maxRoutes, unlisted.routes));
    const counted = { callers, routes, listed };
    this.#versions.set(version, counted);
    return counted;
  }

  /** `at` is when a request began: what ends late is counted in its own hour, and ends no hour for the others. */
  #turnTo(hour: number): void {
    const isLate = hour < this.#hour;
    this.#lateInARow = isLate ? this.#lateInARow + 1 : 0;
    if (!isLate || this.#lateInARow > mostLate) this.#begin(hour);
  }

  #begin(hour: number): void {
    this.#hour = hour;
    this.#lateInARow = 0;
    this.#forgetRows();
    for (const [version, { callers, listed }] of this.#versions) {
      if (listed) callers.begin();
      else this.#versions.delete(version);
    }
  }

  #forgetRows(): void {
    for (const caller of this.#touched) {
      caller.row = undefined;
      caller.rows = undefined;
    }
    this.#touched.clear();
  }
}

function see(row: UsageRow, at: number, isUse: boolean): void {
  if (isUse && at > row.used) row.used = at;
  if (at > row.last) row.last = at;
  if (at < row.first) row.first = at;
}
