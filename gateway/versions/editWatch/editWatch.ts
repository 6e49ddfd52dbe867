import type { Snapshot } from '../../config/snapshot.ts';
import { editedValues, type WrittenValues } from '../../config/writtenValues.ts';
import type { Clock } from '../../shared/clock.ts';
import { lostShareJump } from '../../usage/evidence/lostShare.ts';
import type { AnswerCounts, ServingReport } from '../../usage/observability/report.ts';
import { changesBetween } from '../lifecycle/snapshotChanges.ts';
import { stageWithWaivers } from '../lifecycle/stage.ts';
import { AnswerHistory, type AnswerTotals, difference, lostIn } from './answerHistory.ts';
import {
  type EditWatchStatus,
  isStanding,
  jumpLines,
  recoveryLine,
  type VersionWatch,
  type WatchedEdit,
  watchEndLine,
  watchStatus,
} from './watchStatus.ts';

const tickMs = 1_000;
/** The rule allows eleven looks before the last one. */
const lookIntervalMs = 5_000;
const watchMs = 60_000;
const baselineMs = 300_000;
const keptMs = 86_400_000;
// An operator who saves every few seconds makes long lists.
const maxEdits = 10;
const maxCarried = 2;

export interface EditWatchOptions {
  readonly source: { readonly current: Snapshot };
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** The state of all processes. */
  readonly report: () => Promise<Pick<ServingReport, 'workers'>>;
  /** Tells all processes at which paths versions were served before. */
  readonly restrict: (update: { readonly formerPaths: ReadonlyMap<string, string> }) => Promise<void>;
}

interface AppliedEdit {
  readonly edit: WatchedEdit;
  readonly before: Snapshot;
  readonly next: Snapshot;
  /** When it was applied, by the monotonic clock. */
  readonly at: number;
  /** As of then. */
  readonly totals: AnswerTotals;
}

/** A watch, with what only the judgement needs. Times are of the monotonic clock, in ms. */
interface RunningWatch extends VersionWatch {
  readonly startedAt: number;
  readonly countsAtStart: AnswerCounts | undefined;
  /** The file before the first edit. */
  readonly writtenBefore: WrittenValues | undefined;
  lookedAt: number;
}

/**
 * Compares, for 60 s after each applied edit, the share of lost requests of every version with the minutes before, and names the
 * versions whose share has jumped. It changes nothing.
 *
 * Every edit has a watch and a baseline of its own. An edit within the 60 s takes a last look at the watches of the edit before it:
 * - no jump: that watch ends. The new edit is compared with the minutes before it.
 * - a jump: that watch ends. The new edit is compared with the time since the edit that caused the jump, so it is not blamed for it.
 * - not known: that watch goes on for another 60 s, and names both edits, because they cannot be told apart. The new edit is compared
 *   with the time since the edit before it.
 */
export class EditWatch {
  readonly #options: EditWatchOptions;
  readonly #history: AnswerHistory;
  readonly #timer: NodeJS.Timeout;
  #watches: RunningWatch[] = [];
  /** Version → the beginning of the time with which its next edit may be compared. */
  readonly #baselineFrom = new Map<string, number>();
  #formerPaths: ReadonlyMap<string, string> = new Map();
  #lastEditAt = Number.NEGATIVE_INFINITY;
  /** Edits that are being applied. Meanwhile no process is known to serve the old or the new configuration. */
  #applying = 0;
  /** The edit whose end is not logged yet. */
  #watchedEdit: WatchedEdit | undefined;
  #hasSilentWorker = false;
  /** Reports are added one after another, in the order in which they were requested. */
  #lastStep: Promise<unknown> = Promise.resolve();
  #isChecking = false;

