import type { PlainSnapshot } from '../config/transfer.ts';
import type { ServingReport } from '../observability/report.ts';
import type { UsageBatch } from '../usage/usageRow.ts';

/** What the primary wants of a worker; each is answered by one `Reply` with its number. */
export type Order =
  /** Comes with the listening socket, unless the worker is to open it. */
  | {
      readonly number: number;
      readonly kind: 'serve';
      readonly snapshot: PlainSnapshot;
      readonly salt: string | undefined;
      readonly ticketKeys: Buffer;
    }
  | { readonly number: number; readonly kind: 'apply'; readonly snapshot: PlainSnapshot }
  | { readonly number: number; readonly kind: 'report'; readonly metrics: boolean }
  /** Answered by a report without metrics. */
  | { readonly number: number; readonly kind: 'heartbeat' }
  | { readonly number: number; readonly kind: 'flush' }
  | { readonly number: number; readonly kind: 'resalt'; readonly salt: string }
  | { readonly number: number; readonly kind: 'reopen' }
  | { readonly number: number; readonly kind: 'drain'; readonly ms: number };

/** That of a worker that has opened the listening socket comes with it. */
export type Answer = { readonly port: number } | { readonly report: ServingReport } | { readonly done: true };

export type Reply = { readonly kind: 'reply'; readonly number: number } & (Answer | { readonly error: WireError });

/** A line for the operator. */
export interface Notice {
  readonly kind: 'notice';
  readonly line: string;
}

/** Who called what, as far as this worker has seen since the last time. */
export interface Usage {
  readonly kind: 'usage';
  readonly batch: UsageBatch;
}

/** What survives of an error on its way to another process: enough to say what is to be done about it. */
export interface WireError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly address?: string | undefined;
  readonly port?: number | undefined;
}
