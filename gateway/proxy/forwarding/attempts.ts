import { performance } from 'node:perf_hooks';
import type { Connection } from '../../http1/connection.ts';
import type { ResponseHandler, WireFailure, WireFailureKind } from '../../http1/responseReader.ts';
import type { AttemptRecord } from '../../usage/observability/exchangeRecord.ts';
import type { RetryTarget } from '../upstream/pool.ts';
import { attemptSpanId, type ServerSpan } from './correlationIds.ts';
import type { Failure, Outbound } from './outbound.ts';

/** The attempts of an exchange, each on another connection. Reports the result of each attempt to its target. */
export class Attempts {
  /** The connection of the current attempt. */
  connection!: Connection;
  readonly #outbound: Outbound;
  readonly #handler: ResponseHandler;
  #count = 0;
  #occupiesTarget = false;
  /** Only if a span of the exchange is exported. */
  #record: AttemptRecord | undefined;

  constructor(outbound: Outbound, handler: ResponseHandler) {
    this.#outbound = outbound;
    this.#handler = handler;
  }

  /** The exchange counts towards the limit of its target from now on, also while its body is collected. */
  occupyTarget(): void {
    this.#outbound.occupyTarget();
    this.#occupiesTarget = true;
  }

  start(): void {
    const { target, timeouts } = this.#outbound;
    this.#send(target.connections.acquire(timeouts.connect));
  }

  onConnected(): void {
    const { health } = this.#outbound.target;
    if (health.awaitsSuccess) health.connected();
  }

  /** The head of the response has arrived. */
  onAnswered(status: number): void {
    const { target, stats } = this.#outbound;
    const answeredAt = performance.now();
    stats.answeredAfter = answeredAt - stats.sentAt;
    if (this.#record) this.#record.status = status;
    target.health.answeredAt = answeredAt;
    if (target.health.awaitsSuccess) target.health.succeeded();
  }

  /** The current attempt has failed. */
  onFailure({ kind, cause }: WireFailure, fault: Failure['fault']): void {
    this.#endRecord(kind, cause);
    if (fault !== 'target' || wasClosedWhileIdle(kind, this.connection)) return;
    this.#outbound.target.health.failed(neverConnected(kind), cause);
  }

  /** Sends the request again, if that is safe after this failure and allowed. False: it was not sent again. */
  retry(kind: WireFailureKind, bodyStarted: boolean): boolean {
    const { attempts, method, hasBody } = this.#outbound;
    if (this.#count >= attempts) return false;
    const where = retryWhere(kind, { method, hasBody, bodyStarted, connection: this.connection });
    if (where === 'nowhere' || !this.#outbound.replaceTarget(where)) return false;
    this.#outbound.stats.retries += 1;
    this.#send(this.#outbound.target.connections.connect(this.#outbound.timeouts.connect));
    return true;
  }

  /** The exchange no longer occupies the target. */
  finish(): void {
    this.#endRecord();
    if (this.#occupiesTarget) this.#outbound.releaseTarget();
    this.#occupiesTarget = false;
  }

  /** Does nothing before the first attempt. */
  destroyConnection(): void {
    if (this.#count > 0) this.connection.destroy();
  }

  #send(connection: Connection): void {
    const { wholeBody, head, hasBody, method, timeouts, stats, span } = this.#outbound;
    this.#count += 1;
    this.connection = connection;
    stats.sentAt = performance.now();
    if (span) this.#beginRecord(span);
    const text = wholeBody ? head + wholeBody : head;
    // Not yet complete with a whole body either: for such a request, `onConnected` of the handler calls `requestComplete`.
    const isRequestComplete = !hasBody;
    const expectResponseBody = method !== 'HEAD';
    connection.send(this.#handler, text, isRequestComplete, expectResponseBody, timeouts.firstByte);
  }

  #beginRecord(span: ServerSpan): void {
    const { target, stats } = this.#outbound;
    const notEnded = { endedAfter: undefined, status: undefined, failure: undefined, cause: undefined };
    const sentAfter = stats.sentAt - stats.beganAt;
    this.#record = { id: attemptSpanId(span, this.#count), target: target.url, sentAfter, ...notEnded };
    stats.attempts ??= [];
    stats.attempts.push(this.#record);
  }

  #endRecord(failure?: WireFailureKind, cause?: string): void {
    const record = this.#record;
    if (record === undefined || record.endedAfter !== undefined) return;
    record.endedAfter = performance.now() - this.#outbound.stats.beganAt;
    record.failure = failure;
    record.cause = cause;
  }
}

/** The state of a failed attempt on which a retry depends. */
interface Attempt {
  readonly method: string;
  readonly hasBody: boolean;
  /** Some of the body has been read from the client, and cannot be sent again. */
  readonly bodyStarted: boolean;
  readonly connection: Pick<Connection, 'earlierExchanges' | 'responseBegun'>;
}

/** Where to retry. `anywhereUncharged`: at any target, and not charged to the budget, because the target is not at fault. */
export type RetryWhere = RetryTarget | 'nowhere';

/**
 * Where a request may be sent again. It must not be executed twice, so a retry needs one of two cases: nothing was sent, because
 * no connection was made; or the request is safe, and the connection was lost before a response (RFC 9110 §9.2.2). A reused
 * connection may have been closed while it was idle (RFC 9112 §9.3.1). If a new connection was lost, the target is at fault, so
 * another target is used.
 */
export function retryWhere(kind: WireFailureKind, { method, hasBody, bodyStarted, connection }: Attempt): RetryWhere {
  if (bodyStarted) return 'nowhere';
  // All addresses of the host were tried, or it has none. Waiting for the same target again would only double the timeout.
  if (kind === 'connect-timeout' || kind === 'unresolved') return 'elsewhere';
  if (neverConnected(kind) || kind === 'untrusted') return 'anywhere';
  const isSafe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  if (kind !== 'lost' || connection.responseBegun || hasBody || !isSafe) return 'nowhere';
  return connection.earlierExchanges > 0 ? 'anywhereUncharged' : 'elsewhere';
}

function neverConnected(kind: WireFailureKind): boolean {
  return kind === 'unresolved' || kind === 'unreachable' || kind === 'connect-timeout';
}

/** Whether the target closed a reused connection just when the request was sent. That is not a failure of the target. */
export function wasClosedWhileIdle(
  kind: WireFailureKind,
  { earlierExchanges, responseBegun }: Attempt['connection'],
): boolean {
  return kind === 'lost' && earlierExchanges > 0 && !responseBegun;
}
