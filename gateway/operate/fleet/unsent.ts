import { baseOf, everyVersionIn } from '../../config/api.ts';
import { inLargestUnit, printableExcerpt } from '../../shared/text.ts';
import type { Loss } from '../../usage/evidence/coverage.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { BatchNumber, OutboxState } from '../../usage/ledger/outbox.ts';
import { earliestOf } from '../../usage/observability/report.ts';
import type { UsageBatch } from '../../usage/usageRow.ts';

/** Version → a time, epoch ms: the store has the calls that ended before it. Absent: the store has all calls of the version. */
export type UnsentCalls = Readonly<Record<string, number>>;

/** Which calls of one gateway are counted in the store. Instants in epoch ms, by the clock of the gateway. */
export interface CountedCalls {
  /** The time of this report. Later calls are not in it. */
  readonly at: number;
  /**
   * Id of another gateway → its last question that this gateway had read before `at`. This report answers the question.
   * Absent: this gateway runs an earlier release.
   */
  readonly answers?: Readonly<Record<string, CountsQuestion>>;
  readonly unsent: UnsentCalls;
  /** Like `unsent`, but for all versions. Set if a worker does not answer, or if counts of an earlier run wait. */
  readonly all?: number | undefined;
}

/** A question whether the shared ledger has all calls that ended before it. */
export interface CountsQuestion {
  /** When it was asked, by the clock of the store, epoch ms. Larger than the id of every earlier question of the same gateway. */
  readonly id: number;
  /** On the gateway that asks: when it asked. On another gateway: when it read the question. By its own clock, epoch ms. */
  readonly at: number;
}

type QueueState = Pick<OutboxState, 'epoch' | 'oldest' | 'newest' | 'since'> & Partial<Pick<OutboxState, 'losses'>>;

/** The counts that the processes of this gateway have passed on to the ledger, and that the store may not have yet. */
export class UnsentCounts {
  /** The earliest end of a call by version, for counts that may not be in the outbox yet. */
  #notInOutbox = new Map<string, number>();
  /** The same for counts in the outbox, in batches up to `last`. */
  #inOutbox: { readonly calls: ReadonlyMap<string, number>; readonly last: BatchNumber } | undefined;
  /** Since when counts of an earlier run of this gateway wait, epoch ms. Their versions are not known. */
  earlierRunUnsentSince: number | undefined;
  /** Calls that may be missing, and that may not be in the outbox yet. */
  #newLosses: readonly Loss[] = [];
  /** The same, in the outbox. */
  #waitingLosses: readonly Loss[] = [];
  /** The run of the ledger at the last report. */
  #epoch: number | undefined;

  /** `since`: no call in the batch ended before it, epoch ms. */
  add(batch: UsageBatch, since: number): void {
    for (const { version } of batch) {
      const earliest = this.#notInOutbox.get(version);
      if (earliest === undefined || since < earliest) this.#notInOutbox.set(version, since);
    }
  }

  addLosses(losses: readonly Loss[]): void {
    this.#newLosses = [...this.#newLosses, ...losses];
  }

