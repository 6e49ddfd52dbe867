import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Snapshot } from '../../config/snapshot.ts';
import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';

const noticeEveryMs = 60_000;
/** Reserved for files, logs and the admin listener: an eighth of the limit, up to this many. */
const maxReserved = 256;

/**
 * Limits client connections so that they cannot use up the open files of this process. At the limit, libuv accepts and
 * closes connections without an error, and no backend can be reached. Linux only; elsewhere nothing is limited.
 */
export class OpenFiles {
  readonly #listener: Server;
  readonly #notice: (line: string) => void;
  readonly #limit = openFileLimit();
  /** How many files were open before the first connection. */
  readonly #openAtStart = openFileCount();
  #timesSinceNotice = 0;
  #lastNotice = Number.NEGATIVE_INFINITY;

  constructor(listener: Server, snapshot: Snapshot, notice: (line: string) => void) {
    this.#listener = listener;
    this.#notice = notice;
    this.adjust(snapshot);
    listener.on('drop', () => this.#onExhausted('a connection was refused'));
  }

  /** Leaves room for the backend connections that the configured limits allow, up to half of the files. */
  adjust(snapshot: Snapshot): void {
    if (this.#limit === undefined) return;
    const available = this.#limit - this.#openAtStart - Math.min(maxReserved, this.#limit >> 3);
    const forBackends = Math.min(available >> 1, backendConnections(snapshot));
    this.#listener.maxConnections = Math.max(1, available - forBackends);
  }

  /** Reports requests that failed because no connection to a backend could be opened. */
  onRecord({ problem, cause }: ExchangeRecord): void {
    if (problem === 'OVERLOADED' && cause?.includes('MFILE')) this.#onExhausted(cause);
  }

  /** Reports the first time at once, and later times together, at most once a minute. */
  #onExhausted(what: string): void {
    this.#timesSinceNotice += 1;
    const now = performance.now();
    if (now - this.#lastNotice < noticeEveryMs) return;
    const times = this.#timesSinceNotice === 1 ? '' : ` (${this.#timesSinceNotice} times since the last notice)`;
    const room = `${this.#listener.maxConnections} client connections`;
    this.#notice(
      `open files are exhausted: ${what}${times}.  The limit of ${this.#limit} leaves room for ${room}.  ${remedy}`,
    );
    this.#lastNotice = now;
    this.#timesSinceNotice = 0;
  }
}

const remedy = 'Raise it: ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker.';

/** A warning if the limit of open files is lower than the configured limits need. */
export function tooFewOpenFiles(snapshot: Snapshot, limit = openFileLimit()): string | undefined {
  // One file for the client connection and one for the backend connection.
  const needed = 2 * backendConnections(snapshot);
  if (limit === undefined || limit >= needed) return undefined;
  return `the limit of ${limit} open files is lower than the ${needed} that limits.in_flight and limits.in_flight_per_target need.  ${remedy}`;
}

function backendConnections({ sortedVersions }: Snapshot): number {
  return sortedVersions.reduce(
    (sum, { limits, targets }) => sum + Math.min(limits.inFlight, limits.inFlightPerTarget * targets.length),
    0,
  );
}

/** The soft limit. Node raises it to the hard limit when it starts. */
function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

function openFileCount(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
