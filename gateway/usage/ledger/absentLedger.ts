import type { DatabaseSync } from 'node:sqlite';
import { LedgerQueries } from './ledgerQueries.ts';

/** In place of a ledger that cannot be opened: it has no rows, and says why. */
export class AbsentLedger extends LedgerQueries {
  readonly problem: string;
  readonly held: number;

  constructor(problem: string, held: number) {
    super();
    this.problem = problem;
    this.held = held;
  }

  protected database(): DatabaseSync | undefined {
    return undefined;
  }

  protected failed(): void {}
}
