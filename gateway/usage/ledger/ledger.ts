import { type Clock, ClockWatch, jumpToleranceMs } from '../../shared/clock.ts';
import { isoText } from '../../shared/instant.ts';
import { OutageNotices, RetryPause } from '../../shared/outage.ts';
import { inLargestUnit } from '../../shared/text.ts';
import type { Loss } from '../evidence/coverage.ts';
import type { BrownoutRecord, EvidenceRow, UsageBatch, UsageRow } from '../usageRow.ts';
import type { CallMarks, CountedMark, MarksAtStart } from './callMarks.ts';
import { DamagedFileError, type LedgerFailure, ledgerFailure } from './failure.ts';
import { copyName, renameDamaged } from './file.ts';
import type { OutboxState } from './outbox.ts';
import { dayMs, hourMs } from './spans.ts';
import { newSalt, SqliteStore } from './store.ts';
import { WaitingRows } from './waitingRows.ts';
import type { Incident, LedgerSettings, WritableLedger } from './writableLedger.ts';

// While there is no traffic, the ledger is written this often, so that it records when the gateway ran.
const heartbeatMs = 60_000;
// Writing this many rows blocks the thread for a fraction of a second.
const maxWaitingPerWrite = 10_000;
// A longer pause of the process interrupts coverage, like a longer pause between two runs.
const maxPauseMs = hourMs;
// A row may be this far in the future, because it was counted before the clock was set back a little.
const toleranceMs = 5_000;
// An earlier date means that the clock is wrong.
const earliestPlausibleMs = Date.parse('2026-01-01');

export interface LedgerOptions {
  readonly clock: Clock;
  /** Receives one-line notices for the operator about events that `problem` will not show later. */
  readonly onNotice?: (notice: string) => void;
  /** The salt of a new file; default: random. */
  readonly salt?: string;
  /** Why coverage restarts when the ledger is opened; undefined if it continues. */
  readonly gapReason?: string | undefined;
  /** The marks of the versions that are called. */
  readonly marks?: CallMarks | undefined;
  /** What the marks of earlier runs told; default: that of `marks`. Undefined: not known. */
  readonly marksAtStart?: MarksAtStart | undefined;
  /** The run that an earlier thread of this process has begun in the file. */
  readonly earlierRun?: number | undefined;
  /** Whether another process writes to the file, too: it may still count, so its run stays open. */
  readonly isShared?: boolean;
}

/** The usage ledger on disk. Rows that cannot be written are kept in memory and written with a later batch. */
export class Ledger implements WritableLedger {
  problem: string | undefined;
  lastIncident: Incident | undefined;
  movedRequests = 0;
  brownouts: readonly BrownoutRecord[] | undefined;
  settings: LedgerSettings;
  readonly marks: CallMarks | undefined;
  readonly #clock: Clock;
  readonly #clockWatch: ClockWatch;
  readonly #notices: OutageNotices;
  readonly #waiting: WaitingRows;
  /** By process, the mark up to which its calls are counted in the file once all waiting rows are written. */
  readonly #counted = new Map<number, number>();
  /** Losses that are not written yet. */
  #losses: readonly Loss[] = [];
  /** When a process last ended before it had counted its calls, epoch ms; undefined once that is written. */
  #uncountedAt: number | undefined;
  readonly #marksAtStart: MarksAtStart | undefined;
  readonly #earlierRun: number | undefined;
  readonly #isShared: boolean;
  /** Whether the runs of earlier processes or threads are closed. */
  #hasClosedEarlierRuns = false;
  readonly #retryPause = new RetryPause(5_000, 60_000);
  #store: SqliteStore | undefined;
  #salt: string;
  #outbox: OutboxState | undefined;
  /** The start of the current run, epoch ms. */
  #began: number;
  /** Why coverage restarts; undefined once the restart is written. */
  #gapReason: string | undefined;
  /** When the ledger was last written, epoch ms. 0: the next call of `add` writes even an empty batch. */
  #lastWriteAt = 0;
  /** True after a damaged file was renamed: the next attempt creates a new one. */
  #wasRenamed = false;

  private constructor(
    settings: LedgerSettings,
    { clock, onNotice = () => {}, salt = newSalt(settings), gapReason, ...options }: LedgerOptions,
  ) {
    this.marks = options.marks;
    this.#marksAtStart = options.marksAtStart ?? options.marks?.atStart;
    this.#earlierRun = options.earlierRun;
    this.#isShared = options.isShared ?? false;
    this.settings = settings;
    this.#clock = clock;
    this.#waiting = new WaitingRows(undefined, () => clock.now());
    this.#clockWatch = new ClockWatch(clock);
    this.#salt = salt;
    this.#notices = new OutageNotices(onNotice);
    this.#began = clock.now();
    if (gapReason !== undefined) this.#interrupt(gapReason);
  }

