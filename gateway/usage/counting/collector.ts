import { baseOf } from '../../config/api.ts';
import type { UsageSettings } from '../../config/snapshot.ts';
import { addCounts, otherRoute, type UsageBatch, type UsageRow } from '../usageRow.ts';
import { type CountedExchange, isAccepted, isFailing, outcomeOf } from './countedExchange.ts';
import type { ClientIdentification } from './identification.ts';
import type { RouteAnswers } from './routeAnswers.ts';
import { RouteNames } from './routeNames.ts';
import { addRow, allRowsOf, findRow, type TrackedClient, TrackedClients } from './trackedClients.ts';

const hourMs = 3_600_000;
// The most rows between two batches. Above it all routes are counted as one, so that no traffic can fill the memory.
const maxRows = 100_000;
// If more requests than this in a row began in an earlier hour, they are not long streams: the clock was set back.
const maxLateInARow = 100_000;
// Between two batches: no traffic can fill the memory with examples.
const maxExamples = 500;
const maxExampleLength = 300;
// Limits for a version that routes.yaml does not list: enough for clients that still call it, too few for a scanner to fill memory.
const unlistedLimits = { clients: 1_000, routes: 50 } as const;
// Of further unlisted versions of an API in an hour, all calls are counted as those of `other clients`: a scanner must not hide who calls.
const maxNamedUnlisted = 100;

export type CollectorSettings = Pick<UsageSettings, 'identify' | 'maxClients' | 'maxRoutes'>;

/** A request that was counted before its end. */
export interface OpenRequest {
  /** The exchange as it was when it was counted. */
  readonly exchange: CountedExchange;
  readonly route: string;
  /** Whether it is counted as answered by a backend. */
  served: boolean;
  client: string;
  /** The settings that `client` was derived with. After a reload the client is identified again. */
  identification: ClientIdentification;
}

type WantedRow = Pick<UsageRow, 'route' | 'hour' | 'brownout'>;

type EndedExchange = Pick<CountedExchange, 'status' | 'served' | 'bodySize'> & { readonly endedAt: number };

/** What the collector keeps of a version to name the clients and routes of its requests. */
interface TrackedVersion {
  readonly clients: TrackedClients;
  readonly routes: RouteNames;
  readonly isListed: boolean;
}

/**
 * Counts requests in memory by hour, version, client and route, until `take` is called. Never throws.
 * A request is counted in the hour in which it began: at its end, or earlier with `open`. In each later hour an open
 * request has a row with 0 requests, whose `last` tells when it was still open.
 */
export class Collector {
  /** Requests counted under `other clients` since the start. */
  folded = 0;
  /** The versions of the rows that `take` would return. */
  readonly versions = new Set<string>();
  #identification: ClientIdentification;
  #maxClients: number;
  #maxRoutes: number;
  #trackedVersions = new Map<string, TrackedVersion>();
  /** By the base of the API: how many of its tracked versions are unlisted. */
  readonly #unlisted = new Map<string, number>();
  #rows = new Set<UsageRow>();
  #clientsWithRows = new Set<TrackedClient>();
  /** The start of the current hour. */
  #hour = 0;
  #lateInARow = 0;
  #examples = 0;
  readonly #routeAnswers: RouteAnswers | undefined;

  /** `routeAnswers`: learns how backends answered. */
  constructor(settings: CollectorSettings, identification: ClientIdentification, routeAnswers?: RouteAnswers) {
    this.#routeAnswers = routeAnswers;
    this.#identification = identification;
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
  }

  /** The number of rows that `take` would return. */
  get size(): number {
    return this.#rows.size;
  }

  /** Applies new settings to later requests. The rows counted so far stay. */
  configure(settings: CollectorSettings, identification: ClientIdentification): void {
    this.#identification = identification;
    this.#maxClients = settings.maxClients;
    this.#maxRoutes = settings.maxRoutes;
    this.#detachRows();
    this.#trackedVersions = new Map();
    this.#unlisted.clear();
  }

