import { rfc3339 } from '../../shared/instant.ts';
import { inLargestUnit, inWholeUnits, printableExcerpt } from '../../shared/text.ts';
import type { Coverage } from './coverage.ts';
import type { Answer, Remark } from './remark.ts';

const hourMs = 3_600_000;

/** What the processes of this gateway and the other gateways know of the calls of one version. Plain data. Instants in epoch ms. */
export interface LiveFacts {
  /** In all gateways. An open request counts as a call now. */
  readonly inFlight: number;
  readonly waiting: number;
  /**
   * The last call that the processes of this gateway remember. They do not know which clients are ignored, so it counts only while the
   * ledger may lack calls.
   */
  readonly lastRemembered: number | undefined;
  /** Whether counts of this gateway are not in the ledger yet. */
  readonly hasUnwritten: boolean;
  /** Since when a process of the gateway has not answered. It may have counts that are not in the ledger. */
  readonly unresponsiveSince: number | undefined;
  /** Why calls may be missing that the ledger should have, such as those of a gateway that is not heard. */
  readonly gaps: readonly Remark[];
  /** Why calls of the last seconds may be missing in other gateways. They arrive by themselves. */
  readonly pending: readonly Remark[];
}

/** Of a ledger that is read without a gateway. */
export const noLiveFacts: LiveFacts = {
  inFlight: 0,
  waiting: 0,
  lastRemembered: undefined,
  hasUnwritten: false,
  unresponsiveSince: undefined,
  gaps: [],
  pending: [],
};

/** What is asked about the calls of a version. Instants in epoch ms, durations in ms. */
export interface CallsAsked {
  /** The path segment: `v1`. Undefined: the calls of all versions. */
  readonly version: string | undefined;
  readonly now: number;
  /** The length of the period, up to now, that the question is about. */
  readonly quiet: number;
  /** The start of the period. Default: `quietSince`, for a question that reads counts by hours. */
  readonly since?: number | undefined;
  /** `usage.retention`: a longer period can never be covered. Undefined: not known. */
  readonly retention?: number | undefined;
  /** The last call in the ledger that counts. It may be in the future: the clock of the gateway that counted it may be ahead. */
  readonly lastCall?: number | undefined;
}

export interface CallFacts extends CallsAsked {
  /** Undefined: no usage ledger is kept, or it cannot be read, and `problem` has the reason. */
  readonly coverage: Coverage | undefined;
  /** Why the ledger cannot be read or written. */
  readonly problem: string | undefined;
  readonly live: LiveFacts;
}

/** Whether a version was called in a period, and what is missing to know it. */
export interface CallEvidence {
  /** `not known`: no call is known, but calls may be missing. */
  readonly called: Answer;
  /** The last call, not later than now. */
  readonly lastCall: number | undefined;
  /** The start of the period. */
  readonly since: number;
  /** Since when every call is in the ledger. */
  readonly coveredSince: number | undefined;
  /** The start of the part of the period of which every call is in the ledger. Undefined: the ledger is empty. */
  readonly countedSince: number | undefined;
  /** Why the ledger does not cover the period, if calls were lost in it. A sentence. */
  readonly lossReason: string | undefined;
  /** Why calls of the period may be missing. */
  readonly missing: readonly Remark[];
  /** Why only the calls of the last seconds may be missing. */
  readonly pending: readonly Remark[];
  /** When `called` becomes `no` if no client calls from now on, epoch ms. Undefined: it is `no`, or the time is not known. */
  readonly quietAt: number | undefined;
}

/** The start of a quiet period. The ledger counts by hours, so it begins with an hour unless it is shorter than one. */
export function quietSince(now: number, quiet: number): number {
  return quiet < hourMs ? now - quiet : Math.floor((now - quiet) / hourMs) * hourMs;
}

/** The one place that decides whether a version was called. Everything that answers asks it: a yes or a no has evidence for it. */
export function callEvidence(facts: CallFacts): CallEvidence {
  const { now, quiet, since = quietSince(now, quiet), coverage, lastCall, problem, live } = facts;
  const ofLedger = ledgerRemarks(facts, since);
  // The loss of a gateway that is gone may be the reason why the ledger is short.
  const otherGaps = live.gaps.filter((gap) => !ofLedger.some(({ text }) => text.includes(gap.text)));
  const missing = [...ofLedger, ...otherGaps];
  const pending = pendingRemarks(facts);
  const isLedgerComplete = coverage !== undefined && problem === undefined && pending.length === 0;
  const times = [lastCall, isLedgerComplete ? undefined : live.lastRemembered].filter((at) => at !== undefined);
  // A time in the future is a call at some time until now: a clock may be ahead, or may have been set back. It is never left out.
  const last =
    live.inFlight + live.waiting > 0 ? now : times.length === 0 ? undefined : Math.min(now, Math.max(...times));
  const isKnown = missing.length + pending.length === 0;
  const called = last !== undefined && last >= since ? 'yes' : isKnown ? 'no' : 'not known';
  const quietAt =
    called === 'no' ? undefined : latestOf([coveredAt((last ?? 0) + 1, facts), ...missing.map(({ until }) => until)]);
  const coveredSince = coverage?.since;
  const countedSince = coveredSince === undefined ? undefined : Math.max(since, Math.min(coveredSince, now));
  const lossReason = countedSince === since ? undefined : coverage && lossReasonOf(coverage);
  return { called, lastCall: last, since, coveredSince, countedSince, lossReason, missing, pending, quietAt };
}

