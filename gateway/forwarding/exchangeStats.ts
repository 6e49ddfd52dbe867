import type { ProblemCode } from '../problems/catalogue.ts';
import type { Failure } from './failure.ts';

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
