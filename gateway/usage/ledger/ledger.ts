import type { DatabaseSync } from 'node:sqlite';
import { type Clock, ClockWatch } from '../../shared/clock.ts';
import { inLargestUnit } from '../../shared/text.ts';
import type { UsageBatch, UsageRow } from '../usageRow.ts';
import { DamagedFileError, failureOf, type LedgerFailure } from './failure.ts';
import { besides, putAside } from './file.ts';
import { LedgerQueries } from './ledgerQueries.ts';
import { deleteOld, latestRequest } from './maintenance.ts';
import { HeldRows, maxHeldAtATime, OutageNotices, RetryPause } from './outage.ts';
import { LedgerReader } from './reader.ts';
import { dayMs, hourMs } from './spans.ts';
import { LedgerStore, newSalt } from './store.ts';
import type { Incident, LedgerOptions, LedgerSettings, WritableLedger } from './writableLedger.ts';

const signOfLifeMs = 60_000; // How exactly it is known when a gateway ran that nobody called.

// A longer pause of the process interrupts coverage, as a longer pause between two runs does.
const longestPauseMs = hourMs;
// Entries may be written a moment before a small correction of the clock.
const toleranceMs = 5_000;
// A clock that shows an earlier date is wrong.
const earliestMs = Date.parse('2026-01-01');

/** Who called what and when, on disk. What cannot be written is kept in memory, and the next batch tries again. */
export class Ledger extends LedgerQueries implements WritableLedger {
  problem: string | undefined;
  incident: Incident | undefined;
  /** Requests that were counted as `other clients` here, and not before they came, since the start. */
  foldedHere = 0;
  /** What it is kept by, and where. */
  settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #clockWatch: ClockWatch;
  /** Why coverage starts again; undefined once the restart is written. */
  #interruption: string | undefined;
  readonly #outage: OutageNotices;
  #began: number;
  readonly #held = new HeldRows();
  #connection: LedgerStore | undefined;
  #salt: string;
  readonly #patience = new RetryPause();
  /** When it was last written, epoch ms. */
  #seen = 0;
  #beginsAnew = false;

  private constructor(
    settings: LedgerSettings,
    { clock, onNotice = () => {}, salt = newSalt(), interruption }: LedgerOptions,
  ) {
    super();
    this.settings = settings;
    this.#clock = clock;
    this.#clockWatch = new ClockWatch(clock);
    this.#salt = salt;
    this.#outage = new OutageNotices(onNotice);
    this.#began = clock.now();
    this.names.follow(settings.names);
    if (interruption !== undefined) this.#interrupt(interruption);
  }

  static open(settings: LedgerSettings, options: LedgerOptions): Ledger {
    const ledger = new Ledger(settings, options);
    ledger.#try(() => {});
    return ledger;
  }

  static openReadOnly(file: string, names?: string): LedgerReader {
    return new LedgerReader(file, names);
  }

  /** For the tags of secrets. It is another one only if the file could not be read at the start, and then can be. */
  get salt(): string {
    return this.#salt;
  }

  get held(): number {
    return this.#held.size;
  }

  /** Settings of a reload; `store` counts from the next start on. */
  configure(settings: LedgerSettings): void {
    this.names.follow(settings.names);
    this.settings = { ...settings, store: this.settings.store };
  }

  /** The `mark` of the last batch in the file. */
  get mark(): string {
    return this.#connection?.mark ?? '';
  }

