import { earliestOf } from '../observability/report.ts';
import type { Remark } from '../retirement/facts.ts';
import { inLargestUnit, printableExcerpt } from '../shared/text.ts';
import type { OutboxState } from '../usage/ledger/outbox.ts';
import type { UsageBatch } from '../usage/usageRow.ts';

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

/** `epoch`: the number of the run of the gateway. `seq`: the number of the batch in this run. */
type BatchNumber = Pick<NonNullable<OutboxState['oldest']>, 'epoch' | 'seq'>;

type QueueState = Pick<OutboxState, 'epoch' | 'oldest' | 'newest' | 'since'>;

/** The counts that the processes of this gateway have passed on to the ledger, and that the store may not have yet. */
export class UnsentCounts {
  /** The earliest end of a call by version, for counts that may not be in the outbox yet. */
  #notInOutbox = new Map<string, number>();
  /** The same for counts in the outbox, in batches up to `last`. */
  #inOutbox: { readonly calls: ReadonlyMap<string, number>; readonly last: BatchNumber } | undefined;
  /** Since when counts of an earlier run of this gateway wait, epoch ms. Their versions are not known. */
  earlierRunUnsentSince: number | undefined;

  /** `since`: no call in the batch ended before it, epoch ms. */
  add(batch: UsageBatch, since: number): void {
    for (const { version } of batch) {
      const earliest = this.#notInOutbox.get(version);
      if (earliest === undefined || since < earliest) this.#notInOutbox.set(version, since);
    }
  }

  /** `hasWrittenAll`: all batches that were added are in the outbox. */
  onOutbox({ epoch, oldest, newest, since }: QueueState, hasWrittenAll: boolean): void {
    this.earlierRunUnsentSince = oldest !== undefined && oldest.epoch !== epoch ? since : undefined;
    if (this.#inOutbox && (oldest === undefined || isBefore(this.#inOutbox.last, oldest))) this.#inOutbox = undefined;
    if (this.#inOutbox || !hasWrittenAll || this.#notInOutbox.size === 0) return;
    if (newest) this.#inOutbox = { calls: this.#notInOutbox, last: newest };
    this.#notInOutbox = new Map();
  }

  get calls(): UnsentCalls {
    return earliestOf([this.#inOutbox?.calls ?? [], this.#notInOutbox].map((calls) => Object.fromEntries(calls)));
  }
}

function isBefore(a: BatchNumber, b: BatchNumber): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

/** A gateway whose heartbeats the store has, with the facts about its counts. */
export interface CountingGateway {
  readonly name: string;
  readonly release: string;
  /** Undefined: the gateway has an earlier release, which does not report it. */
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
  return gateways.flatMap(({ name, counted, skewMs }): Remark[] => {
    if (counted === undefined) return [];
    const { at, answers, unsent, all: ofAllVersions = Number.POSITIVE_INFINITY } = counted;
    const unsentSince = Math.min(ofAllVersions, unsent[version] ?? Number.POSITIVE_INFINITY);
    const answer = answers?.[asker];
    if (answer !== undefined && answer.id >= questionId && unsentSince >= answer.at) return [];
    const period = inLargestUnit(Math.max(0, questionId - (Math.min(unsentSince, at) - skewMs)));
    const text = `Gateway ${printableExcerpt(name)} may have had calls of /${version} in the last ${period} that are not in this ledger yet. Ask again in a few seconds.`;
    return [{ code: 'calls_unsent', text }];
  });
}

/** How recent the counts of these gateways are. `now`: by the clock of the store, epoch ms. */
export function countingNotes(gateways: readonly CountingGateway[], now: number): Remark[] {
  const ofEarlierReleases = gateways.filter(({ counted }) => counted === undefined);
  const notes = ofEarlierReleases.map(({ name, release }): Remark => {
    const text = `Gateway ${printableExcerpt(name)} has release ${printableExcerpt(release)}, which does not report the counts that it has not sent: calls to it of the last seconds may be missing.`;
    return { code: 'counts_unknown', text };
  });
  const reportTimes = gateways.flatMap(({ counted, skewMs }) => (counted ? [counted.at - skewMs] : []));
  if (reportTimes.length === 0) return notes;
  const age = inLargestUnit(Math.max(0, now - Math.min(...reportTimes)));
  const text = `The other gateways have reported their calls up to ${age} ago; later ones are not in this answer.`;
  return [...notes, { code: 'counted_up_to', text }];
}
