import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import type { PassedCounts } from '../../../gateway/process/runtime/serving.ts';
import type { ActiveVersion } from '../../../gateway/proxy/pipeline/activeVersion.ts';
import { VersionCallMarks } from '../../../gateway/proxy/pipeline/callMarks.ts';
import type { Exchange, GatewayContext } from '../../../gateway/proxy/pipeline/exchange.ts';
import { type InFlight, VersionRequests } from '../../../gateway/proxy/pipeline/inFlight.ts';
import { CallTimes } from '../../../gateway/usage/counting/callTimes.ts';
import type { CountedMark, MarkFiles } from '../../../gateway/usage/ledger/callMarks.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { hour, row } from '../../support/ledgerWith.ts';
import { machine } from './machine.ts';

/** A call of a client, by the true time, epoch ms. */
export interface Call {
  readonly version: string;
  readonly client: string;
  readonly from: number;
  /** Infinity while it is open. */
  until: number;
  /** How far the clock was off when it began, ms. */
  readonly skew: number;
  /** Whether it was answered 410, without the backend. */
  readonly isRefused: boolean;
  /** Whether the backend is down: it is answered 502. */
  readonly isUnanswered: boolean;
  /** For how long nobody answered, ms: no gateway has received the call. Undefined: it was answered. */
  readonly outage?: number;
}

/** failing: it is answered 404. unanswered: the backend is down. */
export type CallKind = 'usual' | 'failing' | 'unanswered';

interface OpenCall {
  readonly at: number;
  readonly began: number;
  readonly exchange: InFlight;
  isCounted: boolean;
  /** Whether its answer has begun. */
  readonly isAnswered: boolean;
  readonly isFailing: boolean;
}

/** A process that serves. It marks calls and counts them as a real one does, without sockets. */
export class ServingProcess {
  readonly number: number;
  /** Since when it does not answer, by its clock. Its calls stay open, and it takes no others. */
  hangsSince: number | undefined;
  readonly #marks: VersionCallMarks;
  readonly #requests: ReadonlyMap<string, VersionRequests>;
  readonly #open = new Map<Call, OpenCall>();
  #rows: UsageRow[] = [];
  /** The true time of the first of `#rows`. */
  #rowsSince = Number.POSITIVE_INFINITY;
  #countedUntil = 0;
  readonly #callTimes = new CallTimes(machine.clock);
  /** All calls that ended before this time are taken. */
  #takenUntil = machine.clock.now();
  #snapshot: Snapshot;

  constructor(place: { readonly files: MarkFiles; readonly process: number }, snapshot: Snapshot) {
    this.number = place.process;
    this.#snapshot = snapshot;
    this.#requests = new Map([...snapshot.versions.keys()].map((name) => [name, new VersionRequests()]));
    const current = (): Snapshot => this.#snapshot;
    const openCalls = (): number => this.#open.size;
    const context = {
      now: machine.clock.now,
      get activeSnapshot() {
        return { snapshot: current() };
      },
      get unrecordedExchanges() {
        return openCalls();
      },
    };
    this.#marks = new VersionCallMarks(place, context as unknown as GatewayContext, this.#requests);
  }

  /** Calls that die with the process. */
  get unflushed(): number {
    return this.#rows.length + this.#open.size;
  }

  /** The true time since which calls may be missing if the process is killed; Infinity: none would be. */
  get unflushedSince(): number {
    const begins = [...this.#open.values()].filter(({ isCounted }) => !isCounted).map(({ began }) => began);
    return Math.min(this.#rowsSince, ...begins);
  }

  openCalls(version: string): number {
    return this.#requests.get(version)?.inFlightCount ?? 0;
  }

  apply(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
  }

  /** `isAnswered`: the answer begins at once. */
  begin(version: string, client: string, kind: CallKind, isAnswered: boolean): Call {
    const now = machine.clock.now();
    const requests = this.#requests.get(version);
    const configured = this.#snapshot.versions.get(version);
    if (requests === undefined || configured === undefined) throw new Error(`${version} is missing`);
    const identify = (): string => nameOf(client);
    const exchange = { inFlightIndex: -1, now, identify, activeSnapshot: { snapshot: this.#snapshot } };
    const active = { version: configured, requests } as unknown as ActiveVersion;
    if (now >= requests.nextMarkAt) this.#marks.onCall(exchange as unknown as Exchange, active);
    const isRefused = configured.retired;
    const times = { from: machine.now, until: Number.POSITIVE_INFINITY, skew: machine.skew };
    const call = { version, client, ...times, isRefused, isUnanswered: kind === 'unanswered' };
    const open = { at: now, began: machine.now, exchange: exchange as unknown as InFlight, isCounted: false };
    this.#open.set(call, { ...open, isAnswered, isFailing: kind === 'failing' && !isRefused });
    requests.addInFlight(exchange as unknown as InFlight);
    return call;
  }

  finish(call: Call): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    const endedAt = machine.clock.now();
    if (open.isCounted) this.#callTimes.noteEnd(endedAt);
    else this.#callTimes.note({ at: open.at, endedAt, duration: machine.now - open.began });
    this.#count(call, { ...open, isAnswered: true });
    this.#requests.get(call.version)?.removeInFlight(open.exchange, endedAt);
    this.#end(call);
  }

  finishAll(): void {
    for (const call of [...this.#open.keys()]) this.finish(call);
  }

  /** Counts the calls that are open, and marks them again. @returns up to which mark all calls are counted */
  countOpen(): CountedMark | undefined {
    const counted = this.#marks.beginCount();
    for (const [call, open] of this.#open) {
      this.#count(call, open);
      open.isCounted = true;
    }
    return counted;
  }

  /** Everything that is counted. */
  take(): Omit<PassedCounts, 'salt'> {
    const counted = this.countOpen();
    const [batch, since] = [this.#rows, this.#takenUntil];
    const hasWrongTimes = this.#callTimes.take(since);
    this.#rows = [];
    this.#rowsSince = Number.POSITIVE_INFINITY;
    this.#takenUntil = machine.clock.now();
    const times = { batch, since, hasWrongTimes };
    if (counted === undefined || counted.until <= this.#countedUntil) return times;
    this.#countedUntil = counted.until;
    return { ...times, counted };
  }

  /** It counts nothing any more. */
  kill(): void {
    for (const call of this.#open.keys()) this.#end(call);
    this.#marks.close();
  }

  #end(call: Call): void {
    call.until = machine.now;
    this.#open.delete(call);
  }

  #count({ version, client, isRefused, isUnanswered }: Call, open: OpenCall): void {
    const now = machine.clock.now();
    const requests = open.isCounted ? 0 : 1;
    const unanswered = { served: 0, errors: requests, accepted: 0 };
    // As the collector, which tells an open request of an earlier hour by its use.
    const waiting = { served: 0, accepted: 0, used: hourOf(now) > open.at ? now : 0 };
    const outcome = (): Partial<UsageRow> => {
      if (isRefused) return { ...unanswered, refused: requests };
      if (!open.isAnswered) return waiting;
      if (open.isFailing) return { ...unanswered, failing: requests, used: 0 };
      return isUnanswered ? unanswered : {};
    };
    this.#rowsSince = Math.min(this.#rowsSince, open.began);
    this.#rows.push(row(version, nameOf(client), now, { requests, ...outcome() }));
  }
}

function hourOf(at: number): number {
  return at - (at % hour);
}

function nameOf(client: string): string {
  return `x-client-id:${client}`;
}