/** Whether calls of the period may be missing, also only those of the last seconds. */
export function mayLackCalls({ missing, pending }: Pick<CallEvidence, 'missing' | 'pending'>): boolean {
  return missing.length + pending.length > 0;
}

/** `at 2026-11-20T09:00:30Z, in 25 s`: the first whole second at or after `instant`. */
export function atAndIn(instant: number, now: number): string {
  const second = Math.ceil(instant / 1000) * 1000;
  return `at ${rfc3339(second)}${second > now ? `, in ${inLargestUnit(Math.ceil((second - now) / 1000) * 1000)}` : ''}`;
}

/** When the period begins at or after `instant`, epoch ms. */
function coveredAt(instant: number, { quiet, since }: CallFacts): number {
  const beginsWithHour = since === undefined && quiet >= hourMs;
  return (beginsWithHour ? Math.ceil(instant / hourMs) * hourMs : instant) + quiet;
}

/** Undefined if one of the instants is not known. */
function latestOf(instants: readonly (number | undefined)[]): number | undefined {
  return instants.includes(undefined) ? undefined : Math.max(...instants.filter((one) => one !== undefined));
}

/** Whether the ledger covers the period, and why not. A quiet period counts only while usage was recorded. */
function ledgerRemarks(facts: CallFacts, since: number): Remark[] {
  const { coverage, quiet, problem, now } = facts;
  const remarks: Remark[] = [];
  if (coverage === undefined && problem === undefined) {
    const remedy = 'Set usage.store in routes.yaml.';
    remarks.push({
      code: 'no_ledger',
      text: 'This gateway keeps no usage ledger, so its calls are not known.',
      remedy,
    });
  } else if (coverage !== undefined && coverage.since === undefined && problem === undefined) {
    remarks.push({ code: 'ledger_empty', text: 'The usage ledger is empty.', until: now + quiet });
  } else if (coverage?.since !== undefined && coverage.since > since) {
    remarks.push(shortRemark(coverage, coverage.since, facts));
  }
  if (problem !== undefined) {
    const text = `The usage ledger has a problem, so requests may be missing in it: ${printableExcerpt(problem, 200)}`;
    remarks.push({ code: 'ledger_broken', text });
  }
  return remarks;
}

/** Why coverage does not begin earlier, if calls were lost then. */
function lossReasonOf({ since, losses }: Coverage): string | undefined {
  return since === undefined ? undefined : losses.find((one) => one.until >= since)?.reason;
}

function shortRemark(coverage: Coverage, coveredSince: number, facts: CallFacts): Remark {
  const { quiet, retention, now } = facts;
  const until = coveredAt(coveredSince, facts);
  const isNever = retention !== undefined && quiet > retention;
  const then = isNever
    ? 'it can never cover the quiet period, because usage.retention is shorter'
    : `it will cover the last ${inWholeUnits(quiet)} ${atAndIn(until, now)}`;
  const reason = lossReasonOf(coverage);
  const why = reason === undefined ? '' : ` ${reason}`;
  return {
    code: 'ledger_short',
    text: `The usage ledger begins at ${rfc3339(coveredSince)}; ${then}.${why}`,
    since: coveredSince,
    ...(!isNever && { until }),
  };
}

/** Why the calls of the last seconds may be missing. One reason for the counts of this gateway is enough. */
function pendingRemarks({ version, now, live }: CallFacts): readonly Remark[] {
  const { pending, unresponsiveSince, hasUnwritten } = live;
  if (pending.length > 0) return pending;
  if (unresponsiveSince !== undefined) {
    const [time, calls] = [
      inLargestUnit(Math.max(0, now - unresponsiveSince)),
      version === undefined ? 'calls' : `calls of /${version}`,
    ];
    const text = `A worker has not answered for ${time}: ${calls} that it has counted may be missing in the ledger.`;
    return [{ code: 'worker_unresponsive', text, since: unresponsiveSince }];
  }
  if (!hasUnwritten) return [];
  return [{ code: 'counts_waiting', text: 'Counts of the last seconds are not in the ledger yet.' }];
}
