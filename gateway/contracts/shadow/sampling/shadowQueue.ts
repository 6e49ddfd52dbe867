import type { ShadowSettings } from '../../../config/shadowSettings.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { decodedBody } from '../../../shared/contentCoding.ts';
import { CompiledAdapter, type CompiledRoute } from '../../adapters/serving/compiledAdapter.ts';
import { adaptRequest, adaptResponse } from '../../adapters/serving/exchangeOutsidePipeline.ts';
import type { ComparedResponse, ResponsePair } from '../compare/sample.ts';
import { type CopyResult, CopySender } from './copySender.ts';
import type { CopyAddress, ShadowDrop, ShadowSample } from './shadowBatch.ts';

const maxWaitingCopies = 32;
// The two responses of a pair must not be far apart in time, and bodies must not stay in memory.
const longestWaitMs = 10_000;
// How often the queue looks for copies that have waited too long.
const lateCheckMs = 1_000;
// Timers fire some milliseconds late. Copies that are late by at most this time are sent at once, so that the rate is kept.
const catchUpMs = 50;
// Combinations of a client and a route. If there are more, all are forgotten.
const maxClientRoutes = 1024;
// Failures in a row after which the circuit breaker opens, and how long it stays open.
const breakerFailures = 5;
const breakerOpenMs = 30_000;

/** How a copy ended. */
export type CopyOutcome = Exclude<CopyResult, object> | 'compared';

/** Receives the results of a queue. */
export interface ShadowSink {
  readonly pair: (pair: ResponsePair) => void;
  readonly copy: (kind: 'shadow' | 'control', outcome: CopyOutcome) => void;
  readonly drop: (reason: ShadowDrop) => void;
}

/** A copy that is to be sent. */
interface Copy {
  readonly kind: 'shadow' | 'control';
  readonly sample: ShadowSample;
  readonly address: CopyAddress;
  /** Whether the response is compared without an adapter. */
  readonly isComparedUnadapted: boolean;
  /** Set if the response is also compared after this route of the adapter has changed it. */
  readonly adaptedBy: CompiledRoute | undefined;
  /** The response of the version, decoded. */
  readonly old: ComparedResponse;
  /** When the copy was queued, monotonic ms. */
  readonly queuedAt: number;
}

