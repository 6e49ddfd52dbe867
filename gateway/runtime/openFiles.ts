import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Snapshot } from '../config/snapshot.ts';
import type { ExchangeRecord, Recorder } from '../observability/exchangeRecord.ts';

const noticeEveryMs = 60_000;
/** For files, logs and the admin listener: an eighth of the limit, up to this many. */
const mostReserved = 256;

/**
 * Keeps connections of clients from using up the open files of this process. Beyond the limit, libuv accepts a connection
 * and closes it without telling anybody, and no backend can be reached either. Linux only; elsewhere nothing is limited.
 */
export class OpenFiles {
  readonly #front: Server;
  readonly #notice: (line: string) => void;
  readonly #limit = openFileLimit();
  /** What is open before the first connection. */
  readonly #open = openFileCount();
  #refused = 0;
  #lastNotice = Number.NEGATIVE_INFINITY;

  constructor(front: Server, snapshot: Snapshot, notice: (line: string) => void) {
    this.#front = front;
    this.#notice = notice;
    this.adjust(snapshot);
    front.on('drop', () => this.#onExhausted('a connection was refused'));
  }

  /** Leaves room for as many connections to backends as the configured limits allow, up to half of all. */
  adjust(snapshot: Snapshot): void {
    if (this.#limit === undefined) return;
    const available = this.#limit - this.#open - Math.min(mostReserved, this.#limit >> 3);
    const forBackends = Math.min(available >> 1, backendConnections(snapshot));
    this.#front.maxConnections = Math.max(1, available - forBackends);
  }

  /** The same recorder, and looks for requests that failed because no connection to a backend could be opened. */
  watching(recorder: Recorder): Recorder {
    return {
      ...recorder,
      record: (facts: ExchangeRecord) => {
        if (facts.problem === 'OVERLOADED' && facts.cause?.includes('MFILE')) this.#onExhausted(facts.cause);
        recorder.record(facts);
      },
    };
  }

  /** Says so at once, and then at most once a minute. */
  #onExhausted(what: string): void {
    this.#refused += 1;
    const now = performance.now();
    if (now - this.#lastNotice < noticeEveryMs) return;
    const times = this.#refused === 1 ? '' : ` (${this.#refused} times since the last notice)`;
    const room = `${this.#front.maxConnections} connections of clients`;
    this.#notice(
      `open files are exhausted: ${what}${times}.  The limit of ${this.#limit} leaves room for ${room}.  ${remedy}`,
    );
    this.#lastNotice = now;
    this.#refused = 0;
  }
}

const remedy = 'Raise it: ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker.';

/** A warning if the limit of open files is lower than the configured limits need. */
export function tooFewOpenFiles(snapshot: Snapshot, limit = openFileLimit()): string | undefined {
  // One for the client, and one for the backend.
  const needed = 2 * backendConnections(snapshot);
  if (limit === undefined || limit >= needed) return undefined;
  return `the limit of ${limit} open files is lower than the ${needed} that limits.in_flight and limits.in_flight_per_target allow for.  ${remedy}`;
}

function backendConnections({ byMajor }: Snapshot): number {
  return byMajor.reduce(
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
