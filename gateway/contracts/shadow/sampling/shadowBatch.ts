/** Why a sample was not compared. `docs/shadow.md` explains each. */
export type ShadowDrop =
  | 'status'
  | 'stream'
  | 'body'
  | 'incomplete'
  | 'slow'
  | 'busy'
  | 'secret'
  | 'no-counterpart'
  | 'unhealthy'
  | 'changed'
  | 'coding'
  | 'queue'
  | 'late'
  | 'breaker'
  | 'defect';

/** Where a copy is sent. */
export interface CopyAddress {
  /** `http://127.0.0.1:3002` */
  readonly target: string;
  readonly host: string;
  /** With the query. */
  readonly path: string;
  /** `X-Forwarded-Prefix`; '' for none. */
  readonly prefix: string;
}

/** A response that is to be compared with the contract of its version. It is never written to a file or a log. */
export interface DriftSample {
  readonly version: string;
  /** Identifies the settings of the shadow, or of `drift`. */
  readonly key: string;
  readonly method: string;
  readonly template: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** As received. */
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly at: number;
}

/** A request that is to be copied, with its response. It is never written to a file or a log. */
export interface ShadowSample extends DriftSample {
  readonly toTemplate: string | undefined;
  /** False: `moved` has no path in the other version for the request. It is then copied only if the adapter can translate it. */
  readonly hasCounterpart: boolean;
  /** The path below the version. */
  readonly resource: string;
  /** With its question mark; '' for none. */
  readonly query: string;
  readonly client: string;
  /** Alternating names and values, without the fields that depend on the destination of the copy. */
  readonly fields: readonly string[];
  readonly to: CopyAddress;
  /** Undefined: the request is not sent to its own version again. */
  readonly control: CopyAddress | undefined;
}

export function isToBeCopied(sample: ShadowSample | DriftSample): sample is ShadowSample {
  return 'to' in sample;
}

/** What a process that serves clients passes to the primary. `dropped`: the samples that were not compared, since the last batch. */
export interface ShadowBatch {
  readonly samples: readonly (ShadowSample | DriftSample)[];
  readonly dropped: readonly (readonly [version: string, reason: ShadowDrop, count: number])[];
}