  /** @returns the client's name, even if the request is counted under `other clients` */
  count(exchange: CountedExchange): string {
    const { version, method, resource, paths, status, served, at } = exchange;
    const hour = at - (at % hourMs);
    if (hour === this.#hour) this.#lateInARow = 0;
    else this.#onOtherHour(hour);
    const trackedVersion =
      this.#trackedVersions.get(version) ?? this.#addVersion(version, { isListed: exchange.unlisted !== true });
    const name = this.#clientOf(exchange);
    const client = trackedVersion.clients.byName.get(name) ?? this.#admit(name, version, trackedVersion);
    if (client === trackedVersion.clients.others) this.folded += 1;
    const route = trackedVersion.routes.nameOf(method, resource, paths, status);
    if (served) this.#routeAnswers?.note(version, route, resource, status, at);
    client.seen += 1;
    const { firstRow } = client;
    const { brownout } = exchange;
    const isFirstRow = firstRow?.route === route && firstRow.hour === hour && firstRow.brownout === brownout;
    const row = isFirstRow ? firstRow : this.#findOrAddRow(version, client, { route, hour, brownout }, at);
    row.requests += 1;
    if (status >= 400) row.errors += 1;
    if (served) {
      row.served += 1;
      if (row.example === undefined && status < 400 && method === 'GET') this.#keepExample(row, resource);
    }
    const outcome = brownout === undefined ? outcomeOf(status, exchange.problem) : 'refused';
    if (outcome === 'failing') row.failing += 1;
    else if (outcome === 'refused') row.refused += 1;
    else if (served) noteSizes(row, exchange);
    if (served && isAccepted(status)) this.#accept(row, exchange);
    // A client that a freeze refuses was never served, so it does not use the version.
    extend(row, at, status > 0 && outcome !== 'failing' && exchange.problem !== 'VERSION_FROZEN');
    return name;
  }

  /** Counts a request that has not ended. */
  open(exchange: CountedExchange): OpenRequest {
    const client = this.count(exchange);
    const { version, method, resource, paths, status } = exchange;
    const { routes } = this.#trackedVersions.get(version) ?? this.#addVersion(version, { isListed: true });
    const route = routes.nameOf(method, resource, paths, status);
    return { exchange, route, served: exchange.served, client, identification: this.#identification };
  }

  /**
   * Records that the request is still open at `now`, epoch ms. `status`: of the response, 0 if there is none yet. `served`: whether
   * a backend has answered.
   */
  refresh(request: OpenRequest, now: number, status: number, served = false): void {
    const hour = now - (now % hourMs);
    if (hour === this.#hour) this.#lateInARow = 0;
    else this.#onOtherHour(hour);
    // The row of a later hour has no request without an outcome, so only `used` tells that the request waits for its answer.
    const isUse = status > 0 ? !isFailing(status) : hour > request.exchange.at;
    extend(this.#rowOfOpen(request, hour, now), now, isUse);
    if (!served || request.served) return;
    request.served = true;
    const row = this.#rowOfBegin(request);
    row.served += 1;
    if (!isFailing(status)) noteSizes(row, request.exchange);
    if (isAccepted(status)) this.#accept(row, request.exchange);
  }

  /** Adds what was not known when the request was counted. @returns the client's name */
  finish(request: OpenRequest, { status, served, bodySize, endedAt }: EndedExchange): string {
    this.refresh(request, endedAt, status, served);
    const { status: statusBefore, bodySize: sizeBefore } = request.exchange;
    // The size of a body without a length is known only now.
    if (served && bodySize > sizeBefore && !isFailing(status)) noteBody(this.#rowOfBegin(request), bodySize);
    if (status >= 400 && statusBefore < 400) {
      const row = this.#rowOfBegin(request);
      row.errors += 1;
      if (isFailing(status) && !isFailing(statusBefore)) row.failing += 1;
    }
    return request.client;
  }

  /** Returns the counts since the last call. Two rows may have the same version, client, route and hour. */
  take(): UsageBatch {
    const rows = [...this.#rows];
    this.#detachRows();
    this.#rows = new Set();
    this.versions.clear();
    this.#examples = 0;
    return rows;
  }

  #keepExample(row: UsageRow, path: string): void {
    const isWanted = row.route.includes('{') && path.length <= maxExampleLength && this.#examples < maxExamples;
    row.example = isWanted ? path : '';
    if (isWanted) this.#examples += 1;
  }

  #rowOfBegin(request: OpenRequest): UsageRow {
    const { at } = request.exchange;
    return this.#rowOfOpen(request, at - (at % hourMs), at);
  }

  #rowOfOpen(request: OpenRequest, hour: number, at: number): UsageRow {
    const { version } = request.exchange;
    if (request.identification !== this.#identification) {
      request.identification = this.#identification;
      request.client = this.#clientOf(request.exchange);
    }
    const trackedVersion = this.#trackedVersions.get(version) ?? this.#addVersion(version, { isListed: true });
    const client =
      trackedVersion.clients.byName.get(request.client) ?? this.#admit(request.client, version, trackedVersion);
    // So that the client stays tracked.
    client.seen += 1;
    const { brownout } = request.exchange;
    return this.#findOrAddRow(version, client, { route: request.route, hour, brownout }, at);
  }

  /** A backend has answered the request 2xx. With a repeated field, it may have accepted another client than the one counted here. */
  #accept(row: UsageRow, { at, rawHeaders }: CountedExchange): void {
    if (at > row.accepted && !this.#identification.repeatsIdentifierField(rawHeaders)) row.accepted = at;
  }

  #clientOf({ identified, rawHeaders, address }: CountedExchange): string {
    if (identified?.identification === this.#identification) return identified.client;
    return this.#identification.clientOf(rawHeaders, address);
  }

  #findOrAddRow(version: string, client: TrackedClient, wanted: WantedRow, at: number): UsageRow {
    const existingRow = findRow(client, wanted);
    if (existingRow) return existingRow;
    const { hour, brownout } = wanted;
    const isFull = this.#rows.size >= maxRows;
    const route = isFull ? otherRoute : wanted.route;
    const otherRouteRow = isFull ? findRow(client, { route, hour, brownout }) : undefined;
    if (otherRouteRow) return otherRouteRow;
    const zero = { requests: 0, errors: 0, served: 0, failing: 0, refused: 0, used: 0, accepted: 0 };
    const sizes = { body: 0, target: 0, head: 0 };
    const names = { version, client: client.name, route, hour, brownout };
    // Every row has the same shape from the beginning, which V8 needs for fast access.
    const row: UsageRow = { ...names, ...zero, ...sizes, first: at, last: at, example: undefined };
    this.#rows.add(row);
    this.versions.add(version);
    if (client.firstRow === undefined) this.#clientsWithRows.add(client);
    addRow(client, row);
    return row;
  }

  #admit(name: string, version: string, { clients }: TrackedVersion): TrackedClient {
    const { client, replaced } = clients.admit(name);
    if (replaced) this.#fold(version, replaced, clients.others);
    return client;
  }

  /** Counts the rows of a client that is not tracked any more under `other clients`. Rows already taken stay as they are. */
  #fold(version: string, replaced: TrackedClient, others: TrackedClient): void {
    for (const row of allRowsOf(replaced)) {
      this.#rows.delete(row);
      addCounts(this.#findOrAddRow(version, others, row, row.first), row);
      this.folded += row.requests;
    }
    this.#clientsWithRows.delete(replaced);
  }

  #addVersion(version: string, { isListed }: Pick<TrackedVersion, 'isListed'>): TrackedVersion {
    const limits = isListed ? undefined : this.#unlistedLimits(baseOf(version));
    const clients = new TrackedClients(Math.min(this.#maxClients, limits?.clients ?? this.#maxClients));
    const routes = new RouteNames(Math.min(this.#maxRoutes, limits?.routes ?? this.#maxRoutes));
    const trackedVersion = { clients, routes, isListed };
    this.#trackedVersions.set(version, trackedVersion);
    return trackedVersion;
  }

  /** The limits of one more unlisted version of an API. */
  #unlistedLimits(base: string): { readonly clients: number; readonly routes: number } {
    const before = this.#unlisted.get(base) ?? 0;
    this.#unlisted.set(base, before + 1);
    return before < maxNamedUnlisted ? unlistedLimits : { clients: 0, routes: 0 };
  }

  /** A request that began in an earlier hour is counted there and does not change the current hour. */
  #onOtherHour(hour: number): void {
    const isLate = hour < this.#hour;
    if (isLate) this.#lateInARow += 1;
    if (!isLate || this.#lateInARow > maxLateInARow) this.#startHour(hour);
  }

  #startHour(hour: number): void {
    this.#hour = hour;
    this.#lateInARow = 0;
    this.#detachRows();
    for (const [version, { clients, isListed }] of this.#trackedVersions) {
      if (isListed) clients.startHour();
      else this.#trackedVersions.delete(version);
    }
    this.#unlisted.clear();
  }

  /** Later requests of every client begin new rows. */
  #detachRows(): void {
    for (const client of this.#clientsWithRows) {
      client.firstRow = undefined;
      client.otherRows = undefined;
    }
    this.#clientsWithRows.clear();
  }
}

function noteSizes(row: UsageRow, { bodySize, targetSize, headSize }: CountedExchange): void {
  noteBody(row, bodySize);
  if (targetSize > row.target) row.target = targetSize;
  if (headSize > row.head) row.head = headSize;
}

function noteBody(row: UsageRow, size: number): void {
  if (size > row.body) row.body = size;
}

function extend(row: UsageRow, at: number, isUse: boolean): void {
  if (isUse && at > row.used) row.used = at;
  if (at > row.last) row.last = at;
  if (at < row.first) row.first = at;
}
