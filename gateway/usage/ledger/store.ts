import { randomBytes } from 'node:crypto';
import { type BigIntStats, closeSync, openSync, statSync } from 'node:fs';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { namingRulesIdOf, saltFrom } from '../counting/identification.ts';
import type { Loss } from '../evidence/coverage.ts';
import type { BrownoutRecord, EvidenceRow, UsageBatch } from '../usageRow.ts';
import type { MarksAtStart } from './callMarks.ts';
import { addEvidenceRows } from './evidence.ts';
import {
  damageIn,
  inTransaction,
  openLedgerFile,
  type RecordedFacts,
  recordedFactsIn,
  replacedContent,
} from './file.ts';
import { deleteOld, latestRequest, setFutureToPresent } from './maintenance.ts';
import { removeQuietly } from './markFile.ts';
import { Outbox, type OutboxState } from './outbox.ts';
import { sameLossMs } from './schema.ts';
import { spanAt } from './spans.ts';
import {
  lossesOfNewApis,
  lossOfIgnored,
  type RecordedMarks,
  recordedMarks,
  unrecordedCalls,
} from './unrecordedCalls.ts';
import { type LedgerSettings, nameLimitsOf } from './writableLedger.ts';
import { LedgerWriter } from './writer.ts';

type Stats = BigIntStats | undefined;

// An earlier copy lacks requests of the last days. To add up a week takes about a millisecond per thousand versions.
const factsDays = 7;

/** What another program did to the file while it was open here. */
export interface Tampering {
  /** True if the file is no longer at its path: later writes would be lost. */
  readonly isRemoved: boolean;
  readonly reason: string;
}

/**
 * An open ledger file for writing, and this process's run in it. Methods throw the errors of SQLite or the system.
 */
export class SqliteStore {
  /** The mark of the last batch that was in the file when it was opened, as it was passed to `add`; '' for none. */
  readonly lastBatchMark: string;
  /** The latest instant in the file when it was opened, epoch ms. */
  readonly latest: number;
  /** True in a fleet, if this gateway has counted requests outside the fleet before. The shared store does not have these requests. */
  readonly countedAlone: boolean;
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #writer: LedgerWriter;
  readonly #outbox: Outbox | undefined;
  /** True if the gateway has left its fleet: `fleet.store` was removed. */
  readonly #hasLeftFleet: boolean;
  #salt: string;
  /** The hash that the file has of the rules for client names; undefined: not read yet. */
  #namingRulesId: string | undefined;
  /** The unmarked clients in the file, as text; undefined: not written yet. */
  #unmarkedClients: string | undefined;
  /** The bases in the file, as text; undefined: not written yet. */
  #bases: string | undefined;
  /** The answer settings in the file, as text; undefined: not read yet. */
  #answerSettings: string | undefined;
  /** The state of the file and its journal after the last transaction. */
  #lastStats: { readonly file: Stats; readonly journal: Stats };
  #run: number | undefined;
  /** The time of the last transaction, epoch ms. */
  #seen = 0;
  /** What the file had after the last transaction. */
  #recorded: RecordedFacts | undefined;
  /** What the current transaction adds to the outbox. */
  #added: { rows: UsageBatch; spool: number } | undefined;
  /** Whether the current transaction restarts coverage. */
  #isRestart = false;
  /** The calls that may be missing, as the current transaction records them. */
  #losses: readonly Loss[] = [];
  /** Whether the current transaction closes the run. */
  #isClosing = false;