  /** Writes a batch, and some of what waits. An empty one tells that the gateway still runs. `mark` is written with it. */
  add(batch: UsageBatch, mark?: string): void {
    this.#lookAtClock();
    const now = this.#clock.now();
    const isQuiet = batch.length + this.held === 0 && this.problem === undefined && this.#interruption === undefined;
    const isFresh = now - this.#seen < signOfLifeMs && this.#connection?.isAsLeft === true;
    if (isQuiet && isFresh) return;
    const { rows, forget } = this.#held.first(maxHeldAtATime);
    const all = [...rows, ...batch].map((row) => notAfter(now, row));
    if (!this.#patience.isPaused(now) && this.#try(({ writer }) => writer.add(all, this.settings, mark))) forget();
    else this.foldedHere += this.#held.hold(batch);
  }

  async flush(): Promise<void> {
    this.add([]);
  }

  /** Deletes what is too old, and counts together what is too much. For once an hour or so. `now`: epoch ms. */
  maintain(now: number): void {
    this.#try(({ database, writer }) => {
      writer.settle(now, this.settings);
      deleteOld(database, now, this.settings.retention);
      writer.forget();
    });
  }

  /** Writes all that waits, if that is possible. */
  close(): void {
    const { rows, forget } = this.#held.first(this.held);
    if (this.#try(({ writer }) => writer.add(rows, this.settings))) forget();
    this.#disconnect();
    this.names.close();
  }

  protected database(): DatabaseSync | undefined {
    return this.#connection?.database;
  }

  protected failed({ reason, corrupt }: LedgerFailure): void {
    const { store } = this.settings;
    this.problem = `${store} cannot be written: ${reason}.  What is counted is kept in memory until it can be.`;
    if (!corrupt) return;
    this.#disconnect();
    const aside = putAside(store, this.#clock.now());
    this.#beginsAnew = aside !== undefined;
    if (aside) this.#interrupt(`${store} could not be used: ${reason}.  It is now ${aside}, and a new one begins.`);
  }

  #try(work: (connection: LedgerStore) => void): boolean {
    // Again into a new file, if the first one was damaged.
    const worked = this.#attempt(work) || (this.#beginsAnew && this.#attempt(work));
    if (worked) this.#outage.over(`${this.settings.store} can be written again.`);
    else if (this.problem !== undefined) this.#outage.failed(this.problem);
    return worked;
  }

  #attempt(work: (connection: LedgerStore) => void): boolean {
    const now = this.#clock.now();
    this.#beginsAnew = false;
    try {
      const connection = this.#connected(now);
      const interruption = this.#interruption;
      if (interruption !== undefined) this.#began = now;
      const isFuture = interruption !== undefined && this.#keepCopyOfFuture(connection, now);
      this.foldedHere += connection.transaction(this.#began, now, () => {
        if (interruption !== undefined) connection.restartCoverage();
        if (isFuture) connection.dateToPresent(now);
        work(connection);
      });
      this.#interruption = undefined;
      this.problem = undefined;
      this.#patience.worked();
      this.#seen = now;
      return true;
    } catch (error) {
      this.#patience.failed(now);
      this.failed(failureOf(error));
      return false;
    }
  }

  #connected(now: number): LedgerStore {
    const tampering = this.#connection?.tampering;
    if (tampering?.removed) this.#leaveRemoved(tampering.reason, now);
    else if (tampering) throw new DamagedFileError(tampering.reason);
    if (this.#connection) return this.#connection;
    this.#connection = new LedgerStore(this.settings.store, this.#salt);
    this.#salt = this.#connection.salt;
    // A file that takes the place of another one in use knows nothing of the time before.
    if (this.#seen > 0) this.#began = now;
    const { latest } = this.#connection;
    if (latest > now + toleranceMs) {
      const [last, present] = [instant(latest), instant(now)];
      this.#interrupt(
        `The ledger holds entries up to ${last}, and the clock says ${present}: it was wrong, or it is wrong now.`,
      );
    }
    return this.#connection;
  }

  /** The connection still has what was counted, until it is closed. */
  #leaveRemoved(reason: string, now: number): void {
    const { store } = this.settings;
    const copy = besides(store, 'removed', now);
    let kept = `${copy} has what was counted in it`;
    try {
      this.#connection?.copyTo(copy);
    } catch (error) {
      kept = `what was counted in it is lost (${failureOf(error).reason})`;
    }
    this.#disconnect();
    this.#interrupt(`${store} was open when ${reason}: ${kept}.`);
  }

  #lookAtClock(): void {
    const { jump, elapsed } = this.#clockWatch.look();
    const now = instant(this.#clock.now());
    if (jump !== 0) {
      const [by, way] = [inLargestUnit(Math.abs(jump)), jump > 0 ? 'forward' : 'back'];
      this.#interrupt(`The clock was set ${way} by ${by}, to ${now}.`);
    } else if (elapsed > longestPauseMs)
      this.#interrupt(`The gateway was stopped for ${inLargestUnit(elapsed)}, until ${now}.`);
  }

  /** A new coverage period begins with the next transaction. */
  #interrupt(reason: string): void {
    const text = `${reason}  Coverage starts again: the time before this does not count towards a quiet period.`;
    this.#interruption = text;
    this.incident = { at: this.#clock.now(), text };
    this.#outage.tell(text);
  }

  /** Whether there are entries of the future to date to the present. If they lie a day ahead, a copy of the file is made first. */
  #keepCopyOfFuture(connection: LedgerStore, now: number): boolean {
    const latest = latestRequest(connection.database);
    // A clock without a battery starts in 1970, and must not date every entry to that.
    if (latest + hourMs <= now || now < earliestMs) return false;
    if (latest - now < dayMs) return true;
    const copy = besides(this.settings.store, 'future', now);
    try {
      connection.copyTo(copy);
      this.#outage.tell(`Entries of the future are dated to the present.  ${copy} has them as they were.`);
      return true;
    } catch (error) {
      this.#outage.tell(`Entries of the future stay, as ${copy} cannot be written: ${failureOf(error).reason}.`);
      return false;
    }
  }

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}

/** As it would have been counted by a clock that says `now`. */
function notAfter(now: number, row: UsageRow): UsageRow {
  if (row.last <= now + toleranceMs) return row;
  const hour = Math.min(row.hour, now - (now % hourMs));
  return { ...row, hour, first: Math.min(row.first, now), last: now, used: Math.min(row.used, now) };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
