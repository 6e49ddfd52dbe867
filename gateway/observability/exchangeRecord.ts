import type { Stage } from '../lifecycle/stage.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import type { PathTable } from '../shared/pathTable.ts';
import type { OpenRequest } from '../usage/counting/collector.ts';

/** What became of one exchange, however it ended. Durations in ms, bytes are those of bodies and tunnels. */
export interface ExchangeRecord {
  readonly id: string;
  /** When its head had arrived, epoch ms. */
  readonly at: number;
  /** When it ended, epoch ms. */
  readonly endedAt: number;
  /** The segment, `v1`; '' where the path names no version that is known. */
  readonly version: string;
  /** Of the version; undefined without one. */
  readonly stage: Stage | undefined;
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** Behind the question mark; '' without one. */
  readonly query: string;
  /** What a contract knows: the path behind the version, and the templates of the version's contract. */
  readonly resource: string;
  readonly paths: PathTable<true> | undefined;
  /** What was sent; 499: the client left before anything was. */
  readonly status: number;
  /** Of the gateway's own answer. */
  readonly problem: ProblemCode | undefined;
  /** The URL of the target that was asked last. */
  readonly target: string | undefined;
  /** A target has answered. */
  readonly served: boolean;
  readonly duration: number;
  /** It was a stream of events: how long it was open says nothing about how long a request takes. */
  readonly streamed?: boolean | undefined;
  /** From the send to the head of the target's response. */
  readonly upstream: number | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly retries: number;
  /** Whose fault it is that the response did not come, or not to its end. */
  readonly fault: 'client' | 'gateway' | 'target' | undefined;
  /** What happened, for people: never shown to a client. */
  readonly cause: string | undefined;
  readonly traceId: string;
  /** Of the client, as a trusted proxy vouches for it; else of the peer on the connection. */
  readonly address: string;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Set for one that was counted before its end. */
  readonly counted?: OpenRequest | undefined;
}

/** Who hears of every exchange, once, at its end. It is called on the hot path, and must not throw. */
export interface Recorder {
  record(facts: ExchangeRecord): void;
  /** A connection has become a tunnel; it is recorded, too, when it is closed. */
  switched?(version: string): void;
}
