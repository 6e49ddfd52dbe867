import type { PlainSnapshot } from '../../config/transfer.ts';
import type { ShadowBatch } from '../../contracts/shadow/sampling/shadowBatch.ts';
import type { OtlpBatch } from '../../operate/otlp/batch.ts';
import type { MarkFiles } from '../../usage/ledger/callMarks.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { RestrictionUpdate } from '../../versions/restrictions/restriction.ts';
import type { ClientOfApi, OwnUsageAnswer } from '../../versions/selfService/selfService.ts';
import type { PassedCounts } from './serving.ts';

/** From the primary to a worker. The worker answers each request by one `WorkerReply` with the same number. */
export type WorkerRequest =
  /** Sent with the listening socket, unless the worker has to open it. */
  | {
      readonly number: number;
      readonly kind: 'serve';
      readonly snapshot: PlainSnapshot;
      readonly salt: string | undefined;
      /** Where this worker marks which versions are called, and its number there. Undefined: nowhere. */
      readonly marks: { readonly files: MarkFiles; readonly process: number } | undefined;
      readonly restrictions: RestrictionUpdate | undefined;
      readonly ticketKeys: Buffer;
    }
  /** The answer to an `OwnUsageQuestion` of the worker. */
  | {
      readonly number: number;
      readonly kind: 'ownUsageAnswer';
      readonly questionNumber: number;
      readonly answer: OwnUsageAnswer;
    }
  | { readonly number: number; readonly kind: 'apply'; readonly snapshot: PlainSnapshot }
  | { readonly number: number; readonly kind: 'report'; readonly metrics: boolean }
  /** Answered by a report without metrics. */
  | { readonly number: number; readonly kind: 'heartbeat' }
  | { readonly number: number; readonly kind: 'flush' }
  | { readonly number: number; readonly kind: 'resalt'; readonly salt: string }
  | { readonly number: number; readonly kind: 'rekey'; readonly ticketKeys: Buffer }
  | { readonly number: number; readonly kind: 'restrict'; readonly update: RestrictionUpdate | undefined }
  | { readonly number: number; readonly kind: 'reopenLogs' }
  | { readonly number: number; readonly kind: 'drain'; readonly ms: number };

/** The reply to `serve` is sent with the listening socket if this worker has opened it. */
export type WorkerResult = { readonly port: number } | { readonly report: ServingReport } | { readonly done: true };

export type WorkerReply = { readonly kind: 'reply'; readonly number: number } & (
  | WorkerResult
  | { readonly error: WireError }
);

/** A line for the operator. */
export interface WorkerNotice {
  readonly kind: 'notice';
  readonly line: string;
}

/** The requests by client that this worker has counted since the last message. */
export interface WorkerUsage {
  readonly kind: 'usage';
  readonly counts: PassedCounts;
}

/** Asks the primary what one client still calls. */
export interface OwnUsageQuestion {
  readonly kind: 'ownUsageQuestion';
  /** The answer has the same number. */
  readonly questionNumber: number;
  readonly client: ClientOfApi;
}

/** The spans and durations that this worker has recorded since the last message. */
export interface WorkerOtlp {
  readonly kind: 'otlp';
  readonly batch: OtlpBatch;
}

/** The requests that this worker has sampled, with their responses. */
export interface WorkerShadow {
  readonly kind: 'shadow';
  readonly batch: ShadowBatch;
}

/** The parts of an error that the primary needs to report it. */
export interface WireError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly address?: string | undefined;
  readonly port?: number | undefined;
}
