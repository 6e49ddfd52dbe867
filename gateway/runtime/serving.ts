import type { Server } from 'node:http';
import type { HostPort, Snapshot } from '../config/snapshot.ts';
import type { ServingReport } from '../observability/report.ts';
import type { Clock } from '../shared/clock.ts';
import type { UsageBatch } from '../usage/usageRow.ts';

/** Whoever answers the clients: this process, or several others. */
export interface Serving {
  /** Another one than the file's where that is 0. */
  readonly port: number;
  /** New traffic is welcome. */
  readonly ready: boolean;
  /** Serves another snapshot. Returns a line about each process that has not confirmed it. */
  apply(snapshot: Snapshot): Promise<readonly string[]>;
  /** `metrics`: with what each process has counted. */
  report(metrics?: boolean): Promise<ServingReport>;
  /** Hands over what was counted since the last time. False: not every process did in time. */
  flush(): Promise<boolean>;
  /** The salt of the usage sink is another one now. */
  resalt(): Promise<void>;
  /** Opens the logs anew: for who has renamed them. */
  reopenLogs(): Promise<void>;
  /** Takes no new connection, and waits until the exchanges under way are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Ends the listener, and every connection with it. */
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** Where counts of who called what go, now and then; undefined: nobody keeps them. */
  readonly usage?: UsageSink | undefined;
  /** Whether `log:` of the file counts: a library writes nothing of its own accord. */
  readonly logs: boolean;
  /** How `server` comes to listen; default: it opens a socket of its own. */
  readonly listen?: (server: Server, address: HostPort) => Promise<void>;
  /** Encrypts TLS sessions: a client may resume its session with any process that has the same keys. */
  readonly ticketKeys?: Buffer;
}

export interface UsageSink {
  /** For the tags of secrets: the same in every process. It may become another one; `resalt` says when. */
  readonly salt: string;
  take(batch: UsageBatch): void;
}

/** Begins to serve a snapshot. @throws the listener's own errors, such as EADDRINUSE. */
export type Serve = (snapshot: Snapshot, options: ServeOptions) => Promise<Serving>;
