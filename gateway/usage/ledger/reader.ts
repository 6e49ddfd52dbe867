import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ClientNames } from '../clientNames.ts';
import type {
  ClientMovement,
  ClientUse,
  PastClient,
  RouteUse,
  SeriesPoint,
  UsageQueries,
  VersionTotal,
} from '../usageQueries.ts';
import { isSingleClient, otherClients } from '../usageRow.ts';
import { failureOf, type LedgerFailure } from './failure.ts';
import { openLedgerFileToRead } from './file.ts';
import { beginOf, endless, hourMs } from './spans.ts';
import { type NamedSums, SqlReads } from './sqlReads.ts';
import { usualPauses } from './usualPauses.ts';

// A gap between two runs up to this length counts as covered, but at most this share of a quiet period.
const maxGapMs = hourMs;
const maxGapShare = 0.1;
// Computing the routes of thousands of clients takes longer than a person waits.
const clientsWithRoutes = 50;

/** Answers queries from a ledger file that another process or thread writes. */
export class LedgerReader implements UsageQueries {
  problem: string | undefined;
  waitingRows: number;
  readonly #file: string;
  readonly #inode: number | undefined;
  readonly #database: DatabaseSync | undefined;
  readonly #reads: SqlReads;
  readonly #names = new ClientNames();

  private constructor(
    file: string,
    database: DatabaseSync | undefined,
    problem: string | undefined,
    waitingRows: number,
  ) {
    this.#file = file;
    this.#database = database;
    this.#inode = inodeOf(file);
    this.#reads = new SqlReads(database, (failure) => this.#onFailure(failure));
    this.problem = problem;
    this.waitingRows = waitingRows;
  }

  /** `names`: the file of client names. @throws Error with the reason why `file` cannot be read, without its name */
  static open(file: string, names?: string): LedgerReader {
    const reader = new LedgerReader(file, openLedgerFileToRead(file), undefined, 0);
    reader.readNames(names);
    return reader;
  }

  /** For a file that cannot be opened: every query returns no rows. */
  static unreadable(file: string, problem: string, waitingRows: number): LedgerReader {
    return new LedgerReader(file, undefined, problem, waitingRows);
  }

  /** False if the file cannot be read, or if it was removed or replaced, so that the gateway writes to another file. */
  get isCurrent(): boolean {
    return this.#database !== undefined && this.#inode !== undefined && inodeOf(this.#file) === this.#inode;
  }