  /** `hasWrittenAll`: all batches and losses that were added are in the outbox. */
  onOutbox({ epoch, oldest, newest, since, losses = [] }: QueueState, hasWrittenAll: boolean): void {
    this.#waitingLosses = losses;
    if (hasWrittenAll) this.#newLosses = [];
    // The ledger may be another file now. Counts that waited in the former one are lost, and the first batch of the new run tells it.
    if (this.#inOutbox && newest && epoch !== this.#epoch) this.#inOutbox = { ...this.#inOutbox, last: newest };
    this.#epoch = epoch;
    this.earlierRunUnsentSince = oldest !== undefined && oldest.epoch !== epoch ? since : undefined;
    if (this.#inOutbox && (oldest === undefined || isBefore(this.#inOutbox.last, oldest))) this.#inOutbox = undefined;
    if (this.#inOutbox || !hasWrittenAll || this.#notInOutbox.size === 0) return;
    if (newest) this.#inOutbox = { calls: this.#notInOutbox, last: newest };
    this.#notInOutbox = new Map();
  }

  /** A loss that the store does not know of is like a call that it does not have. */
  get calls(): UnsentCalls {
    const ofVersions = this.#losses.filter(isOfOneVersion);
    const lossTimes = ofVersions.map(({ version, from }) => ({ [version]: from }));
    const counts = [this.#inOutbox?.calls ?? [], this.#notInOutbox].map((calls) => Object.fromEntries(calls));
    return earliestOf([...counts, ...lossTimes]);
  }

  /** Since when calls of any version may be missing, without the knowledge of the store; undefined: none are. Epoch ms. */
  get lossesSince(): number | undefined {
    const ofAllVersions = this.#losses.filter((one) => !isOfOneVersion(one));
    return ofAllVersions.length === 0 ? undefined : Math.min(...ofAllVersions.map(({ from }) => from));
  }

  get #losses(): readonly Loss[] {
    return [...this.#newLosses, ...this.#waitingLosses];
  }
}

function isOfOneVersion({ version }: Loss): boolean {
  return version !== everyVersionIn(baseOf(version));
}

function isBefore(a: BatchNumber, b: BatchNumber): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

/** A gateway whose heartbeats the store has, with the facts about its counts. */
export interface CountingGateway {
  readonly name: string;
  readonly release: string;
  /** Undefined: the gateway does not report it, because it has an earlier release or has stopped with unsent counts. */
  readonly counted: CountedCalls | undefined;
  /** How far its clock is ahead of that of the store, ms. */
  readonly skewMs: number;
}

/**
 * Why calls of a version may be missing in the shared ledger for a few seconds. The ledger has every call that ended before the
 * question if each gateway has read the question, and has sent all calls that ended before it read the question. Only times
 * of the same clock are compared. `asker`: the id of the gateway that asks.
 */
export function unsentCalls(
  gateways: readonly CountingGateway[],
  version: string,
  questionId: CountsQuestion['id'],
  asker: string,
): Remark[] {
  return callsMissingIn(gateways, version, questionId, ({ answers }, unsentSince) => {
    const answer = answers?.[asker];
    return answer !== undefined && answer.id >= questionId && unsentSince >= answer.at;
  });
}

/**
 * The same for a reader that is no gateway, so that nobody answers it: the ledger has every call that ended before `instant` if each
 * gateway has written its row and its report after it, and had sent all calls that ended before it. `instant`: by the clock of the store,
 * epoch ms.
 */
export function unreportedCalls(
  gateways: readonly (CountingGateway & { readonly heard: number })[],
  version: string,
  instant: number,
): Remark[] {
  return gateways.flatMap((one) =>
    callsMissingIn([one], version, instant, ({ at }, unsentSince) => {
      return one.heard >= instant && Math.min(at, unsentSince) - one.skewMs >= instant;
    }),
  );
}

/** `hasSent`: whether a gateway had sent all calls that ended before `instant`, if calls since `unsentSince` may be unsent. */
function callsMissingIn(
  gateways: readonly CountingGateway[],
  version: string,
  instant: number,
  hasSent: (counted: CountedCalls, unsentSince: number) => boolean,
): Remark[] {
  return gateways.flatMap((gateway): Remark[] => {
    const { name, counted, skewMs } = gateway;
    if (counted === undefined) return [unknownCounts(gateway)];
    const { at, unsent, all: ofAllVersions = Number.POSITIVE_INFINITY } = counted;
    const unsentSince = Math.min(ofAllVersions, unsent[version] ?? Number.POSITIVE_INFINITY);
    if (hasSent(counted, unsentSince)) return [];
    const period = inLargestUnit(Math.max(0, instant - (Math.min(unsentSince, at) - skewMs)));
    const text = `Gateway ${printableExcerpt(name)} may have had calls of /${version} in the last ${period} that are not in this ledger yet. Ask again in a few seconds.`;
    return [{ code: 'calls_unsent', text }];
  });
}

/** Of an earlier release, or of a run that has stopped before the store had all its counts. */
function unknownCounts({ name, release }: CountingGateway): Remark {
  const text = `Gateway ${printableExcerpt(name)} (release ${printableExcerpt(release)}) does not report the counts that it has not sent: calls to it of the last seconds may be missing.`;
  return {
    code: 'counts_unknown',
    text,
    remedy: 'Update it, or stop it with a signal while the shared store answers.',
  };
}

/** How recent the counts of these gateways are. `now`: by the clock of the store, epoch ms. */
export function countingNotes(gateways: readonly CountingGateway[], now: number): Remark[] {
  const reportTimes = gateways.flatMap(({ counted, skewMs }) => (counted ? [counted.at - skewMs] : []));
  if (reportTimes.length === 0) return [];
  const age = inLargestUnit(Math.max(0, now - Math.min(...reportTimes)));
  const text = `The other gateways have reported their calls up to ${age} ago; later ones are not in this answer.`;
  return [{ code: 'counted_up_to', text }];
}
