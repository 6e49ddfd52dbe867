import type { TelemetrySettings } from '../../config/snapshot.ts';
import type { ExchangeRecord, SpanRecord } from '../../usage/observability/exchangeRecord.ts';
import type { ShownParts } from '../../usage/observability/logLine.ts';
import type { DurationRow } from './durations.ts';

// The messages from serving processes to the exporter, and from the exporter to its thread. They are plain data, so that they can
// be cloned.

/** A sampled exchange. It becomes a server span and a client span for each attempt. */
export interface SpanRow
  extends Pick<
    ExchangeRecord,
    | 'traceId'
    | 'at'
    | 'duration'
    | 'version'
    | 'stage'
    | 'method'
    | 'path'
    | 'query'
    | 'status'
    | 'problem'
    | 'fault'
    | 'cause'
    | 'address'
    | 'scheme'
  > {
  readonly span: SpanRecord;
  /** `/api/v1/drinks/{id}`; undefined without a version, or if the ledger counts it as `other`. */
  readonly route: string | undefined;
  /** As in the usage ledger: a tag, never a key. Undefined without a ledger. */
  readonly client: string | undefined;
  readonly userAgent: string | undefined;
}

/** What one process has recorded since its last batch. */
export interface OtlpBatch {
  readonly spans: readonly SpanRow[];
  readonly durations: readonly DurationRow[];
  /** The number of spans that were dropped, because too many waited. */
  readonly dropped: number;
}

/** Takes a batch. The promise resolves once the next batch may be sent. */
export type OtlpSink = (batch: OtlpBatch) => Promise<void> | void;

export interface ExportSettings extends TelemetrySettings {
  /** Secrets and addresses are hidden as in the access log. */
  readonly shownParts: ShownParts;
}

/** The `workerData` of the thread. */
export interface ExportStart {
  readonly settings: ExportSettings;
  /** When counting of the durations began, epoch ms. */
  readonly startedAt: number;
}

/** From the exporter to its thread. */
export type ExportCommand =
  | { readonly kind: 'configure'; readonly settings: ExportSettings }
  | { readonly kind: 'export'; readonly batch: OtlpBatch }
  /** Export the waiting spans and the metrics, then end. */
  | { readonly kind: 'close' };

/** From the thread. */
export type ExportReport =
  /** The result of one request to the collector. `reason`: why it failed; its spans are dropped. Undefined: it succeeded. */
  | {
      readonly kind: 'result';
      readonly signal: 'spans' | 'metrics';
      readonly spans: number;
      readonly reason: string | undefined;
    }
  | { readonly kind: 'notice'; readonly line: string };

/** The number of spans of an exchange. */
export function spanCount({ span }: SpanRow): number {
  return 1 + span.attempts.length;
}