/** Sends the copies of one version within its limits, and passes on the pairs of responses. */
export class ShadowQueue {
  readonly #settings: ShadowSettings;
  readonly #to: Version;
  /** Undefined: responses are compared only without an adapter. */
  readonly #adapter: CompiledAdapter | undefined;
  readonly #sink: ShadowSink;
  readonly #senders: Readonly<Record<Copy['kind'], CopySender>>;
  readonly #breakers: Readonly<Record<Copy['kind'], CircuitBreaker>> = {
    shadow: new CircuitBreaker(),
    control: new CircuitBreaker(),
  };
  #waiting: Copy[] = [];
  #inFlight = 0;
  /** When the next copy may be sent, monotonic ms. */
  #nextCopyAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Client and route, see `clientRouteOf` → the number of copies that were sent. */
  readonly #sent = new Map<string, number>();

  constructor(version: Version, { versions }: Snapshot, settings: ShadowSettings, sink: ShadowSink) {
    this.#settings = settings;
    this.#sink = sink;
    const to = versions.get(settings.to) ?? version;
    this.#to = to;
    this.#adapter = adapterOf(version, to);
    this.#senders = { shadow: new CopySender(to, settings), control: new CopySender(version, settings) };
  }

  /** Whether copies are not sent, because the version that gets them fails. */
  get isBroken(): boolean {
    return this.#breakers.shadow.isOpen(performance.now());
  }

  async add(sample: ShadowSample): Promise<void> {
    const { method, status, contentType, contentEncoding, control } = sample;
    const bodyOrReason =
      method === 'HEAD' ? sample.body : await decodedBody(sample.body, contentEncoding, this.#settings.body);
    // `changed`: the shadow was stopped or changed in the meantime.
    if (typeof bodyOrReason === 'string' || this.#isClosed) {
      this.#sink.drop(typeof bodyOrReason === 'string' ? bodyOrReason : 'changed');
      return;
    }
    const common = { sample, old: { status, contentType, body: bodyOrReason }, queuedAt: performance.now() };
    const adapted = this.#adaptedRequest(sample);
    // One copy is enough for both comparisons if the adapter requests the same path.
    const isSamePath = sample.hasCounterpart && adapted?.path === sample.to.path;
    if (sample.hasCounterpart) {
      const adaptedBy = isSamePath ? adapted?.route : undefined;
      this.#enqueue({ kind: 'shadow', address: sample.to, isComparedUnadapted: true, adaptedBy, ...common });
    }
    if (adapted && !isSamePath) {
      const address = { ...sample.to, path: adapted.path };
      this.#enqueue({ kind: 'shadow', address, isComparedUnadapted: false, adaptedBy: adapted.route, ...common });
    }
    if (!sample.hasCounterpart && !adapted) this.#sink.drop('no-counterpart');
    if (control)
      this.#enqueue({ kind: 'control', address: control, isComparedUnadapted: true, adaptedBy: undefined, ...common });
    this.#run();
  }

  /** Ends all copies. Nothing is sent afterwards. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const _ of this.#waiting) this.#sink.drop('changed');
    this.#waiting = [];
    this.#senders.shadow.close();
    this.#senders.control.close();
  }

  #passPairs({ kind, sample, old, isComparedUnadapted, adaptedBy }: Copy, response: ComparedResponse): void {
    const { method, template, toTemplate, at } = sample;
    const pair = { method, template, old, copyLacksCredentials: this.#settings.credentials === 'drop', at };
    if (isComparedUnadapted) this.#sink.pair({ ...pair, kind, toTemplate, new: response });
    if (this.#adapter === undefined || adaptedBy === undefined) return;
    const adapted = method === 'HEAD' ? response : this.#adaptedResponse(this.#adapter, adaptedBy, response);
    // An adapted response has to satisfy the contract of the version itself.
    this.#sink.pair({ ...pair, kind: 'adapter', toTemplate: template, new: adapted });
  }

  /** The path to which the adapter changes a request, with its route. Undefined: the result is not a GET or HEAD. */
  #adaptedRequest({ method, resource, query }: ShadowSample) {
    const adapted = this.#adapter && adaptRequest(this.#adapter, method, resource, query);
    if (typeof adapted !== 'object' || !/^(?:GET|HEAD)$/.test(adapted.method)) return undefined;
    const path = this.#to.prefix === 'strip' ? adapted.requestTarget : `/${this.#to.name}${adapted.requestTarget}`;
    return { route: adapted.route, path };
  }

  /** What a client would get through the adapter. */
  #adaptedResponse(adapter: CompiledAdapter, route: CompiledRoute, response: ComparedResponse): ComparedResponse {
    const { status, contentType, body } = response;
    const adapted = adaptResponse(adapter, route, { status, contentType, body: Buffer.from(body) });
    if (Buffer.isBuffer(adapted)) return { status, contentType, body: adapted };
    // The gateway would answer ADAPTER_FAILED.
    return { status: 502, contentType: 'application/problem+json', body: Buffer.from('{}') };
  }

  #enqueue(copy: Copy): void {
    this.#waiting.push(copy);
    if (this.#waiting.length <= maxWaitingCopies) return;
    const byClientRoute = Map.groupBy(this.#waiting, clientRouteOf);
    const [largestGroup = []] = [...byClientRoute.values()].sort((a, b) => b.length - a.length);
    const newest = largestGroup.at(-1) ?? copy;
    this.#waiting.splice(this.#waiting.lastIndexOf(newest), 1);
    this.#sink.drop('queue');
  }

  #run(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    this.#dropUnusable(now);
    while (this.#inFlight < this.#settings.inFlight && this.#waiting.length > 0 && now >= this.#nextCopyAt) {
      const copy = this.#takeNext();
      if (this.#breakers[copy.kind].allows(now)) {
        this.#nextCopyAt = Math.max(this.#nextCopyAt, now - catchUpMs) + 1000 / this.#settings.rate;
        void this.#send(copy);
      } else this.#sink.drop('breaker');
    }
    if (this.#waiting.length === 0) return;
    const pause = now < this.#nextCopyAt ? this.#nextCopyAt - now : lateCheckMs;
    this.#timer = setTimeout(() => this.#run(), Math.min(lateCheckMs, pause));
  }

  /** Drops the copies that will not be sent, so that their bodies do not stay in memory. */
  #dropUnusable(now: number): void {
    const isOver = Date.now() >= this.#settings.until;
    this.#waiting = this.#waiting.filter(({ kind, queuedAt }) => {
      const isLate = now - queuedAt > longestWaitMs;
      // The reason `changed` includes a shadow that is over.
      const reason = isOver ? 'changed' : isLate ? 'late' : this.#breakers[kind].isOpen(now) ? 'breaker' : undefined;
      if (reason !== undefined) this.#sink.drop(reason);
      return reason === undefined;
    });
  }

  /** Takes the oldest copy of the client and route with the fewest copies so far. */
  #takeNext(): Copy {
    const sentOf = (copy: Copy): number => this.#sent.get(clientRouteOf(copy)) ?? 0;
    const next = this.#waiting.reduce((best, one) => (sentOf(one) < sentOf(best) ? one : best));
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    return next;
  }

  async #send(copy: Copy): Promise<void> {
    const { kind, sample, address } = copy;
    this.#inFlight += 1;
    if (this.#sent.size >= maxClientRoutes) this.#sent.clear();
    this.#sent.set(clientRouteOf(copy), (this.#sent.get(clientRouteOf(copy)) ?? 0) + 1);
    const result = await this.#senders[kind].send(sample.method, address, sample.fields);
    this.#inFlight -= 1;
    this.#breakers[kind].record(result, performance.now());
    this.#sink.copy(kind, typeof result === 'string' ? result : 'compared');
    if (typeof result !== 'string') this.#passPairs(copy, result);
    this.#run();
  }
}

