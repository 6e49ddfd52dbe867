import type { ResponseHead } from './responseHead.ts';

/**
 * What a connection tells about the one response it waits for, in this order:
 * `onConnected`, any number of `onInformation`, then either `onWhole`, or `onHead`, `onData`… and `onEnd`.
 * `onFailure` may come at any moment and is the last call.
 */
export interface ResponseHandler {
  /** The connection stands: the body may be sent. */
  onConnected(): void;
  /** A 1xx other than 101. */
  onInformation(head: ResponseHead): void;
  /** Head and body arrived in one read, the body as latin1 text: what small answers do. */
  onWhole(head: ResponseHead, body: string): void;
  onHead(head: ResponseHead): void;
  /** `chunk` belongs to the handler. False pauses the connection until `resume`. */
  onData(chunk: Buffer): boolean;
  /** Names and values of the trailers in turn. */
  onEnd(trailers: readonly string[]): void;
  /** All that `write` was given has left: it may be given more. */
  onDrain(): void;
  onFailure(failure: WireFailure): void;
}

/**
 * - `unreachable`: no connection was made; not a byte has left
 * - `exhausted`: the same, because this process may open no further file
 * - `untrusted`: somebody was there, and TLS came to no end; not a byte has left either
 * - `connect-timeout`: the same, after waiting
 * - `lost`: the connection ended before the response did
 * - `malformed`: the response breaks the protocol
 * - `timeout`: what `expect` waited for did not come
 */
export type WireFailureKind =
  | 'unreachable'
  | 'exhausted'
  | 'untrusted'
  | 'connect-timeout'
  | 'lost'
  | 'malformed'
  | 'timeout';

export interface WireFailure {
  readonly kind: WireFailureKind;
  /** For people: never shown to a client. */
  readonly cause: string;
}
