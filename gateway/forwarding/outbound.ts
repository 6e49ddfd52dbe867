import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import type { SecondTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { Failure } from './failure.ts';
import type { ResponsePlan } from './responseFields.ts';

/** One exchange as the wire sees it: everything is decided, it has only to be carried out. */
export interface Outbound {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly target: Target;
  /** The head to send, blank line included. */
  readonly head: string;
  readonly hasBody: boolean;
  /** Bytes that a request body may have. */
  readonly bodyLimit: number;
  /** Connections that may be tried, the first one included. */
  readonly attempts: number;
  readonly timeouts: UpstreamTimeouts;
  /** How long a client may pause within its body, ms. */
  readonly bodyIdle: number;
  /** The gateway is about to stop: the client is to find another connection. */
  readonly closing: boolean;
  /** The client waits for a 100 before it sends its body. */
  readonly expectsContinue: boolean;
  /** The socket and the bytes behind the head, when the client asked to switch protocols. */
  readonly upgrade: Switching | undefined;
  readonly stats: ExchangeStats;
  /**
   * The target has failed: `target` is to be the next one, if there is another. False: no second try is to be made,
   * for want of budget, or of another target where it has to go `elsewhere`.
   */
  chooseAgain(where: SecondTarget): boolean;
  responsePlan(): ResponsePlan;
  /** Nothing has been sent to the client yet: the problem may still be said. */
  onFailure(failure: Failure): void;
  /** It has become a tunnel. */
  switched(): void;
  /** The tunnel is closed: no response will ever say so. */
  leave(): void;
}

export interface Switching {
  readonly protocol: string;
  /** What the client has sent behind its request so far; from now on its bytes are the caller's to read. */
  takeEarly(): Buffer;
}

/** What is counted of one exchange on its way. Bytes are those of bodies and tunnels, as they are passed on. */
export class ExchangeStats {
  /** By `performance.now()`, as `sentAt`. */
  readonly begun = performance.now();
  sentAt = 0;
  /** From the send to the head of the response, ms; undefined: no target has answered. */
  answeredAfter: number | undefined;
  bytesIn = 0;
  bytesOut = 0;
  retries = 0;
  /** What ended it, where that was not the end of the response. */
  failure: Failure | undefined;
  /** The gateway's own answer. */
  problem: ProblemCode | undefined;
  /** Of a response that the application wrote to the socket itself. */
  status: number | undefined;
  /** A 101 was sent, and bytes went both ways. */
  switched = false;
  /** The response is a stream of events, which is as long as its reader wants it to be. */
  streamed = false;
  recorded = false;
}