/** Undefined: the version has no adapter with `mode: shadow` that uses the backend of `to`. */
function adapterOf({ adapter, contract }: Version, to: Version): CompiledAdapter | undefined {
  if (adapter?.mode !== 'shadow' || adapter.from !== to.name) return undefined;
  const templates = contract?.paths.entries().map(([template]) => template) ?? [];
  return new CompiledAdapter({ settings: adapter, hash: adapter.derivedFromContracts?.hash ?? '', templates });
}

function clientRouteOf({ sample: { client, method, template } }: Copy): string {
  return `${client} ${method} ${template}`;
}

/** Allows no copies to a version that fails. After a pause it allows a single one, to try again. */
export class CircuitBreaker {
  #failures = 0;
  /** Monotonic ms. */
  #openUntil = Number.NEGATIVE_INFINITY;
  #isTrying = false;

  isOpen(now: number): boolean {
    return this.#failures >= breakerFailures && (now < this.#openUntil || this.#isTrying);
  }

  allows(now: number): boolean {
    if (this.isOpen(now)) return false;
    this.#isTrying = this.#failures >= breakerFailures;
    return true;
  }

  record(result: CopyResult, now: number): void {
    this.#isTrying = false;
    if (result === 'aborted') return;
    if (result !== 'failed' && result !== 'timeout') this.#failures = 0;
    else {
      this.#failures += 1;
      if (this.#failures >= breakerFailures) this.#openUntil = now + breakerOpenMs;
    }
  }
}
