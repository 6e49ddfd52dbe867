import type { PlainSnapshot } from '../../config/transfer.ts';
import type { Answers, Kind, Questions } from './questions.ts';

/** What the gateway tells the thread that reads. */
export interface Order {
  readonly kind: Kind;
  readonly question: Questions[Kind];
  /** Only where it is another one than the last time. */
  readonly snapshot: PlainSnapshot | undefined;
  readonly ledger: {
    readonly file: string;
    readonly names: string | undefined;
    /** What keeps it from being written. */
    readonly problem: string | undefined;
    readonly held: number;
  };
}

export interface Reply {
  readonly answer: Answers[Kind];
}
