import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { AttemptRecord } from '../observability/exchangeRecord.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import type { RetryTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { EarlyData } from './earlyData.ts';
import type { Failure } from './failure.ts';
import type { ResponsePlan } from './responseFields.ts';
import type { ServerSpan } from './traceContext.ts';

/** What forwarding needs from an exchange. */
export interface Outbound {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly target: Target;
  /** The request head to send, blank line included. */
  readonly head: string;
  readonly hasBody: boolean;
  /** The largest request body, in bytes. */
  readonly bodyLimit: number;
  /** How many connections may be tried, the first one included. */
  readonly attempts: number;
  readonly timeouts: UpstreamTimeouts;
  /** How long a client may pause within its body, ms; 0: no limit. */
  readonly bodyIdle: number;
  /** The gateway is stopping: the client connection closes after this response. */
  readonly closing: boolean;
  /** The client sends its body only after a 100 (Continue). */
  readonly expectsContinue: boolean;
  /** Set if the client asked to switch protocols. */
  readonly upgrade: EarlyData | undefined;
  readonly stats: ExchangeStats;
  /** Undefined: no span of the exchange is exported. */
  readonly span: ServerSpan | undefined;
  /**
   * The target has failed: replaces `target` by the one for the retry, which may be the same. False: no retry, because the
   * budget is used up, no target may be used, or `where` is `elsewhere` and there is no other target.
   */
  chooseAgain(where: RetryTarget): boolean;
  responsePlan(): ResponsePlan;
  /** Answers with a problem. Nothing has been sent to the client yet. */
  onFailure(failure: Failure): void;
  /** A 101 was sent. */
  onSwitched(): void;
  onTunnelClosed(): void;
}

/** Measurements of one exchange. Bytes are counted in bodies and tunnels, when they are forwarded. */
export class ExchangeStats {
  /** By `performance.now()`, like `sentAt`. */
  readonly begun = performance.now();
  sentAt = 0;
  /** From sending the request to the head of the response, ms; undefined if no target has answered. */
  answeredAfter: number | undefined;
  bytesIn = 0;
  bytesOut = 0;
  retries = 0;
  /** Only if a span of the exchange is exported. */
  attempts: AttemptRecord[] | undefined;
  /** Why the exchange ended before its response was complete. */
  failure: Failure | undefined;
  /** Set if the gateway answered with a problem. */
  problem: ProblemCode | undefined;
  /** The status of a response that the application wrote to the socket itself. */
  status: number | undefined;
  /** A 101 was sent, and the connection is a tunnel. */
  switched = false;
  /** The response is a stream of events, which ends when the client disconnects. */
  streamed = false;
  recorded = false;
}