  /** `outbox`: set in a fleet. `now`: epoch ms. `instance`: the id of this gateway, used if the file has none. */
  constructor(file: string, salt: string, outbox?: { readonly now: number; readonly instance: string | undefined }) {
    this.#file = file;
    this.#database = openLedgerFile(file, salt);
    try {
      this.#lastStats = this.#stats();
      this.#writer = new LedgerWriter(this.#database);
      const meta = this.#database.prepare('SELECT value FROM meta WHERE key = ?');
      this.#salt = String(meta.get('salt')?.['value'] ?? salt);
      const { seen } = this.#database.prepare('SELECT MAX(seen) AS seen FROM runs').get() ?? {};
      this.latest = Math.max(Number(seen ?? 0), latestRequest(this.#database));
      this.lastBatchMark = String(meta.get('mark')?.['value'] ?? '');
      this.countedAlone = outbox !== undefined && meta.get('alone') !== undefined;
      this.#hasLeftFleet = outbox === undefined && meta.get('instance') !== undefined;
      this.#outbox =
        outbox && inTransaction(this.#database, () => new Outbox(this.#database, outbox.now, outbox.instance));
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** The salt in the file. An existing file keeps its salt, and the one that was passed is ignored. */
  get salt(): string {
    return this.#salt;
  }

  /** The id of this run in the table of runs; undefined: the run is not stored yet. */
  get run(): number | undefined {
    return this.#run;
  }

  /** What waits for the shared store of the fleet; undefined without a fleet. */
  outboxState(): OutboxState | undefined {
    return this.#outbox?.state();
  }

  /** True if no other program has changed the file since the last transaction. */
  get isFileUnchanged(): boolean {
    const [now, last] = [this.#stats(), this.#lastStats];
    return isSame(now.file, last.file) && isSame(now.journal, last.journal);
  }

  /** Checks what another program did to the file since the last transaction; undefined: nothing that matters. */
  tampering(): Tampering | undefined {
    const now = this.#stats();
    const { file, journal } = this.#lastStats;
    if (now.file?.ino !== file?.ino) return { isRemoved: true, reason: 'it was removed or replaced' };
    if (journal && now.journal?.ino !== journal.ino) return { isRemoved: true, reason: 'its journal was removed' };
    if (this.#run === undefined || this.isFileUnchanged) return undefined;
    // A program that restores a backup through SQLite writes only to the journal. So does another gateway, which costs nothing.
    const reason = isSame(now.file, file)
      ? replacedContent(this.#database, this.#run, this.#seen)
      : damageIn(this.#file, this.#run, this.#seen, this.#recorded);
    this.#lastStats = now;
    return reason === undefined ? undefined : { isRemoved: false, reason };
  }

  /**
   * Commits all of `work` or nothing, together with the fact that the gateway ran from `began` until `now`.
   * @returns how many requests it moved to `other clients`
   */
  transaction(began: number, now: number, work: () => void): number {
    const database = this.#database;
    database.exec('BEGIN IMMEDIATE');
    // Forget the number of requests that a transaction moved before it was rolled back.
    this.#writer.takeFolded();
    this.#added = undefined;
    this.#isRestart = false;
    this.#losses = [];
    this.#isClosing = false;
    const salt = this.#salt;
    try {
      work();
      if (this.#added || this.#isRestart || this.#losses.length > 0) this.#appendToOutbox(began, now);
      const run = this.#recordRun(began, now);
      const recorded = recordedFactsIn(database, spanAt('day', now) - factsDays);
      database.exec('COMMIT');
      this.#run = run;
      this.#seen = now;
      this.#recorded = recorded;
      this.#lastStats = this.#stats();
      return this.#writer.takeFolded();
    } catch (error) {
      this.#writer.clearCaches();
      this.#salt = salt;
      this.#namingRulesId = this.#answerSettings = this.#unmarkedClients = this.#bases = undefined;
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Adds a batch. `batchMark` identifies it, so that a new writing thread does not add it again. Within `transaction`. */
  add(batch: UsageBatch, settings: LedgerSettings, batchMark?: string): void {
    this.#writer.add(batch, nameLimitsOf(settings), batchMark);
    if (this.#hasLeftFleet && batch.length > 0) this.#database.exec(`INSERT OR REPLACE INTO meta VALUES ('alone', 1)`);
    this.#added = { rows: batch, spool: settings.spool ?? Number.POSITIVE_INFINITY };
  }

  /** Removes a batch that the shared store has. Within `transaction`. */
  removeSent(epoch: number, seq: number): void {
    this.#outbox?.remove(epoch, seq);
  }

  /** Replaces the salt of the tags. Within `transaction`. */
  adoptSalt(salt: string): void {
    // `importLedger` recognizes a file by its id, or by its salt if it has no id. Such a file gets the present salt as its id.
    this.#database.prepare(`INSERT OR IGNORE INTO meta VALUES ('id', ?)`).run(this.#salt);
    this.#database.prepare(`UPDATE meta SET value = ? WHERE key = 'salt'`).run(salt);
    this.#salt = salt;
  }

  /**
   * Stores an id that is computed from `usage.identify` and the salt, because these determine how clients are named. If the id has
   * changed, also stores `now` (epoch ms) as the time of the change. Within `transaction`.
   */
  storeNamingRulesId({ identify }: LedgerSettings, now: number): void {
    const namingRulesId = identify && namingRulesIdOf(identify, this.#salt);
    if (namingRulesId === undefined || namingRulesId === this.#namingRulesId) return;
    const setMeta = this.#database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)');
    const storedId = this.#database.prepare(`SELECT value FROM meta WHERE key = 'naming'`).get()?.['value'];
    setMeta.run('naming', namingRulesId);
    if (storedId !== undefined && storedId !== namingRulesId) setMeta.run('named_since', now);
    this.#namingRulesId = namingRulesId;
  }

  /** Stores the settings under which requests are answered. Within `transaction`. */
  storeAnswerSettings({ answers }: LedgerSettings): void {
    if (answers === undefined) return;
    const text = JSON.stringify(answers);
    if (text === this.#answerSettings) return;
    this.#setMeta('answers', text);
    this.#answerSettings = text;
  }

  /** Stores whose calls are not marked. Calls of all others count from now on, and some may be missing. Within `transaction`. */
  storeUnmarkedClients({ unmarked = [] }: LedgerSettings): readonly Loss[] {
    const text = JSON.stringify(unmarked);
    if (text === this.#unmarkedClients) return [];
    const before = JSON.parse(this.#meta('unmarked') ?? '[]') as string[];
    const losses = lossOfIgnored(before, unmarked, Number(this.#meta('uncounted') ?? 0));
    this.addLosses(losses);
    this.#setMeta('unmarked', text);
    this.#unmarkedClients = text;
    return losses;
  }

  /**
   * Stores the APIs whose calls are counted. Which calls came before to a new one is not known, unless the file is new. Within
   * `transaction`.
   */
  storeBases({ bases }: LedgerSettings, now: number): void {
    const text = JSON.stringify(bases);
    if (bases === undefined || text === this.#bases) return;
    const stored = this.#meta('bases');
    const before = JSON.parse(stored ?? '[]') as string[];
    const isNew = this.#run === undefined && this.latest === 0;
    if (!isNew) this.addLosses(lossesOfNewApis(before, bases, now));
    if (stored !== undefined || bases.length > 0) this.#setMeta('bases', text);
    this.#bases = text;
  }

  /** Adds what was decided about brownouts. Of the stored decisions, only `approved` is replaced. Within `transaction`. */
  saveBrownouts(records: readonly BrownoutRecord[]): void {
    const save = this.#database.prepare(`INSERT INTO brownouts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET state = excluded.state, reason = excluded.reason, changed = excluded.changed
      WHERE state = 'approved' AND excluded.state <> 'approved'`);
    for (const { version, at, state, reason, changed } of records) save.run(version, at, state, reason, changed);
  }

  brownouts(): BrownoutRecord[] {
    const rows = this.#database.prepare('SELECT version, at, state, reason, changed FROM brownouts').all();
    return rows as (Record<string, SQLOutputValue> & BrownoutRecord)[];
  }

  /** Adds to the evidence about responses. Within `transaction`. */
  saveEvidence(rows: readonly EvidenceRow[]): void {
    for (const [version, versionRows] of Map.groupBy(rows, (row) => row.version))
      addEvidenceRows(this.#database, version, versionRows);
  }

  /**
   * Limits the number of clients and routes without the leeway that `add` allows, and deletes what is older than the retention.
   * Within `transaction`.
   */
  maintain(now: number, settings: LedgerSettings): void {
    this.#writer.applyLimits(now, nameLimitsOf(settings));
    deleteOld(this.#database, now, settings.retention);
    this.#writer.clearCaches();
  }

  /** Restarts coverage: no quiet period begins before this run. Within `transaction`. */
  restartCoverage(): void {
    // The marks in `counted` may be in the future, by a clock that was ahead.
    this.#database.exec('DELETE FROM runs; DELETE FROM counted');
    if (this.#outbox) this.#database.exec(`DELETE FROM meta WHERE key = 'alone'`);
    this.#run = undefined;
    this.#isRestart = true;
  }

  /**
   * Closes the runs of earlier processes, and records the calls that may be missing because they did not end cleanly, or because the
   * file is an older copy. `found`: the marks of their calls; undefined: not known. Within `transaction`, before the first `add`.
   */
  closeEarlierRuns(found: MarksAtStart | undefined, now: number): readonly Loss[] {
    const losses = unrecordedCalls(this.#database, found, now);
    this.addLosses(losses);
    const { changes } = this.#database.prepare('UPDATE runs SET closed = 1 WHERE closed = 0').run();
    if (Number(changes) > 0) this.noteUncounted(now);
    this.#database.exec('DELETE FROM counted');
    this.saveCounted((found?.marks ?? []).map(({ process, at }) => [process, at]));
    return losses;
  }

  /** Records where this run writes its marks. `found`: those that it found at its start. Within `transaction`. */
  recordMarks(found: MarksAtStart | undefined): void {
    const own: RecordedMarks | undefined = found?.own && { bootId: found.bootId, file: found.own };
    this.#setMeta('marks', recordedMarks(own));
  }

  /** Records that a process ended before it had counted its calls, also those of ignored clients. Within `transaction`. */
  noteUncounted(now: number): void {
    this.#setMeta('uncounted', String(now));
  }

  /** Closes the run of an earlier thread of this process. Nothing that it counted is missing. Within `transaction`. */
  closeRunOfEarlierThread(run: number): void {
    this.#database.prepare('UPDATE runs SET closed = 1 WHERE id = ?').run(run);
  }

  /** Records that calls may be missing. Within `transaction`. */
  addLosses(losses: readonly Loss[]): void {
    const extend = this.#database.prepare(
      `UPDATE losses SET began = MIN(began, ?), ended = MAX(ended, ?)
        WHERE version = ? AND reason = ? AND ended >= ? AND began <= ?`,
    );
    const add = this.#database.prepare('INSERT INTO losses (version, began, ended, reason) VALUES (?, ?, ?, ?)');
    for (const { version, from, until, reason } of losses) {
      // A worker that dies again and again must not fill the table. A clock that was ahead may have dated an earlier loss later.
      const { changes } = extend.run(from, until, version, reason, from - sameLossMs, until + sameLossMs);
      if (changes === 0) add.run(version, from, until, reason);
    }
    this.#losses = [...this.#losses, ...losses];
  }

  /**
   * By how many ms the wall clock was set forward (below 0: back) since the last run, if the machine has not restarted since. 0: not
   * known. `offset`: the wall clock minus the monotonic one.
   */
  clockChange(bootId: string, offset: number): number {
    const value = this.#database.prepare(`SELECT value FROM meta WHERE key = 'clock'`).get()?.['value'];
    const [lastBootId, lastOffset] = String(value ?? '').split(' ');
    return bootId !== '' && lastBootId === bootId ? offset - Number(lastOffset) : 0;
  }

  /** Within `transaction`. */
  recordClock(bootId: string, offset: number): void {
    this.#setMeta('clock', `${bootId} ${offset}`);
  }

  /** Records up to which mark the calls of each process are counted. Within `transaction`. */
  saveCounted(counted: Iterable<readonly [process: number, until: number]>): void {
    const save = this.#database.prepare(
      'INSERT INTO counted VALUES (?, ?) ON CONFLICT DO UPDATE SET until = MAX(until, excluded.until)',
    );
    for (const [process, until] of counted) save.run(process, until);
  }

  /** Records that this run has ended, and that all its counts are in the file. Within `transaction`. */
  closeRun(): void {
    this.#isClosing = true;
    this.#outbox?.close();
  }

  /** Sets every later instant to `now`. Within `transaction`. */
  setFutureToPresent(now: number): void {
    setFutureToPresent(this.#database, now);
    this.#writer.clearCaches();
  }

  /** When the latest request came, rounded down to the hour, epoch ms; 0 for none. */
  latestRequest(): number {
    return latestRequest(this.#database);
  }

  /** Writes a copy to another file. */
  copyTo(file: string): void {
    // SQLite itself would create it readable for everyone.
    closeSync(openSync(file, 'wx', 0o600));
    try {
      this.#database.prepare('VACUUM INTO ?').run(file);
    } catch (error) {
      // An incomplete copy would be taken for one that has the counts, and needs room on a full disk.
      removeQuietly(file);
      throw error;
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #meta(key: string): string | undefined {
    const value = this.#database.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'];
    return value === undefined ? undefined : String(value);
  }

  #setMeta(key: string, value: string): void {
    this.#database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(key, value);
  }

  #appendToOutbox(began: number, now: number): void {
    const { rows, spool } = this.#added ?? { rows: [], spool: Number.POSITIVE_INFINITY };
    const run = { began, seen: now, restarted: this.#isRestart ? now : undefined, losses: this.#losses };
    this.#outbox?.append(rows, run, this.#salt, spool);
  }

  #stats(): { file: Stats; journal: Stats } {
    const [file, journal] = ['', '-wal'].map((suffix) =>
      statSync(this.#file + suffix, { bigint: true, throwIfNoEntry: false }),
    );
    return { file, journal };
  }

  #recordRun(began: number, now: number): number {
    const closed = this.#isClosing ? 1 : 0;
    if (this.#run === undefined) {
      const row = this.#database
        .prepare('INSERT INTO runs (began, seen, closed) VALUES (?, ?, ?) RETURNING id')
        .get(began, now, closed);
      return Number(row?.['id']);
    }
    this.#database.prepare('UPDATE runs SET seen = MAX(seen, ?), closed = ? WHERE id = ?').run(now, closed, this.#run);
    return this.#run;
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one?.ino === other?.ino && one?.mtimeNs === other?.mtimeNs && one?.size === other?.size;
}

/** The salt for a new file: derived from `usage.tag_key` if it is set, otherwise random. */
export function newSalt({ tagKey }: Pick<LedgerSettings, 'tagKey'>): string {
  return tagKey === undefined ? randomBytes(16).toString('hex') : saltFrom(tagKey);
}
