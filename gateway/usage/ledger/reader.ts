import { type AnswerSettings, answerSettingsFrom } from '../../config/answerSettings.ts';
import { ClientNames } from '../clientNames.ts';
import { onlyFails } from '../counting/countedExchange.ts';
import type { Coverage } from '../evidence/coverage.ts';
import type {
  AcceptedUse,
  ClientCounts,
  ClientDay,
  ClientMovement,
  ClientUse,
  FirstCall,
  InstanceDay,
  NamingRules,
  PastClient,
  RouteQueries,
  RouteSizes,
  RouteUse,
  SeriesPoint,
  UsageQueries,
  VersionClientUse,
  VersionTotal,
} from '../usageQueries.ts';
import { isSingleClient, otherClients } from '../usageRow.ts';
import { BrownoutReads } from './brownoutReads.ts';
import { arrivalsIn, movements, usualPauses } from './clientHistory.ts';
import { ClientReads } from './clientReads.ts';
import { type LedgerDatabase, LedgerFile, ReportingDatabase } from './database.ts';
import { EvidenceReads } from './evidence.ts';
import { routeOutcomesVersion } from './schema.ts';
import { beginOf, endOfTime, hourMs, type SpanRange } from './spans.ts';
import { type NamedSums, SqlReads, type UnwrittenLedger } from './sqlReads.ts';

// A gap between two runs counts as covered if it is at most this long, and at most this share of the quiet period.
const maxGapMs = hourMs;
const maxGapShare = 0.1;
// Computing the routes of thousands of clients takes longer than a person waits.
const maxClientsWithRoutes = 50;

/** Answers queries from a ledger that another process or thread writes. */
export class LedgerReader implements UsageQueries {
  problem: string | undefined;
  unwrittenRows = 0;
  readonly #database: LedgerDatabase | undefined;
  readonly #ledger: ReportingDatabase;
  readonly #reads: SqlReads;
  readonly #clientReads: ClientReads;
  readonly #clientNames: ClientNames;
  readonly brownouts: BrownoutReads;
  /** Undefined in a fleet until it is set: the store has no evidence, only the file of each gateway. */
  evidence: EvidenceReads | undefined;
  /** Set for a reader that no gateway writes for, or that cannot ask the gateway: the time since the last write counts as missing. */
  unwritten: UnwrittenLedger | undefined;

