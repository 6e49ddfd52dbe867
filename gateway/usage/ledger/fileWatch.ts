import { randomUUID } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { contentAlone, damageIn } from './file.ts';

type Stats = BigIntStats | undefined;

/** What another program did to the file while it was open here. Later writes would be lost, or would damage the file. */
export interface Tampering {
  readonly reason: string;
  /** Whether the open connection still reads the former content. */
  readonly isReadable: boolean;
  /** Whether the former file is still at its path, perhaps with another content. */
  readonly isInPlace: boolean;
  /** Whether the former journal is still at its path. */
  readonly hasJournal: boolean;
}

/**
 * Notices that another program replaced or removed an open ledger file. Each transaction writes a stamp, which no other file and no
 * earlier copy of this one has. Methods throw the errors of SQLite or the system.
 *
 * A program that copies a backup into the file leaves the journal as it is. Connections then read the pages of the journal, and
 * among them the last stamp, and for all other pages the backup. So the file is also read without its journal. What it then has is
 * known: what it had before, or what a checkpoint has copied from the journal. A backup from after the last checkpoint may have such
 * a stamp, too, but SQLite has given it another schema cookie. A plain copy of the file has the same cookie, and the same pages.
 */
export class FileWatch {
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #id = randomUUID();
  /** The number of the last stamp. */
  #number = 0;
  /** The state of the file and its journal when they were last known to be right. */
  #stats: { readonly file: Stats; readonly journal: Stats };
  /** The stamp that the file then had without its journal; '' for none. */
  #stampAlone: string;
  readonly #cookie: number;

  constructor(file: string, database: DatabaseSync) {
    this.#file = file;
    this.#database = database;
    this.#cookie = Number(database.prepare('PRAGMA schema_version').get()?.['schema_version']);
    // From now on, the file has a stamp without its journal, too.
    this.#write(this.#number);
    database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    this.#stats = statsOf(file);
    this.#stampAlone = contentAlone(file)?.stamp ?? '';
  }

  /** True if nothing has changed the file since the last transaction. */
  get isUnchanged(): boolean {
    const now = statsOf(this.#file);
    return isSameState(now.file, this.#stats.file) && isContinued(this.#stats.journal, now.journal);
  }

  /** Writes the next stamp. Within a transaction. */
  stamp(): void {
    this.#write(this.#number + 1);
  }

  /** After the transaction was committed. Does not throw. */
  onCommitted(): void {
    this.#number += 1;
    try {
      const now = statsOf(this.#file);
      // The commit may have checkpointed the journal. If it was something else, `tampering` finds it.
      const isKnown = isSameState(now.file, this.#stats.file) || this.#isKnownAlone();
      const { file, journal } = this.#stats;
      this.#stats = {
        file: isKnown ? now.file : file,
        journal: journal === undefined || isContinued(journal, now.journal) ? now.journal : journal,
      };
    } catch {
      // What is committed must not look as if it had failed. `tampering` looks again.
    }
  }

  /** What another program did since the last transaction; undefined: nothing that matters. */
  tampering(): Tampering | undefined {
    const now = statsOf(this.#file);
    const { file, journal } = this.#stats;
    const isInPlace = now.file?.ino === file?.ino;
    const hasJournal = now.journal?.ino === journal?.ino;
    const found = (reason: string, isReadable: boolean): Tampering => ({ reason, isReadable, isInPlace, hasJournal });
    if (!isInPlace) return found('it was removed or replaced', true);
    const isSame = isSameState(now.file, file);
    if (journal && !hasJournal)
      return isSame || this.#isKnownAlone()
        ? found('its journal was removed', true)
        : found('its content was replaced and its journal removed', false);
    if (isSame && isContinued(journal, now.journal)) return undefined;
    if (!this.#isKnownAlone()) return found('its content was replaced', false);
    const isCheckpointed = this.#stampAlone === this.#textOf(this.#number);
    if (!isCheckpointed && !isContinued(journal, now.journal)) return found('its journal was cut off', false);
    const damage = damageIn(this.#file, this.#textOf(this.#number));
    if (damage !== undefined) return found(damage, false);
    this.#stats = now;
    return undefined;
  }

  /** Whether the file has, without its journal, what it had before, or what a checkpoint of this journal has copied. */
  #isKnownAlone(): boolean {
    const alone = contentAlone(this.#file);
    const stamp = alone?.stamp ?? '';
    const isKnown = alone?.cookie === this.#cookie && (stamp === this.#stampAlone || this.#isOwnAfter(stamp));
    if (isKnown) this.#stampAlone = stamp;
    return isKnown;
  }

  #isOwnAfter(stamp: string): boolean {
    const [id, number] = stamp.split(' ');
    const [lastId, lastNumber] = this.#stampAlone.split(' ');
    return id === this.#id && (lastId !== this.#id || Number(number) > Number(lastNumber));
  }

  #write(number: number): void {
    this.#database.prepare(`INSERT OR REPLACE INTO meta VALUES ('stamp', ?)`).run(this.#textOf(number));
  }

  #textOf(number: number): string {
    return `${this.#id} ${number}`;
  }
}

function statsOf(file: string): { file: Stats; journal: Stats } {
  const [ofFile, journal] = ['', '-wal'].map((suffix) =>
    statSync(file + suffix, { bigint: true, throwIfNoEntry: false }),
  );
  return { file: ofFile, journal };
}

/** A journal only becomes shorter if another program has checkpointed all of it, or has cut it off. */
function isContinued(before: Stats, now: Stats): boolean {
  return before?.ino === now?.ino && (now?.size ?? 0n) >= (before?.size ?? 0n);
}

/** `ctime`, because a program that copies a file may set `mtime` to that of the backup. */
function isSameState(one: Stats, other: Stats): boolean {
  return one?.ino === other?.ino && one?.ctimeNs === other?.ctimeNs && one?.size === other?.size;
}
