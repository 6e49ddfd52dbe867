import type { ProblemCode } from '../../problems/catalogue.ts';
import type { PathTable } from '../../shared/pathTable.ts';
import type { Stage } from '../../versions/lifecycle/stage.ts';
import type { OpenRequest } from '../counting/collector.ts';

/** One exchange, recorded when it ends, whether it succeeded or failed. Durations in ms; bytes count bodies and tunnels. */
export interface ExchangeRecord {
  readonly id: string;
  /** When the request was started, epoch ms. A pipelined request starts once the earlier ones are answered. */
  readonly at: number;
  /** When the exchange ended, epoch ms. */
  readonly endedAt: number;
  /** The path segment, `v1`; '' if the path names no configured version. */
  readonly version: string;
  /** Stage of the version; undefined if the path names no configured version. */
  readonly stage: Stage | undefined;
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** The part after the question mark; '' without one. */
  readonly query: string;
  /** The path after the version, without the query: `/drinks/7`. */
  readonly resource: string;
  /** The path templates of the version's contract. */
  readonly paths: PathTable<unknown> | undefined;
  /** Status sent to the client; 499 if the client left before a response was sent. */
  readonly status: number;
  /** Set if the gateway answered by itself. */
  readonly problem: ProblemCode | undefined;
  /** The route of the adapter that served the request: `GET /drinks/{id}`. */
  readonly adaptedRoute?: string | undefined;
  /** URL of the last target tried. */
  readonly target: string | undefined;
  /** Whether a backend answered the request. */
  readonly served: boolean;
  readonly duration: number;
  /** A text/event-stream: its duration says nothing about the latency of requests. */
  readonly streamed?: boolean | undefined;
  /** From sending the request to the head of the target's response. */
  readonly upstreamMs: number | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** The sizes that the limits of the gateway apply to, in bytes: of the body that the client sent, and of the head of its request. */
  readonly bodySize: number;
  readonly targetSize: number;
  readonly headSize: number;
  readonly retries: number;
  /** Who caused a missing or incomplete response. */
  readonly fault: 'client' | 'gateway' | 'target' | undefined;
  /** Error text for operators; never shown to a client. */
  readonly cause: string | undefined;
  readonly traceId: string;
  /** Undefined unless spans of this exchange are exported. */
  readonly span?: SpanRecord | undefined;
  /** The scheme that a trusted proxy reports, or else that of the client's connection. */
  readonly scheme: 'http' | 'https';
  /** Whether the client used HTTP/2. */
  readonly http2?: boolean;
  /** The client address that a trusted proxy reports, or else the address of the connection's peer. */
  readonly address: string;
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[];
  /** Set if the client was identified before the request was forwarded. */
  readonly identified?: OpenRequest['exchange']['identified'];
  /** The restriction that refused the request, or the waiver by which a retired version served it. */
  readonly restrictedBy?: string | undefined;
  /** The start of the brownout that refused the request, epoch ms. */
  readonly brownout?: number | undefined;
  /** Set if the request was counted before its end. */
  readonly counted?: OpenRequest | undefined;
}

/** The data of an exchange's spans that its record does not contain. */
export interface SpanRecord {
  readonly id: string;
  /** The span of the client; undefined: the trace begins here. */
  readonly parentId: string | undefined;
  readonly tracestate: string | undefined;
  /** `1.0`, `1.1` or `2`. */
  readonly httpVersion: string;
  /** The authority that the client requested; '' without one. */
  readonly host: string;
  /** The version that clients should move to, `v2`, if there is one. */
  readonly successor: string | undefined;
  /** Path and query that were sent to targets. */
  readonly targetPath: string;
  readonly attempts: readonly AttemptRecord[];
}

/** One attempt to send a request to a target. Times in ms after the start of the exchange. */
export interface AttemptRecord {
  /** The id of its span. */
  readonly id: string;
  /** URL of the target. */
  readonly target: string;
  readonly sentAfter: number;
  endedAfter: number | undefined;
  /** Undefined if no response has begun. */
  status: number | undefined;
  /**
   * Why the attempt failed, such as `unreachable` or `lost`. If this and `status` are both undefined, the exchange ended before a
   * response began.
   */
  failure: string | undefined;
  /** Error text for operators. */
  cause: string | undefined;
}

/** Receives every exchange once, when it ends. It is called on the hot path and must not throw. */
export interface Recorder {
  record(exchange: ExchangeRecord): void;
  /** A connection became a tunnel. The tunnel is also recorded when it closes. */
  tunnelOpened?(version: string): void;
}

const batchSize = 128;
const longestWaitMs = 100;

/**
 * Passes records on in batches. This costs less than passing on single records: for each of these, the processor would load the
 * counting and logging code into its caches again.
 */
export class RecordBatches implements Recorder {
  readonly #take: (exchange: ExchangeRecord) => void;
  #waiting: ExchangeRecord[] = [];
  #isScheduled = false;

  /** `take` must not throw: the rest of the batch would be lost. */
  constructor(take: (exchange: ExchangeRecord) => void) {
    this.#take = take;
  }

  record(exchange: ExchangeRecord): void {
    if (this.#waiting.push(exchange) >= batchSize) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setTimeout(() => {
        this.#isScheduled = false;
        this.flush();
      }, longestWaitMs).unref();
    }
  }

  /** Passes on all waiting records now. Call it before the totals are read. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const exchange of waiting) this.#take(exchange);
  }
}