  /**
   * Without a database, every query returns no rows. `routes`: the only routes that this reader reads, by their names in the ledger.
   * `unrestricted`: a reader of all routes, whose ledger and client names this reader uses.
   */
  constructor(
    database: LedgerDatabase | undefined,
    { unrestricted, routes }: { readonly unrestricted?: LedgerReader; readonly routes?: readonly string[] } = {},
  ) {
    this.#database = database;
    const onProblem = (problem: string): unknown => Object.assign(this, { problem });
    this.#ledger = unrestricted ? unrestricted.#ledger : new ReportingDatabase(database, onProblem);
    this.evidence = this.#ledger.isShared ? undefined : new EvidenceReads(this.#ledger);
    this.#reads = new SqlReads(this.#ledger);
    this.#clientReads = new ClientReads(this.#ledger, this.#reads, routes);
    this.#clientNames = unrestricted ? unrestricted.#clientNames : new ClientNames();
    this.brownouts = new BrownoutReads(this.#ledger, (client) => this.#clientNames.nameOf(client));
  }

  /** `namesFile`: the file of client names. @throws Error with the reason why `file` cannot be read, without its name */
  static open(file: string, namesFile?: string): LedgerReader {
    const reader = new LedgerReader(new LedgerFile(file));
    reader.readClientNames(namesFile);
    return reader;
  }

  /**
   * For a reader that cannot ask the gateway of the file: calls that the gateway has not recorded yet count as missing. `ignored`:
   * whose calls do not matter, as of `ignoredClientsOf`.
   */
  static openAlone(file: string, namesFile?: string, ignored: readonly string[] = []): LedgerReader {
    const database = new LedgerFile(file);
    const reader = new LedgerReader(database);
    reader.readClientNames(namesFile);
    reader.unwritten = { now: Date.now, unrecordedCalls: (now) => database.unrecordedCalls(now, ignored) };
    return reader;
  }

  /** For a ledger that cannot be opened. */
  static unreadable(problem: string, unwrittenRows: number): LedgerReader {
    return Object.assign(new LedgerReader(undefined), { problem, unwrittenRows });
  }

  /** False if the ledger cannot be read, or if the gateway now writes to another one. */
  get isCurrent(): boolean {
    return this.#database?.isCurrent === true;
  }

  get problems(): readonly string[] {
    return [this.problem, this.#clientNames.problem].filter((one) => one !== undefined);
  }

  /** Reads the file of client names again. */
  readClientNames(namesFile: string | undefined): void {
    this.#clientNames.read(namesFile);
  }

  /** Runs all queries of `work` on one state of the ledger, even if it is written to at the same time. */
  readConsistently<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#ledger.readConsistently(work);
  }

  async close(): Promise<void> {
    await this.#database?.close();
  }

  acceptedUse(
    client: string,
    since: number,
    isOfApi: (version: string) => boolean,
  ): Promise<readonly AcceptedUse[] | undefined> {
    return this.#clientReads.acceptedUse(client, since, isOfApi);
  }

  async ofRoutes(routes: readonly string[]): Promise<RouteQueries> {
    if ((await this.#ledger.schemaVersion()) < routeOutcomesVersion) {
      this.problem ??=
        'The ledger was written by an earlier release, which did not count the clients of each route.  Start this release once with this ledger.';
      return new LedgerReader(undefined, { routes });
    }
    return new LedgerReader(this.#database, { unrestricted: this, routes });
  }

  async coverage(version?: string, quiet = Number.POSITIVE_INFINITY, until?: number): Promise<Coverage> {
    const maxGap = Math.min(maxGapMs, quiet * maxGapShare);
    return this.#reads.coverage(version, maxGap, until, this.unwritten);
  }

  async namingRules(): Promise<NamingRules> {
    return { id: String(await this.#reads.meta('naming')), since: Number(await this.#reads.meta('named_since')) };
  }

  async sizes(version: string, since: number): Promise<readonly RouteSizes[]> {
    return this.#reads.sizes(version, since);
  }

  async sizesSince(): Promise<number> {
    return this.#reads.sizesSince();
  }

  async answerSettings(): Promise<AnswerSettings | undefined> {
    return answerSettingsFrom(String(await this.#reads.meta('answers')));
  }

  async firstCalls(version: string, since: number, before = endOfTime, limit = 1e12): Promise<readonly FirstCall[]> {
    const calls = await this.#reads.firstCalls(version, since, before, limit);
    return calls.map((one) => ({ ...one, name: this.#clientNames.nameOf(one.client) }));
  }

  async totals(since: number, until: number = endOfTime): Promise<readonly VersionTotal[]> {
    const rows = await this.requests(since, until);
    if (rows.length === 0) return [];
    const clients = await this.#reads.clientCounts(await this.#reads.spans(since, until, 'client'));
    return rows.map(({ id, ...total }) => ({ ...total, clients: clients.get(id) ?? 0 }));
  }

  async requests(
    since: number,
    until: number = endOfTime,
  ): Promise<readonly (Omit<VersionTotal, 'clients'> & { readonly id: number })[]> {
    const spans = await this.#reads.spans(since, until, 'version');
    const rows = spans.length === 0 ? [] : await this.#reads.sums('version', spans);
    return byRequests(rows.map(({ name, first: _first, ...sums }) => ({ ...sums, version: name })));
  }

  async byClient(
    version: string,
    since: number,
    isWanted: (one: ClientCounts) => boolean = () => true,
  ): Promise<readonly ClientUse[]> {
    const spans = await this.#clientReads.spans(since);
    const wanted = (await this.#countsOf(version, spans)).filter(({ counts }) => isWanted(counts));
    if (wanted.length === 0) return [];
    const routeCounts = await this.#clientReads.routeCounts(version, beginOf(spans));
    const topClientIds = wanted.slice(0, maxClientsWithRoutes).map(({ id }) => id);
    const topRoutes = await this.#topRoutes(version, topClientIds, since);
    return wanted.map(({ id, counts }) => ({
      ...counts,
      routes: routeCounts.get(id) ?? 0,
      topRoutes: topRoutes.get(id) ?? [],
    }));
  }

  async beginOfClientCounts(since: number): Promise<number> {
    return beginOf(await this.#clientReads.spans(since));
  }

  async newClients(version: string, since: number): Promise<readonly ClientCounts[]> {
    const uses = await this.#clientReads.uses(version);
    if (!uses.values().some(({ first }) => first >= since)) return [];
    const counted = await this.#countsOf(version, await this.#clientReads.spans(since), since);
    return counted.map(({ counts }) => counts).filter(({ lastUsed }) => lastUsed !== undefined);
  }

  /** `firstFrom`: only clients first seen since then. */
  async #countsOf(
    version: string,
    spans: readonly SpanRange[],
    firstFrom?: number,
  ): Promise<readonly { readonly id: number; readonly counts: ClientCounts }[]> {
    const sums = await this.#clientReads.sums(version, spans, firstFrom);
    const uses = await this.#clientReads.uses(version);
    return byRequests(sums).map(({ id, name: client, ...counts }) => {
      const lastUsed = uses.get(id)?.lastUsed;
      return { id, counts: { ...counts, client, name: this.#clientNames.nameOf(client), lastUsed } };
    });
  }

  byVersionAndClient: UsageQueries['byVersionAndClient'] = async (since, needsTopRoutes) => {
    const spans = await this.#clientReads.spans(since);
    const versions = (await this.requests(since)).map(({ version }) => version).filter((version) => version !== '');
    const counted = await Array.fromAsync(versions, async (version) => {
      const sums = await this.#clientReads.sums(version, spans);
      const uses = await this.#clientReads.uses(version, since);
      return sums.map(({ id, name: client, first: _first, ...counts }) => {
        const lastUsed = uses.get(id)?.lastUsed;
        const name = this.#clientNames.nameOf(client);
        return { id, row: { ...counts, version, client, name, lastUsed, topRoutes: [] } };
      });
    });
    const rows = counted.flat().sort((a, b) => b.row.requests - a.row.requests);
    const largest = rows.filter(({ row }) => needsTopRoutes(row)).slice(0, maxClientsWithRoutes);
    const topRoutes = new Map<VersionClientUse, VersionClientUse['topRoutes']>();
    for (const [version, versionRows] of Map.groupBy(largest, ({ row }) => row.version)) {
      const clients = versionRows.map(({ id }) => id);
      const routesByClient = await this.#topRoutes(version, clients, since);
      for (const { id, row } of versionRows) topRoutes.set(row, routesByClient.get(id) ?? []);
    }
    return rows.map(({ row }) => ({ ...row, topRoutes: topRoutes.get(row) ?? [] }));
  };

  /** The most used routes of each client, by the id of the client. */
  async #topRoutes(version: string, clients: readonly number[], since: number) {
    return this.#clientReads.topRoutes(version, clients, await this.#clientReads.spansWithoutBlocks(since));
  }

  async requestsOfOtherClients(since: number, version?: string): Promise<number> {
    const { begin, end } = await this.#reads.recordedPeriod();
    const spans = await this.#reads.spans(Math.max(since, begin), end, 'client');
    return this.#reads.requestsOf(otherClients, spans, version);
  }

  async byRoute(version: string, since: number): Promise<readonly RouteUse[]> {
    const spans = await this.#reads.spans(since, endOfTime, 'route');
    const clients = await this.#reads.clientsOfRoutes(version, beginOf(spans));
    return (await this.routes(version, since)).map(({ id, ...route }) => ({ ...route, clients: clients.get(id) ?? 0 }));
  }

  async routes(
    version: string,
    since: number,
  ): Promise<readonly (Omit<RouteUse, 'clients'> & { readonly id: number })[]> {
    const spans = await this.#reads.spans(since, endOfTime, 'route');
    const sums = await this.#reads.sums('route', spans, version);
    const { routes } = this.#clientReads;
    const wanted = sums.filter(({ name }) => routes === undefined || routes.includes(name));
    const failed = wanted.filter(onlyFails).map(({ id }) => id);
    const used = failed.length === 0 ? undefined : await this.#clientReads.routesInUse(version, failed, since);
    return byRequests(wanted).map(({ id, name: route, requests, errors, failing, last }) => {
      return { id, route, requests, errors, failing, last, ...(used?.has(id) && { hasEarlierUse: true }) };
    });
  }

  async series(step: 'hour' | 'day', since: number, version?: string): Promise<readonly SeriesPoint[]> {
    return this.#reads.series(step, since, version, this.#clientReads.routes);
  }

  async instances(): Promise<readonly string[] | undefined> {
    return this.#reads.instances();
  }

  async instanceDays(instance: string, since: number, version?: string): Promise<readonly InstanceDay[]> {
    return this.#reads.instanceDays(instance, since, version);
  }

  async clientSeries(version: string, clients: readonly string[], since: number): Promise<readonly ClientDay[]> {
    return this.#clientReads.series(version, clients, since);
  }

  async lastUsed(
    isIgnored?: (one: Pick<ClientUse, 'client' | 'name'>) => boolean,
  ): Promise<ReadonlyMap<string, number>> {
    const clients = isIgnored ? await this.#reads.clients() : [];
    const ignored = clients.filter(({ client }) => isIgnored?.({ client, name: this.#clientNames.nameOf(client) }));
    return this.#clientReads.lastUsed(ignored.map(({ id }) => id));
  }

  async pastClients(
    version: string,
    until: number,
    now: number,
    shortestPause?: number,
  ): Promise<readonly PastClient[]> {
    const rows = await this.#clientReads.past(version, until);
    // If the absence is longer than the time between the first and the last use, no usual pause can explain it.
    const mayBePausing = rows.filter(({ first, last }) => now - last <= last - first).map(({ id }) => id);
    const daysOfUse = shortestPause === undefined ? [] : await this.#clientReads.daysOfUse(version, mayBePausing);
    const pauses = usualPauses(daysOfUse, shortestPause ?? 0);
    return rows
      .filter(isSingleClient)
      .map(({ id, ...row }) => ({ ...row, name: this.#clientNames.nameOf(row.client), usualPause: pauses.get(id) }));
  }

  arrivals: UsageQueries['arrivals'] = async (version, period) => {
    const rows = await arrivalsIn(this.#ledger, this.#reads, { version, ...period });
    return rows.filter(isSingleClient).map((row) => ({ ...row, name: this.#clientNames.nameOf(row.client) }));
  };

  async movement(from: string, to: string, since: number): Promise<readonly ClientMovement[]> {
    const spans = await this.#clientReads.spans(since);
    const inOld = byName(await this.#clientReads.sums(from, spans));
    const inNew = byName(await this.#clientReads.sums(to, spans));
    const callsOfUsers = (await this.firstCalls(from, 0)).filter(({ lastUsed }) => lastUsed > 0);
    const usersOfOld = new Set(callsOfUsers.map(({ client }) => client));
    const clients = [...new Set([...inOld.keys(), ...inNew.keys()])].filter((client) => isSingleClient({ client }));
    return movements(clients, inOld, inNew, (client) => ({
      name: this.#clientNames.nameOf(client),
      hasUsedOld: usersOfOld.has(client),
    }));
  }
}

function byName(sums: readonly NamedSums[]): Map<string, NamedSums> {
  return new Map(sums.map((one) => [one.name, one]));
}

function byRequests<Use extends { readonly requests: number }>(uses: Use[]): Use[] {
  return uses.sort((a, b) => b.requests - a.requests);
}
