import type { DatabaseSync } from 'node:sqlite';
import type { LedgerFailure } from './ledgerFailure.ts';
import { openLedgerFileToRead } from './ledgerFile.ts';
import { LedgerQueries } from './ledgerQueries.ts';

/** A ledger that another process may be writing. */
export class LedgerReader extends LedgerQueries {
  readonly held = 0;
  problem: string | undefined;
  readonly #file: string;
  readonly #database: DatabaseSync;

  /** @throws Error whose message says why `file` cannot be read, without naming it */
  constructor(file: string, names?: string) {
    super();
    this.#file = file;
    this.#database = openLedgerFileToRead(file);
    this.names.read(names);
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
