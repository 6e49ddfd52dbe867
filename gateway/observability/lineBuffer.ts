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
const mostBytes = 64 * 1024;
// Several processes write to one pipe, which keeps no more than this in one piece (POSIX PIPE_BUF).
const mostBytesShared = 4096;
// What a reader that does not keep up may cost us; beyond it, lines are dropped.
const mostBuffered = 16 * 1024 * 1024;
const partingMs = 1000;

/** Lines of ASCII on their way to a file or a stream, several to a write, and never a part of one. */
export class LineBuffer {
  readonly isTerminal: boolean;
  readonly #stream: ReturnType<typeof pino.destination>;
  readonly #size: number;
  readonly #timer: NodeJS.Timeout;
  // Bytes, since strings that wait would be copied by every collection of the young generation.
  #pending: Buffer;
  #used = 0;
  #failing = false;
  #hasDropped = false;

  /** `notice` hears of what keeps it from writing. @throws what keeps the file from being opened */
  constructor(to: Destination, notice: (line: string) => void) {
    const fd = open(to);
    this.isTerminal = isatty(fd);
    this.#size = cluster.isWorker ? mostBytesShared : mostBytes;
    this.#pending = Buffer.allocUnsafeSlow(this.#size);
    this.#stream = pino.destination({
      dest: fd,
      sync: false,
      contentMode: 'buffer',
      maxLength: mostBuffered,
      maxWrite: this.#size,
    });
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

  /** For people: any characters, and at once. */
  writeText(text: string): void {
    this.flush();
    this.#send(Buffer.from(text));
  }

  /** `line` is ASCII. */
  write(line: string): void {
    if (this.#used + line.length > this.#size) this.flush();
    if (line.length > this.#size) this.#send(Buffer.from(line, 'latin1'));
    else this.#used += this.#pending.write(line, this.#used, 'latin1');
    // Who looks at a terminal waits for the line.
    if (this.isTerminal) this.flush();
  }

  flush(): void {
    if (this.#used === 0) return;
    this.#send(this.#pending.subarray(0, this.#used));
    this.#pending = Buffer.allocUnsafeSlow(this.#size);
    this.#used = 0;
  }

  #send(bytes: Buffer): void {
    // With `contentMode: 'buffer'` it takes bytes, which its types do not know.
    this.#stream.write(bytes as unknown as string);
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