  get problems(): readonly string[] {
    return [this.problem, this.#names.problem].filter((one) => one !== undefined);
  }

  /** Reads the file of client names again. */
  readNames(names: string | undefined): void {
    this.#names.read(names);
  }

  /** Runs all queries of `work` on one state of the file, even if it is written to at the same time. */
  snapshot<Result>(work: () => Result): Result {
    try {
      this.#database?.exec('BEGIN');
    } catch (error) {
      this.#onFailure(failureOf(error));
    }
    try {
      return work();
    } finally {
      if (this.#database?.isOpen && this.#database.isTransaction) this.#database.exec('COMMIT');
    }
  }

  close(): void {
    if (this.#database?.isOpen) this.#database.close();
  }

  coveredSince(quiet: number = endless): number | undefined {
    const maxGap = Math.min(maxGapMs, quiet * maxGapShare);
    let since: number | undefined;
    for (const { began, seen } of this.#reads.runs()) {
      if (since !== undefined && since - seen > maxGap) break;
      since = Math.min(began, since ?? began);
    }
    return since === undefined ? undefined : Math.max(since, this.#reads.keptFrom());
  }

  totals(since: number, until: number = endless): readonly VersionTotal[] {
    const spans = this.#reads.spans(since, until, 'version');
    if (spans.length === 0) return [];
    const rows = this.#reads.sums('version', spans);
    const clients = this.#reads.clientCounts(this.#reads.spans(since, until, 'client'));
    return byRequests(
      rows.map(({ id, name, first: _first, ...sums }) => ({ ...sums, version: name, clients: clients.get(id) ?? 0 })),
    );
  }

  byClient(version: string, since: number): readonly ClientUse[] {
    const spans = this.#reads.spans(since, endless, 'client');
    const clients = byRequests(this.#reads.sums('client', spans, version));
    const routes = this.#reads.partnerCounts('client', version, beginOf(spans));
    const largest = clients.slice(0, clientsWithRoutes).map(({ id }) => id);
    const listedSpans = this.#reads.spans(since, this.#reads.end(), 'client', 'day');
    const topRoutes = this.#reads.topRoutes(version, largest, listedSpans);
    const used = this.#reads.lastUsedByClient(version);
    return clients.map(({ id, name: client, ...sums }) => ({
      ...sums,
      client,
      name: this.#names.nameOf(client),
      used: used.get(id),
      routes: routes.get(id) ?? 0,
      topRoutes: topRoutes.get(id) ?? [],
    }));
  }

  folded(since: number, version?: string): number {
    const spans = this.#reads.spans(since, this.#reads.end(), 'client');
    return this.#reads.requestsOf(otherClients, spans, version);
  }

  byRoute(version: string, since: number): readonly RouteUse[] {
    const spans = this.#reads.spans(since, endless, 'route');
    const rows = this.#reads.sums('route', spans, version);
    const clients = this.#reads.partnerCounts('route', version, beginOf(spans));
    return byRequests(
      rows.map(({ id, name, requests, errors, failing, last }) => {
        return { route: name, requests, errors, failing, clients: clients.get(id) ?? 0, last };
      }),
    );
  }

  series(step: 'hour' | 'day', since: number, version?: string): readonly SeriesPoint[] {
    return this.#reads.series(step, since, version);
  }

  clientSeries(version: string, client: string, since: number): readonly SeriesPoint[] {
    return this.#reads.clientSeries(version, client, since);
  }

  lastUsed(isIgnored?: (one: Pick<ClientUse, 'client' | 'name'>) => boolean): ReadonlyMap<string, number> {
    const clients = isIgnored ? this.#reads.clients() : [];
    const ignored = clients.filter(({ client }) => isIgnored?.({ client, name: this.#names.nameOf(client) }));
    return this.#reads.lastUsed(ignored.map(({ id }) => id));
  }

  pastClients(version: string, until: number, now: number, least?: number): readonly PastClient[] {
    const rows = this.#reads.pastClients(version, until);
    const days = least === undefined ? [] : this.#reads.pastClientDays(version, until, now);
    const pauses = usualPauses(days, least ?? 0);
    return rows
      .filter(isSingleClient)
      .map(({ id, ...row }) => ({ ...row, name: this.#names.nameOf(row.client), usualPause: pauses.get(id) }));
  }

  movement(from: string, to: string, since: number): readonly ClientMovement[] {
    const spans = this.#reads.spans(since, endless, 'client');
    const inOld = byName(this.#reads.sums('client', spans, from));
    const inNew = byName(this.#reads.sums('client', spans, to));
    const ever = new Set(this.#reads.clientsEver(from).map(({ client }) => client));
    const clients = [...new Set([...inOld.keys(), ...inNew.keys()])].filter((client) => isSingleClient({ client }));
    return clients
      .map((client): ClientMovement => {
        const [oldUse, newUse] = [inOld.get(client), inNew.get(client)];
        return {
          client,
          name: this.#names.nameOf(client),
          before: ever.has(client),
          from: oldUse && { requests: oldUse.requests, failing: oldUse.failing, last: oldUse.last },
          to: newUse && { requests: newUse.requests, failing: newUse.failing, first: newUse.first, last: newUse.last },
        };
      })
      .sort((a, b) => requestsOf(b) - requestsOf(a));
  }

  #onFailure({ reason }: LedgerFailure): void {
    this.problem = `${this.#file} cannot be read: ${reason}.`;
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function byName(sums: readonly NamedSums[]): Map<string, NamedSums> {
  return new Map(sums.map((one) => [one.name, one]));
}

function requestsOf({ from, to }: ClientMovement): number {
  return (from?.requests ?? 0) + (to?.requests ?? 0);
}

function byRequests<Use extends { readonly requests: number }>(uses: Use[]): Use[] {
  return uses.sort((a, b) => b.requests - a.requests);
}