  static open(settings: LedgerSettings, options: LedgerOptions): Ledger {
    const ledger = new Ledger(settings, options);
    // In a fleet, this puts an empty batch into the outbox, so that the shared store knows of this run before its first request.
    ledger.#write((store) => store.add([], settings));
    return ledger;
  }

  get salt(): string {
    return this.#salt;
  }

  get unwrittenRows(): number {
    return this.#waiting.size;
  }

  get unwrittenSince(): number | undefined {
    return this.#waiting.since;
  }

  /** Also the facts that calls may be missing, and that coverage restarts. */
  get unwrittenLosses(): number {
    return this.#losses.length + Number(this.#uncountedAt !== undefined) + Number(this.#gapReason !== undefined);
  }

  /** The id of the current run in the file. Undefined: it is not in the file yet. */
  get run(): number | undefined {
    return this.#store?.run;
  }

  /** The `mark` that an earlier run passed to `add` with its last batch, read when the file was opened; '' for none. */
  get lastBatchMark(): string {
    return this.#store?.lastBatchMark ?? '';
  }

  configure(settings: LedgerSettings): void {
    const { store, tagKey, spool } = this.settings;
    const stored = ({ identify, answers, unmarked, bases }: LedgerSettings) =>
      JSON.stringify([identify, answers, unmarked, bases]);
    const isChanged = stored(this.settings) !== stored(settings);
    this.settings = { ...settings, store, tagKey, ...(spool !== undefined && { spool }) };
    if (!isChanged) return;
    // They are stored before the next answer: calls may be missing because of them.
    this.#lastWriteAt = 0;
    this.add([]);
  }

  /** What waits for the shared store of the fleet; undefined without a fleet, or while the file cannot be opened. */
  get outbox(): OutboxState | undefined {
    return this.#outbox;
  }

  /** Removes a batch that the shared store has. */
  removeSent(epoch: number, seq: number): void {
    this.#write((store) => store.removeSent(epoch, seq));
  }

  /** Replaces the salt of the tags. Rows that are added from now on have tags under the new salt. */
  adoptSalt(salt: string): void {
    if (this.#write((store) => store.adoptSalt(salt))) this.#salt = salt;
  }

  add(batch: UsageBatch, counted?: CountedMark): void {
    this.addBatch(batch, counted ? [counted] : []);
  }

  /** Writes the batch together with some of the waiting rows. `mark` identifies the batch, so that a new thread does not add it again. */
  addBatch(batch: UsageBatch, counted: readonly CountedMark[] = [], mark?: string): void {
    this.#checkClock();
    for (const { process, until } of counted) this.#counted.set(process, until);
    const now = this.#clock.now();
    const waitingFacts = batch.length + this.unwrittenRows + this.unwrittenLosses + this.#counted.size;
    const isIdle = waitingFacts === 0 && this.problem === undefined;
    const isUpToDate = now - this.#lastWriteAt < heartbeatMs && this.#store?.isFileUnchanged === true;
    if (isIdle && isUpToDate) return;
    const { rows, remove } = this.#waiting.first(maxWaitingPerWrite);
    const allRows = [...rows, ...batch].map((row) => notAfter(now, row));
    const isComplete = rows.length === this.unwrittenRows;
    const write = (store: SqliteStore): void => {
      store.add(allRows, this.settings, mark);
      if (isComplete) store.saveCounted(this.#counted);
    };
    if (this.#retryPause.leftMs(now) === 0 && this.#write(write, isComplete)) {
      remove();
      if (isComplete) this.#counted.clear();
    } else this.movedRequests += this.#waiting.keepOrFold(batch);
  }

  addLosses(losses: readonly Loss[], counted?: CountedMark): void {
    this.#losses = [...this.#losses, ...losses];
    if (counted) this.#uncountedAt = this.#clock.now();
    this.#lastWriteAt = 0;
    this.add([], counted);
  }

  async flush(): Promise<void> {
    this.add([]);
  }

  saveBrownouts(records: readonly BrownoutRecord[]): void {
    const isSaved = this.#write((store) => store.saveBrownouts(records));
    if (isSaved) this.brownouts = this.#store?.brownouts();
  }

  saveEvidence(rows: readonly EvidenceRow[]): void {
    this.#write((store) => store.saveEvidence(rows));
  }

  maintain(now: number): void {
    this.#write((store) => store.maintain(now, this.settings));
  }

  close(): void {
    const { rows, remove } = this.#waiting.first(this.unwrittenRows);
    const isWritten = this.#write((store) => {
      if (rows.length > 0) store.add(rows, this.settings);
      store.saveCounted(this.#counted);
      store.closeRun();
    }, true);
    if (isWritten) {
      remove();
      this.#counted.clear();
    }
    this.#closeStore();
  }

  /** Runs `work` in a transaction. `isComplete`: no row waits after it. @returns false if it failed */
  #write(work: (store: SqliteStore) => unknown, isComplete = this.unwrittenRows === 0): boolean {
    // Each transaction records the time of its end, also the last one of the run.
    this.#checkClock();
    // If the file turned out to be damaged, the second attempt writes to a new one.
    const succeeded = this.#attempt(work, isComplete) || (this.#wasRenamed && this.#attempt(work, isComplete));
    if (succeeded) this.#notices.recovered(`${this.settings.store} can be written again.`);
    else if (this.problem !== undefined) this.#notices.failed(this.problem);
    return succeeded;
  }

