import type { UsageSettings } from '../config/operating.ts';
import type { UsageBatch, UsageRow } from './batch.ts';
import type { CountedExchange } from './counted.ts';
import { Identification } from './identify.ts';
import { otherRoute, RouteNames } from './routeNames.ts';

/** What the clients of a version are counted as that are too many. */
export const otherClients = 'other clients';

const hourMs = 3_600_000;
// Between two batches; beyond it routes are no longer told apart, so that nobody can fill the memory.
const maxRows = 100_000;

export type CollectorSettings = Pick<UsageSettings, 'identify' | 'maxClients' | 'maxRoutes'>;

interface Caller {
  readonly name: string;
  /** Requests in this hour. */
  seen: number;
  /** Since the last batch. Most callers use one route, and need no map. */
  row: UsageRow | undefined;
  rows: Map<string, UsageRow> | undefined;
}

interface Counted {
  callers: Map<string, Caller>;
  readonly others: Caller;
  readonly routes: RouteNames;
}

/** Counts requests in memory, by hour, version, client and route, until somebody takes the counts. Never throws. */
export class Collector {
  /** Requests that were counted under `other clients`, since the start. */
  folded = 0;
  #identification: Identification;
  #maxClients: number;
  #maxRoutes: number;
  #versions = new Map<string, Counted>();
  #rows: UsageRow[] = [];
  #touched: Caller[] = [];
  #hour = 0;

  /** `salt`: the ledger's, so that a key has the same tag in every process and after every start. */
  constructor(settings: CollectorSettings, salt: string) {
    this.#identification = new Identification(settings.identify, salt);
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
  }

  /** Other settings from now on; what is counted is kept. */
  configure(settings: CollectorSettings, salt: string): void {
    this.#identification = new Identification(settings.identify, salt);
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
    this.#forgetRows();
    this.#versions = new Map();
  }

  count({ version, method, path, paths, rawHeaders, address, status, served, at }: CountedExchange): void {
    const hour = at - (at % hourMs);
    if (hour !== this.#hour) this.#begin(hour);
    const counted = this.#versions.get(version) ?? this.#versionFor(version);
    const name = this.#identification.clientOf(rawHeaders, address);
    const caller = counted.callers.get(name) ?? this.#callerFor(name, counted);
    const route = counted.routes.nameOf(method, path, paths, status);
    caller.seen += 1;
    const { row: usual } = caller;
    const row = usual?.route === route ? usual : (caller.rows?.get(route) ?? this.#rowFor(version, caller, route, at));
    row.requests += 1;
    if (status >= 400) row.errors += 1;
    if (served) row.served += 1;
    if (at > row.last) row.last = at;
    if (at < row.first) row.first = at;
  }

  /** What was counted since the last time; two rows may be about the same. */
  take(): UsageBatch {
    const rows = this.#rows;
    this.#forgetRows();
    this.#rows = [];
    return rows;
  }

  #rowFor(version: string, caller: Caller, wanted: string, at: number): UsageRow {
    const route = this.#rows.length < maxRows ? wanted : otherRoute;
    const known = caller.row?.route === route ? caller.row : caller.rows?.get(route);
    if (known) return known;
    const client = caller.name;
    const row = { version, client, route, hour: this.#hour, requests: 0, errors: 0, served: 0, first: at, last: at };
    this.#rows.push(row);
    if (caller.row === undefined) {
      caller.row = row;
      this.#touched.push(caller);
    } else {
      caller.rows ??= new Map();
      caller.rows.set(route, row);
    }
    return row;
  }

  #callerFor(name: string, { callers, others }: Counted): Caller {
    if (callers.size >= this.#maxClients) {
      this.folded += 1;
      return others;
    }
    const caller = callerNamed(name);
    callers.set(name, caller);
    return caller;
  }

  #versionFor(version: string): Counted {
    const routes = new RouteNames(this.#maxRoutes);
    const counted = { callers: new Map(), others: callerNamed(otherClients), routes };
    this.#versions.set(version, counted);
    return counted;
  }

  /** Whoever called more than once keeps a place in the next hour, in half of it: a flood of new names is not sooner. */
  #begin(hour: number): void {
    this.#hour = hour;
    this.#forgetRows();
    for (const counted of this.#versions.values()) {
      const regular = [...counted.callers.values()].filter(({ seen }) => seen > 1);
      const places = Math.floor(this.#maxClients / 2);
      if (regular.length > places) regular.sort((a, b) => b.seen - a.seen).length = places;
      counted.callers = new Map(regular.map(({ name }) => [name, callerNamed(name)]));
    }
  }

  #forgetRows(): void {
    for (const caller of this.#touched) {
      caller.row = undefined;
      caller.rows = undefined;
    }
    this.#touched = [];
  }
}

function callerNamed(name: string): Caller {
  return { name, seen: 0, row: undefined, rows: undefined };
}
