import cluster from 'node:cluster';
import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { LogSettings } from '../config/operating.ts';

export type Destination = Exclude<LogSettings['access'], 'off'>;

// A write for each line would cost more than the line.
const flushMs = 1000;
const mostChars = 64 * 1024;
// Several processes write to one pipe, which keeps no more than this in one piece (POSIX PIPE_BUF).
const mostCharsShared = 4096;
// What a reader that does not keep up may cost us; beyond it, lines are dropped.
const mostBuffered = 16 * 1024 * 1024;
const partingMs = 1000;

/** Lines of ASCII on their way to a file or a stream, several to a write, and never a part of one. */
export class LineBuffer {
  readonly isTerminal: boolean;
  readonly #stream: ReturnType<typeof pino.destination>;
  readonly #most: number;
  readonly #timer: NodeJS.Timeout;
  #pending = '';
  #failing = false;
  #hasDropped = false;

  /** `notice` hears of what keeps it from writing. @throws what keeps the file from being opened */
  constructor(to: Destination, notice: (line: string) => void) {
    const fd = open(to);
    this.isTerminal = isatty(fd);
    // Who looks at a terminal waits for the line.
    this.#most = this.isTerminal ? 0 : cluster.isWorker ? mostCharsShared : mostChars;
    const maxWrite = this.#most || mostChars;
    this.#stream = pino.destination({ dest: fd, sync: false, maxLength: mostBuffered, maxWrite });
    this.#stream
      .on('error', (error: Error) => {
        if (!this.#failing) notice(`the access log cannot be written: ${error.message}`);
        this.#failing = true;
      })
      .on('write', () => {
        this.#failing = false;
      })
      .on('drop', () => {
        if (!this.#hasDropped) notice('the access log is read too slowly: lines are dropped');
        this.#hasDropped = true;
      });
    this.#timer = setInterval(() => this.flush(), flushMs).unref();
  }

  write(line: string): void {
    if (this.#pending.length + line.length > this.#most) this.flush();
    this.#pending += line;
    if (this.#most === 0) this.flush();
  }

  flush(): void {
    if (this.#pending === '') return;
    this.#stream.write(this.#pending);
    this.#pending = '';
  }

  /** Resolves when all lines are written, or a second later: nobody may be reading them any more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.flush();
    const closed = new Promise<void>((resolve) => this.#stream.once('close', () => resolve()));
    this.#stream.end();
    await Promise.race([closed, sleep(partingMs, undefined, { ref: false })]);
  }
}

function open(to: Destination): number {
  if (to === 'stdout') return 1;
  if (to === 'stderr') return 2;
  mkdirSync(dirname(to.file), { recursive: true });
  return openSync(to.file, 'a', 0o640);
}