  #attempt(work: (store: SqliteStore) => unknown, isComplete: boolean): boolean {
    const now = this.#clock.now();
    this.#wasRenamed = false;
    try {
      const store = this.#openStore(now);
      const gapReason = this.#gapReason;
      if (gapReason !== undefined) this.#began = now;
      const changesFutureEntries = gapReason !== undefined && this.#prepareFutureEntries(store, now);
      const isNewSalt = store.salt !== this.#salt;
      let newLosses: readonly Loss[] = [];
      this.movedRequests += store.transaction(this.#began, now, () => {
        if (isNewSalt) store.adoptSalt(this.#salt);
        if (gapReason !== undefined) store.restartCoverage();
        if (changesFutureEntries) store.setFutureToPresent(now);
        if (!this.#hasClosedEarlierRuns) newLosses = this.#closeEarlierRuns(store, now);
        if (!this.#hasClosedEarlierRuns || gapReason !== undefined) {
          store.recordClock(this.#bootId, this.#clockOffset());
          store.recordMarks(this.#marksAtStart);
        }
        store.addLosses(this.#losses);
        if (this.#uncountedAt !== undefined) store.noteUncounted(this.#uncountedAt);
        work(store);
        store.storeNamingRulesId(this.settings, now);
        store.storeAnswerSettings(this.settings);
        store.storeBases(this.settings, now);
        // The calls of a client that counts now may be in the rows that wait.
        if (isComplete) newLosses = [...newLosses, ...store.storeUnmarkedClients(this.settings)];
      });
      if (!this.#hasClosedEarlierRuns) this.marks?.onRecorded();
      this.#hasClosedEarlierRuns = true;
      this.#losses = [];
      this.#uncountedAt = undefined;
      if (isNewSalt) this.#notices.tell(saltReplaced(this.settings));
      for (const { reason } of newLosses) this.#notices.tell(reason);
      this.#outbox = store.outboxState();
      this.#gapReason = undefined;
      this.problem = undefined;
      this.#retryPause.succeeded();
      this.#lastWriteAt = now;
      return true;
    } catch (error) {
      this.#retryPause.failed(now);
      this.#onFailure(ledgerFailure(error));
      return false;
    }
  }

  #closeEarlierRuns(store: SqliteStore, now: number): readonly Loss[] {
    if (this.#earlierRun !== undefined) store.closeRunOfEarlierThread(this.#earlierRun);
    // The gateway beside this one still counts.
    else if (!this.#isShared) return store.closeEarlierRuns(this.#marksAtStart, now);
    return [];
  }

  #onFailure({ reason, isCorrupt }: LedgerFailure): void {
    const { store: file } = this.settings;
    this.problem = `${file} cannot be written: ${reason}.  Counts are kept in memory until it can be.`;
    if (!isCorrupt) return;
    this.#closeStore();
    const result = renameDamaged(file, this.#clock.now());
    this.#wasRenamed = 'renamed' in result;
    if ('failure' in result)
      this.problem = `${file} cannot be used: ${reason}.  ${result.failure}  Counts are kept in memory until it can be.`;
    else {
      const text = `It was renamed to ${result.renamed}, and a new one was created.`;
      this.#interrupt(`${file} could not be used: ${reason}.  ${text}`);
    }
  }

  #openStore(now: number): SqliteStore {
    const tampering = this.#store?.tampering();
    if (tampering?.isRemoved) this.#saveRemoved(tampering.reason, now);
    else if (tampering) throw new DamagedFileError(tampering.reason);
    if (this.#store) return this.#store;
    const outbox = this.settings.spool === undefined ? undefined : { now, instance: this.#outbox?.instance };
    this.#store = new SqliteStore(this.settings.store, this.#salt, outbox);
    if (this.settings.tagKey === undefined) this.#salt = this.#store.salt;
    this.brownouts = this.#store.brownouts();
    // A file that was created during the run does not have the counts from before.
    if (this.#lastWriteAt > 0) this.#began = now;
    const { latest, countedAlone } = this.#store;
    if (countedAlone)
      this.#interrupt('The gateway has counted requests without the fleet: they are not in the shared ledger.');
    if (latest > now + toleranceMs) {
      const [last, present] = [isoText(latest), isoText(now)];
      this.#interrupt(
        `The ledger has entries up to ${last}, but the time is ${present}: the clock was wrong then, or is wrong now.`,
      );
    }
    this.#compareClock(this.#store);
    return this.#store;
  }

  /** Copies a file that another program removed: the open connection can still read it. */
  #saveRemoved(reason: string, now: number): void {
    const { store: file } = this.settings;
    const copy = copyName(file, 'removed', now);
    let result = `its counts were saved to ${copy}`;
    try {
      this.#store?.copyTo(copy);
    } catch (error) {
      result = `its counts are lost (${ledgerFailure(error).reason})`;
    }
    this.#closeStore();
    this.#interrupt(`${file} was open when ${reason}: ${result}.`);
  }

  /** The clock may have been set while no gateway ran. A machine that sleeps stops the monotonic clock, so a sleep counts as a change. */
  #compareClock(store: SqliteStore): void {
    const isCompared = this.#hasClosedEarlierRuns || this.#earlierRun !== undefined || this.#gapReason !== undefined;
    if (isCompared || this.#clock.monotonic === undefined) return;
    const change = store.clockChange(this.#bootId, this.#clockOffset());
    if (Math.abs(change) > jumpToleranceMs) this.#interrupt(`${clockWasSet(change)} while the gateway was stopped.`);
  }

  get #bootId(): string {
    return this.#marksAtStart?.bootId ?? '';
  }

  /** The wall clock minus the monotonic one. */
  #clockOffset(): number {
    return this.#clock.now() - (this.#clock.monotonic?.() ?? 0);
  }

  #checkClock(): void {
    const { jump, elapsed } = this.#clockWatch.measure();
    const now = isoText(this.#clock.now());
    if (jump !== 0) this.#interrupt(`${clockWasSet(jump)}, to ${now}.`);
    else if (elapsed > maxPauseMs)
      this.#interrupt(`The gateway was stopped for ${inLargestUnit(elapsed)}, until ${now}.`);
  }

  /** The next transaction restarts coverage. */
  #interrupt(reason: string): void {
    const text = `${reason}  Coverage restarts: the time before this does not count towards a quiet period.`;
    this.#gapReason = text;
    this.lastIncident = { at: this.#clock.now(), text };
    this.#notices.tell(text);
  }

  /** @returns whether future entries have to be set to the present. If they are more than a day ahead, copies the file first. */
  #prepareFutureEntries(store: SqliteStore, now: number): boolean {
    const latestHour = store.latestRequest();
    // A clock without a battery starts in 1970, and must not change every entry to that date.
    if (latestHour + hourMs <= now || now < earliestPlausibleMs) return false;
    if (latestHour - now < dayMs) return true;
    const copy = copyName(this.settings.store, 'future', now);
    try {
      store.copyTo(copy);
      this.#notices.tell(`Entries dated in the future are changed to the present.  ${copy} has the originals.`);
      return true;
    } catch (error) {
      const { reason } = ledgerFailure(error);
      this.#notices.tell(
        `Entries dated in the future are left unchanged, because ${copy} cannot be written: ${reason}.`,
      );
      return false;
    }
  }

  #closeStore(): void {
    this.#store?.close();
    this.#store = undefined;
  }
}

function clockWasSet(ms: number): string {
  return `The clock was set ${ms > 0 ? 'forward' : 'back'} by ${inLargestUnit(Math.abs(ms))}`;
}

function saltReplaced({ store: file }: LedgerSettings): string {
  return `usage.tag_key replaces the salt of ${file}: a client that is known by a tag is counted as a new client from now on.`;
}

/** Changes the instants of a row that are later than `now`, as if the clock had been right. */
function notAfter(now: number, row: UsageRow): UsageRow {
  if (row.last <= now + toleranceMs) return row;
  const hour = Math.min(row.hour, now - (now % hourMs));
  const atMostNow = (at: number): number => Math.min(at, now);
  const [first, used, accepted] = [atMostNow(row.first), atMostNow(row.used), atMostNow(row.accepted)];
  return { ...row, hour, first, last: now, used, accepted };
}
