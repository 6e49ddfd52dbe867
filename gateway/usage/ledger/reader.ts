import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { failureOf, type LedgerFailure } from './failure.ts';
import { openLedgerFileToRead } from './file.ts';
import { LedgerQueries } from './ledgerQueries.ts';

/** A ledger that another process or thread may be writing. */
export class LedgerReader extends LedgerQueries {
  /** As its writer has told, where there is one to be asked. */
  held = 0;
  problem: string | undefined;
  readonly #file: string;
  readonly #inode: number;
  readonly #database: DatabaseSync;

  /** @throws Error whose message says why `file` cannot be read, without naming it */
  constructor(file: string, names?: string) {
    super();
    this.#file = file;
    this.#database = openLedgerFileToRead(file);
    this.#inode = statSync(file, { throwIfNoEntry: false })?.ino ?? 0;
    this.names.read(names);
  }

  /** False once the file was removed or replaced: nobody writes into this one any more. */
  get isThere(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  /** Reads the names anew, which may have changed. */
  callClientsAsIn(names: string | undefined): void {
    this.names.read(names);
  }

  /** All that `work` asks is answered from one state of the file, whatever is written meanwhile. */
  atOnce<Answer>(work: () => Answer): Answer {
    try {
      this.#database.exec('BEGIN');
    } catch (error) {
      this.failed(failureOf(error));
    }
    try {
      return work();
    } finally {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('COMMIT');
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  protected database(): DatabaseSync | undefined {
    return this.#database.isOpen ? this.#database : undefined;
  }

  protected failed({ reason }: LedgerFailure): void {
    this.problem = `${this.#file} cannot be read: ${reason}.`;
  }
}
