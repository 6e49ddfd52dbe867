import type { Server } from 'node:http';
import type { HostPort, Snapshot } from '../../config/snapshot.ts';
import type { ShadowBatch } from '../../contracts/shadow/sampling/shadowBatch.ts';
import type { OtlpSink } from '../../operate/otlp/batch.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CountedMark, MarkFiles } from '../../usage/ledger/callMarks.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { UsageBatch } from '../../usage/usageRow.ts';
import type { RestrictionUpdate } from '../../versions/restrictions/restriction.ts';
import type { AskOwnUsage } from '../../versions/selfService/selfService.ts';

/** Serves clients, in this process or in several worker processes. It holds the current snapshot. */
export interface Serving {
  readonly current: Snapshot;
  /** The bound port. If the configured port is 0, the system has chosen the bound one. */
  readonly port: number;
  /** Whether new traffic is accepted. */
  readonly ready: boolean;
  /** Serves another snapshot. Returns one line per process that has not confirmed it. */
  apply(snapshot: Snapshot): Promise<readonly string[]>;
  /** `withMetrics`: with the metrics of each process. A process that does not answer counts as unresponsive. */
  report(options?: { readonly withMetrics: boolean }): Promise<ServingReport>;
  /** Passes all counts since the last flush to the usage sink. False if a process did not answer in time. */
  flush(): Promise<boolean>;
  /** Called when the salt of the usage sink has changed. */
  resalt(): Promise<void>;
  /** Replaces the keys of TLS session tickets. */
  rekey(ticketKeys: Buffer): Promise<void>;
  /** Replaces the parts of the restriction state that `update` has. A process that starts later gets them, too. */
  restrict(update: RestrictionUpdate): Promise<void>;
  /** Opens the log files again, after they were renamed. */
  reopenLogs(): Promise<void>;
  /** Accepts no new connections and resolves when all exchanges have ended, or after `ms`. */
  drain(ms: number): Promise<void>;
  /** Closes the listener and every connection. */
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** Takes usage counts from time to time; undefined: usage is not counted. */
  readonly usage?: UsageSink | undefined;
  /** The restriction state at the start. */
  readonly restrictions?: RestrictionUpdate | undefined;
  /** Answers what one client still calls; undefined: the gateway keeps no ledger. */
  readonly ownUsage?: AskOwnUsage | undefined;
  /** Takes spans and durations for export; undefined: nothing is exported. */
  readonly otlp?: OtlpSink | undefined;
  /**
   * Takes sampled requests, with the responses to compare; undefined: no request is sampled. Resolves when this process has
   * passed them on.
   */
  readonly shadow?: ((batch: ShadowBatch) => Promise<void> | void) | undefined;
  /** Whether the access log of `log:` is written. False for a library, which writes no files unasked. */
  readonly logs: boolean;
  /** How `server` listens; default: on a new socket. */
  readonly listen?: (server: Server, address: HostPort) => Promise<void>;
  /** Encrypts TLS session tickets. Processes with the same keys can resume each other's sessions. */
  readonly ticketKeys?: Buffer;
}

/** What one process has counted since it last passed on its counts. */
export interface PassedCounts {
  readonly batch: UsageBatch;
  /** That of the tags in the batch. Counts from before a change of the salt may arrive after the change. */
  readonly salt: string;
  /** No request in the batch ended before this time, epoch ms. */
  readonly since: number;
  /** Set if all calls of the process up to a mark are counted in this batch and earlier ones. */
  readonly counted?: CountedMark | undefined;
  /** Whether the clock was wrong for a moment, so that calls in the batch may be dated too early. */
  readonly hasWrongTimes: boolean;
}

export interface UsageSink {
  /** Hashes client secrets; the same in every process. After a change of it, `Serving.resalt` is called. */
  readonly salt: string;
  receive(counts: PassedCounts): void;
  /** Where processes mark which versions are called. Undefined: nowhere. */
  readonly markFiles?: MarkFiles | undefined;
  /** The number under which this process marks its calls. */
  readonly process?: number | undefined;
  /** Called after a worker process has ended: its last calls may not be counted. `isClean`: it had passed on all of them. */
  onProcessEnd?(process: number, isClean: boolean): void;
}

/** Starts to serve a snapshot. @throws the listener's own errors, such as EADDRINUSE. */
export type Serve = (snapshot: Snapshot, options: ServeOptions) => Promise<Serving>;