  constructor(options: EditWatchOptions) {
    this.#options = options;
    this.#history = new AnswerHistory(this.#elapsed(), baselineMs);
    this.#timer = setInterval(() => void this.check(), tickMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The watches of the last edit, and earlier ones with a jump that is not over. */
  status(): EditWatchStatus[] {
    return this.#watches.map(watchStatus);
  }

  /** Applies an edit, and watches its effect. @throws what `apply` throws; then nothing is watched */
  async around<Result>(next: Snapshot, apply: () => Promise<Result>): Promise<Result> {
    const { source, clock, restrict } = this.#options;
    const before = source.current;
    const at = this.#elapsed();
    // The processes answer in the order of the messages, so this report has the requests before the edit.
    const counted = this.#addReport(at, true);
    const now = clock.now();
    this.#applying += 1;
    try {
      this.#formerPaths = formerPaths(this.#formerPaths, before, next);
      void restrict({ formerPaths: this.#formerPaths }).catch(() => {});
      const result = await apply();
      const edit = { at: now, changes: changesBetween(before, next, now) };
      void this.#inTurn(async () => {
        const totals = await counted;
        if (totals) this.#begin({ edit, before, next, at, totals });
      });
      return result;
    } finally {
      void this.#inTurn(async () => {
        this.#applying -= 1;
      });
    }
  }

  /** Counts and judges what is due. Never rejects. */
  async check(): Promise<void> {
    const isSampleDue = this.#elapsed() - this.#history.sampledAt >= lookIntervalMs;
    if (this.#isChecking || !(isSampleDue || this.#watchedEdit !== undefined)) return;
    this.#isChecking = true;
    const at = this.#elapsed();
    await this.#addReport(at, isSampleDue);
    await this.#inTurn(async () => this.#look(at));
    this.#isChecking = false;
  }

  /** Undefined: there was no report, because the gateway stops. */
  #addReport(at: number, isSample: boolean): Promise<AnswerTotals | undefined> {
    const requested = this.#options.report();
    requested.catch(() => {});
    return this.#inTurn(async () => {
      const report = await requested;
      this.#history.add(report, at, isSample);
      this.#hasSilentWorker = report.workers.some(({ unresponsiveSince }) => unresponsiveSince !== undefined);
      return this.#history.totals;
    });
  }

  /** Ms of a clock that is never set, so that a changed time neither ends a watch nor extends it. */
  #elapsed(): number {
    const { clock } = this.#options;
    return clock.monotonic?.() ?? clock.now();
  }

  #inTurn<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    const done = this.#lastStep.then(step).catch(() => undefined);
    this.#lastStep = done;
    return done;
  }

  #begin(applied: AppliedEdit): void {
    const { edit, before, next, at, totals } = applied;
    const open = this.#watches.filter(({ state }) => state === 'watching');
    this.#judge(open, totals, at, true);
    // Without requests before it, an edit can never be judged.
    const undecided = open.filter((watch) => watch.jumped === 'not known' && watch.before.requests > 0);
    const standing = this.#watches.filter(isStanding);
    this.#watches = [
      ...standing,
      ...versionsServed(before, next, edit.at).flatMap((version) => {
        const carried = undecided.filter((watch) => watch.version === version).slice(0, maxCarried);
        const isPreviousUnknown = carried.length > 0;
        return [
          ...carried.map((watch) => continued(watch, edit, next, at)),
          this.#watchOf(version, isPreviousUnknown ? this.#lastEditAt : Number.NEGATIVE_INFINITY, applied),
        ];
      }),
    ];
    this.#lastEditAt = at;
    this.#watchedEdit = edit;
  }

  /** `from`: when the time before the edit begins at the earliest. */
  #watchOf(version: string, from: number, { edit, before, next, at, totals }: AppliedEdit): RunningWatch {
    const first = this.#history.firstSince(
      Math.max(at - baselineMs, from, this.#baselineFrom.get(version) ?? Number.NEGATIVE_INFINITY),
    );
    return {
      version,
      ...unknownYet,
      edits: [edit],
      until: edit.at + watchMs,
      before: difference(totals.get(version), first.totals.get(version)),
      beforeMs: at - first.at,
      after: { requests: 0, lost: {} },
      afterMs: 0,
      editedValues: editedBetween(before.written, next.written),
      writtenBefore: before.written,
      startedAt: at,
      countsAtStart: totals.get(version),
      lookedAt: at,
    };
  }

  #look(at: number): void {
    if (this.#applying > 0) return;
    const { notice } = this.#options;
    const isLast = at - this.#lastEditAt >= watchMs;
    const isDue = ({ state, lookedAt }: RunningWatch) => {
      return state === 'watching' && (isLast || at - lookedAt >= lookIntervalMs);
    };
    this.#judge(this.#watches.filter(isDue), this.#history.totals, at, isLast);
    for (const watch of this.#watches.filter(isStanding)) this.#lookForRecovery(watch, at);
    this.#watches = this.#watches.filter(({ startedAt }) => at - startedAt < keptMs);
    if (this.#watchedEdit === undefined || at - this.#lastEditAt < watchMs) return;
    const line = watchEndLine(this.#watchedEdit, this.#watches);
    if (line !== undefined) notice(line);
    this.#watchedEdit = undefined;
  }

  /** The watch of the last edit comes first: if it finds the jump, the edits before it are not blamed. */
  #judge(watches: readonly RunningWatch[], totals: AnswerTotals, at: number, isLast: boolean): void {
    const { clock, notice } = this.#options;
    for (const watch of watches.toReversed()) {
      watch.lookedAt = at;
      watch.after = difference(totals.get(watch.version), watch.countsAtStart);
      watch.afterMs = at - watch.startedAt;
      watch.hasSilentWorker = this.#hasSilentWorker;
      if (isLast) watch.state = 'ended';
      // Another watch of the version may have found the jump a moment ago.
      if (watch.jumped === 'yes' || !this.#watches.includes(watch)) continue;
      watch.jumped = this.#answer(watch.before, watch.after, isLast);
      if (watch.jumped !== 'yes') continue;
      watch.foundAt = clock.now();
      this.#baselineFrom.set(watch.version, watch.startedAt);
      this.#watches = this.#watches.filter((one) => one.version !== watch.version || one.jumped === 'yes');
      for (const line of jumpLines(watch)) notice(line);
    }
  }

  /** A process that does not answer may lose every request. So without its counts, a `no` has no evidence. */
  #answer(before: AnswerCounts, after: AnswerCounts, isLast: boolean) {
    const shareOf = (counts: AnswerCounts) => ({ requests: counts.requests, lost: lostIn(counts) });
    const answer = lostShareJump(shareOf(before), shareOf(after), isLast);
    return answer === 'no' && this.#hasSilentWorker ? 'not known' : answer;
  }

  /** A jump is over when the last minute, or the time since a later edit, is again like the time before the edit. */
  #lookForRecovery(watch: RunningWatch, at: number): void {
    const { clock, notice } = this.#options;
    for (const period of [watchMs, baselineMs]) {
      const from = this.#history.firstSince(Math.max(this.#lastEditAt, at - period));
      const since = difference(this.#history.totals.get(watch.version), from.totals.get(watch.version));
      if (this.#answer(watch.before, since, true) !== 'no') continue;
      watch.state = 'recovered';
      watch.recoveredAt = clock.now();
      this.#baselineFrom.set(watch.version, from.at);
      notice(recoveryLine(watch));
      return;
    }
  }
}

const unknownYet = {
  jumped: 'not known',
  state: 'watching',
  foundAt: undefined,
  recoveredAt: undefined,
  hasSilentWorker: false,
} as const;

/** The watch with another edit, whose effect cannot be told apart from that of the edits before it. */
function continued(watch: RunningWatch, edit: WatchedEdit, next: Snapshot, at: number): RunningWatch {
  return {
    ...watch,
    ...unknownYet,
    edits: [...watch.edits.slice(0, 1), ...watch.edits.slice(1).slice(-(maxEdits - 2)), edit],
    until: edit.at + watchMs,
    editedValues: editedBetween(watch.writtenBefore, next.written),
    lookedAt: at,
  };
}

function editedBetween(before: WrittenValues | undefined, after: WrittenValues | undefined) {
  return once(() => (before && after ? editedValues(before, after) : []));
}

/** The versions that are served before or after the edit. A version that is retired now refuses its requests on purpose. */
function versionsServed(before: Snapshot, after: Snapshot, now: number): string[] {
  const names = new Set([...after.versions.keys(), ...before.versions.keys()]);
  return [...names].filter((name) => {
    const version = after.versions.get(name) ?? before.versions.get(name);
    return version !== undefined && stageWithWaivers(version, now) !== 'retired';
  });
}

/** The paths at which a version was served before the edit, and none is afterwards. `earlier`: those of earlier edits. */
function formerPaths(
  earlier: ReadonlyMap<string, string>,
  before: Snapshot,
  after: Snapshot,
): ReadonlyMap<string, string> {
  const paths = new Map([...earlier, ...pathsOf(before)]);
  for (const path of pathsOf(after).keys()) paths.delete(path);
  return new Map([...paths].slice(-maxFormerPaths));
}

function once<Result>(compute: () => Result): () => Result {
  let result: { readonly value: Result } | undefined;
  return () => {
    result ??= { value: compute() };
    return result.value;
  };
}

// An operator who changes the base path often must not slow down requests to unknown paths.
const maxFormerPaths = 100;

function pathsOf({ versions, gateway }: Snapshot): Map<string, string> {
  return new Map([...versions.keys()].map((name) => [`${gateway.basePath}/${name}`, name]));
}
