import type { ResponseHead } from './responseHead.ts';

/**
 * The events of one response, in this order: `onConnected`, any number of `onInformation`, then either `onComplete`, or
 * `onHead`, `onData`… and `onEnd`. `onFailure` may come at any time and is the last call.
 */
export interface ResponseHandler {
  /** The connection is open: the body may be sent. */
  onConnected(): void;
  /** A 1xx other than 101. */
  onInformation(head: ResponseHead): void;
  /** Head and body of a small response arrived in one read. `body`: latin1 text. */
  onComplete(head: ResponseHead, body: string): void;
  onHead(head: ResponseHead): void;
  /**
   * False: the connection is not read until `resume`, and `chunk` stays as it is until then. After true, the next read may
   * overwrite it, except in a tunnel, where it belongs to the handler.
   */
  onData(chunk: Buffer): boolean;
  /** The trailers: alternating names and values. */
  onEnd(trailers: readonly string[]): void;
  onFailure(failure: WireFailure): void;
}

/**
 * - `unreachable`: no connection could be made: refused, no route, or an unknown host name; nothing was sent
 * - `exhausted`: this process has no file descriptor left; nothing was sent
 * - `untrusted`: the TLS handshake failed; nothing was sent
 * - `connect-timeout`: no connection was made in time; nothing was sent
 * - `lost`: the connection ended before the response did
 * - `malformed`: the response breaks the protocol
 * - `timeout`: no byte came within the idle timeout
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
  /** For the log; never sent to a client. */
  readonly cause: string;
}
