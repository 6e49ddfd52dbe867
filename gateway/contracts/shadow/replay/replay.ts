import { setTimeout as sleep } from 'node:timers/promises';
import { segmentOf } from '../../../config/api.ts';
import type { Version } from '../../../config/snapshot.ts';
import { CompareError } from '../../../contract/failure.ts';
import type { EvidenceRow } from '../../../usage/usageRow.ts';
import { EvidenceCollector } from '../compare/collector.ts';
import type { ComparedResponse, ResponsePair } from '../compare/sample.ts';
import { type CopyResult, CopySender } from '../sampling/copySender.ts';
import {
  type HeaderField,
  type ReplayedRequest,
  type ReplayedVersions,
  type RequestMaker,
  requestMaker,
  type UncomparedRoute,
} from './replayRequests.ts';
import type { RecordedRequest } from './requestFile.ts';

/** One of the two servers. */
export interface ReplaySide {
  /** `v1` */
  readonly version: string;
  readonly url: URL;
}

export interface ReplayOptions {
  readonly old: ReplaySide;
  readonly new: ReplaySide;
  readonly versions: ReplayedVersions;
  readonly requests: readonly RecordedRequest[];
  /** Added to each request. */
  readonly fields: readonly HeaderField[];
  /** Pairs of requests per second. */
  readonly rate: number;
  /** How often each request is sent. Undefined: so often that each route has enough pairs. */
  readonly repeat: number | undefined;
  /** `timeout`: ms within which a response must be complete. `body`: the largest body, bytes. */
  readonly limits: { readonly timeout: number; readonly body: number };
  /** For the report. */
  readonly notes: readonly string[];
}

/** A server that never answered, or does not answer any more. */
export interface SilentSide {
  readonly side: 'old' | 'new';
  /** `ECONNREFUSED`, `timeout` and so on. */
  readonly reason: string;
}

/** The results of the requests. */
export interface ReplayOutcome {
  readonly rows: readonly EvidenceRow[];
  /** Route of the old version, `GET /drinks/{id}` → template in the new version; undefined: it has none. */
  readonly newTemplateByRoute: ReadonlyMap<string, string | undefined>;
  /** Whether the old version answered at least one request with a status below 400. */
  readonly hasSuccess: boolean;
  /** The routes that were not compared, each with the reason. */
  readonly uncompared: readonly UncomparedRoute[];
  /** The routes of which responses were received that could not be compared. */
  readonly failed: readonly string[];
  /** The server that stopped answering, so that the remaining requests were not sent. */
  readonly gone: SilentSide | undefined;
}

// A route with at least this many requests sends each of them once. The requests of other routes are repeated to get as many pairs.
const fewestPairs = 40;
// Some differences count only if 20 pairs differ. If only one request of a route causes them, it must be sent more than 20 times.
const usualRepeat = 24;
// The most pairs of one route to which `usualRepeat` may lead.
const maxRepeatedPairs = 100;
const maxInFlight = 4;
// A request that fails this often is not sent again.
const maxFailures = 2;
// A server that fails this often in a row and has never answered counts as not running.
const failuresUntilSilent = 3;
// A server that fails this often in a row counts as gone.
const failuresUntilGone = 10;
const tls: Version['tls'] = { verify: true, servername: undefined, ca: undefined };

/** Sends requests to two servers and compares their responses. @throws CompareError for a broken `$ref` */
export async function replay(options: ReplayOptions): Promise<ReplayOutcome | SilentSide> {
  const run = new Replay(options);
  await run.send();
  return run.silent ?? run.outcome;
}

/** A request of the file, which is sent once or several times. */
interface PlannedRequest {
  readonly make: RequestMaker;
  readonly route: string;
  /** The template in the new version. */
  readonly toTemplate: string | undefined;
  failures: number;
}

/** The comparison of one route. Each route has its own collector, because a collector counts a limited number of properties. */
interface ComparedRoute {
  readonly collector: EvidenceCollector;
  pairs: number;
}

class Replay {
  readonly #options: ReplayOptions;
  readonly #senders: Readonly<Record<'old' | 'new', CopySender>>;
  readonly #planned: PlannedRequest[] = [];
  /** The routes of requests that cannot be sent. */
  readonly #unsent: UncomparedRoute[] = [];
  /** Route → its comparison. */
  readonly #compared = new Map<string, ComparedRoute>();
  /** Route → why responses were not compared. */
  readonly #uncompared = new Map<string, Set<string>>();
  /** The routes of which a comparison failed. */
  readonly #failed = new Set<string>();
  /** Route → the statuses that the old version answered. */
  readonly #statuses = new Map<string, Set<number>>();
  readonly #hasAnswered = { old: false, new: false };
  readonly #failuresInRow = { old: 0, new: 0 };
  /** When the next pair may be sent, monotonic ms. */
  #nextPairAt = 0;
  /** A server that answered at first, and then failed too often in a row. */
  #gone: SilentSide | undefined;
  /** A server that failed too often in a row and has never answered. */
  silent: SilentSide | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#senders = { old: new CopySender({ tls }, options.limits), new: new CopySender({ tls }, options.limits) };
    for (const request of options.requests) {
      const make = requestMaker(request, options.versions);
      if (typeof make === 'function') {
        // Every round has the same route, so the first round tells it.
        const { method, template, toTemplate } = make(0);
        this.#planned.push({ make, route: `${method} ${template}`, toTemplate, failures: 0 });
      } else this.#unsent.push(make);
    }
  }

  async send(): Promise<void> {
    const rounds = this.#rounds();
    // Runs several times at once. All runs take requests from the same generator.
    const sendRemaining = async (): Promise<void> => {
      for (const [request, round] of rounds) {
        if (this.silent ?? this.#gone) return;
        if (request.failures >= maxFailures) continue;
        await this.#waitForRate();
        await this.#sendPair(request, round);
      }
    };
    await Promise.all(Array.from({ length: maxInFlight }, sendRemaining));
    this.#senders.old.close();
    this.#senders.new.close();
  }

  get outcome(): ReplayOutcome {
    const incomplete = [...this.#uncompared].flatMap(([route, reasons]) => [...reasons].map((why) => ({ route, why })));
    // Two equal error responses prove nothing about the responses that clients need.
    const onlyErrors = [...this.#statuses].flatMap(([route, statuses]) => {
      const statusList = [...statuses].sort((a, b) => a - b);
      const why = `the old version answered only ${statusList.join(', ')}`;
      return statusList.some((status) => status < 400) ? [] : [{ route, why }];
    });
    return {
      rows: [...this.#compared.values()].flatMap(({ collector }) => collector.take()),
      newTemplateByRoute: new Map(this.#planned.map(({ route, toTemplate }) => [route, toTemplate])),
      hasSuccess: [...this.#statuses.values()].some((statuses) => [...statuses].some((status) => status < 400)),
      uncompared: [...this.#unsent, ...incomplete, ...onlyErrors],
      failed: [...this.#failed],
      gone: this.#gone,
    };
  }

  /** Yields each request once, then each request a second time, and so on. */
  *#rounds(): Generator<readonly [PlannedRequest, number], void> {
    const byRoute = Map.groupBy(this.#planned, ({ route }) => route);
    const timesOf = ({ route }: PlannedRequest): number => this.#options.repeat ?? repeatFor(byRoute.get(route) ?? []);
    const maxRounds = Math.max(0, ...this.#planned.map(timesOf));
    for (let round = 0; round < maxRounds; round += 1)
      for (const request of this.#planned) if (round < timesOf(request)) yield [request, round];
  }

  async #waitForRate(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextPairAt);
    this.#nextPairAt = at + 1000 / this.#options.rate;
    // Timers fire a millisecond or more late, so a wait of at most 2 ms is skipped.
    if (at - now > 2) await sleep(at - now);
  }

  async #sendPair(planned: PlannedRequest, round: number): Promise<void> {
    const request = planned.make(round);
    const oldResponse = await this.#fetch('old', request, planned);
    if (oldResponse === undefined) return;
    const { status } = oldResponse;
    if (status >= 500 || partialStatuses.has(status)) {
      this.#noteUncompared(planned.route, `the old version answered ${status}`);
      return;
    }
    this.#statuses.set(planned.route, (this.#statuses.get(planned.route) ?? new Set()).add(status));
    const newResponse = await this.#fetch('new', request, planned);
    if (newResponse === undefined) return;
    const { method, template, toTemplate } = request;
    const pair = { method, template, toTemplate, old: oldResponse, copyLacksCredentials: false, at: Date.now() };
    const compared = this.#comparisonOf(planned.route);
    this.#compare(compared, { ...pair, kind: 'shadow', new: newResponse }, planned);
    compared.pairs += 1;
    // Differences between two responses of the old version are noise.
    const controlResponse = compared.pairs % 2 === 0 ? await this.#fetch('old', request, planned) : undefined;
    if (controlResponse) this.#compare(compared, { ...pair, kind: 'control', new: controlResponse }, planned);
  }

  /** The message of an error may contain a part of a body, so it is not reported, except for one about a contract. */
  #compare({ collector }: ComparedRoute, pair: ResponsePair, { route }: PlannedRequest): void {
    try {
      collector.add(pair);
    } catch (error) {
      this.#failed.add(route);
      const cause = error instanceof CompareError ? `: ${error.message}` : ', which is a defect of version-gateway';
      this.#noteUncompared(route, `the comparison failed${cause}`);
    }
  }

  async #fetch(
    side: 'old' | 'new',
    request: ReplayedRequest,
    planned: PlannedRequest,
  ): Promise<ComparedResponse | undefined> {
    const { url, version } = this.#options[side];
    const base = url.pathname.replace(/\/+$/, '');
    const prefix = `/${segmentOf(version)}`;
    const versionPrefix = request.isVersioned[side] && !base.endsWith(prefix) ? prefix : '';
    const target = side === 'old' ? request.oldTarget : request.newTarget;
    const address = { target: url.origin, host: url.host, path: base + versionPrefix + target, prefix: '' };
    const result = await this.#senders[side].send(request.method, address, this.#fieldsOf(request));
    if (typeof result !== 'string') {
      this.#hasAnswered[side] = true;
      this.#failuresInRow[side] = 0;
      return result;
    }
    this.#recordFailure(side, result, planned);
    return undefined;
  }

  #recordFailure(side: 'old' | 'new', result: Exclude<CopyResult, object>, planned: PlannedRequest): void {
    const { limits } = this.#options;
    const lastFailure = this.#senders[side].lastFailure ?? 'no complete response';
    const reasons = {
      failed: lastFailure,
      timeout: `no complete response within ${limits.timeout / 1000} s`,
      body: `a response of more than ${limits.body / 1024} KiB`,
      coding: 'a content coding that is unknown or wrong',
      aborted: 'stopped',
    };
    planned.failures += 1;
    this.#noteUncompared(planned.route, `the ${side} version: ${reasons[result]}`);
    // A copy with a status such as 503 has failed, but it has a response.
    const isResponse = result === 'body' || result === 'coding' || lastFailure.startsWith('status ');
    if (isResponse) this.#hasAnswered[side] = true;
    if (result === 'body' || result === 'coding') return;
    this.#failuresInRow[side] += 1;
    const count = this.#failuresInRow[side];
    const failuresNeeded = Math.min(failuresUntilSilent, this.#planned.length * maxFailures);
    if (!this.#hasAnswered[side] && count >= failuresNeeded) this.silent ??= { side, reason: reasons[result] };
    else if (count >= failuresUntilGone) this.#gone ??= { side, reason: reasons[result] };
  }

  /** Fields of the command line replace fields of the file with the same name. */
  #fieldsOf({ fields }: ReplayedRequest): string[] {
    const allFields = [...usualFields, ...fields, ...this.#options.fields];
    return [...new Map(allFields.map((one) => [one[0].toLowerCase(), one])).values()].flat();
  }

  #comparisonOf(route: string): ComparedRoute {
    const existing = this.#compared.get(route);
    if (existing) return existing;
    const { old: oldSide, new: newSide, versions } = this.#options;
    const comparedVersions = {
      version: oldSide.version,
      to: newSide.version,
      hash: '',
      contract: undefined,
      toContract: undefined,
    };
    const collector = new EvidenceCollector(comparedVersions, versions.old.responses, versions.new.responses);
    const compared = { collector, pairs: 0 };
    this.#compared.set(route, compared);
    return compared;
  }

  #noteUncompared(route: string, why: string): void {
    const reasons = this.#uncompared.get(route) ?? new Set();
    this.#uncompared.set(route, reasons.add(why));
  }
}

/** How often each of the requests of one route is sent. */
function repeatFor({ length }: readonly PlannedRequest[]): number {
  if (length >= fewestPairs) return 1;
  return Math.max(Math.ceil(fewestPairs / length), Math.min(usualRepeat, Math.floor(maxRepeatedPairs / length)));
}

const usualFields = [
  ['Accept', '*/*'],
  ['User-Agent', 'version-gateway-replay'],
  ['Accept-Encoding', 'identity'],
  // A gateway does not copy these requests, and backends can recognize them.
  ['X-Shadow', '1'],
] as const;

// Answers to range requests and conditional requests (RFC 9110 §13, §14).
const partialStatuses: ReadonlySet<number> = new Set([206, 304, 412, 416]);
