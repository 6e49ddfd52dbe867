import cluster from 'node:cluster';
import { constants, fstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { LogSettings } from '../config/snapshot.ts';
import { makeFolder } from '../shared/fileSystem.ts';
import { Unwritten } from './unwritten.ts';

export type Destination = Exclude<LogSettings['access'], 'off'>;

/** Lines that nobody will read, of all destinations of a process. */
export interface Dropped {
  lines: number;
}

// A write for each line would cost more than the line.
const flushMs = 1000;
const mostBytes = 64 * 1024;
// Several processes write to one pipe, which keeps no more than this in one piece (POSIX PIPE_BUF).
const mostBytesShared = 4096;
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0 } = constants;
// Without O_NONBLOCK, opening a named pipe that nobody reads would block the event loop.
const append = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
// What a reader that does not keep up may cost us; beyond it, lines are dropped.
const mostBuffered = 16 * 1024 * 1024;
const partingMs = 1000;

/** Lines of ASCII on their way to a file or a stream, several to a write, and never a part of one. */
export class LineBuffer {
  readonly isTerminal: boolean;
  /** The last write did not work. What was to be written is kept for the next one. */
  failing = false;
  readonly #to: Destination;
  readonly #fd: number;
  readonly #stream: ReturnType<typeof pino.destination>;
  readonly #size: number;
  readonly #timer: NodeJS.Timeout;
  readonly #dropped: Dropped;
  readonly #unwritten = new Unwritten();
  // Bytes, since strings that wait would be copied by every collection of the young generation.
  #pending: Buffer;
  #used = 0;
  #lines = 0;
  #isDropping = false;
  #readerIsGone = false;

  /** `notice` hears of what keeps it from writing. @throws what keeps the file from being opened */
  constructor(to: Destination, notice: (line: string) => void, dropped: Dropped) {
    this.#to = to;
    this.#fd = open(to);
    this.#dropped = dropped;
    this.isTerminal = isatty(this.#fd);
    this.#size = cluster.isWorker ? mostBytesShared : mostBytes;
    this.#pending = Buffer.allocUnsafeSlow(this.#size);
    this.#stream = pino.destination({
      dest: this.#fd,
      sync: false,
      contentMode: 'buffer',
      maxLength: mostBuffered,
      maxWrite: this.#size,
    });
    this.#stream
      .on('error', (error: NodeJS.ErrnoException) => {
        if (!this.failing) notice(`the access log cannot be written: ${error.message}`);
        this.failing = true;
        if (error.code !== 'EPIPE') return;
        // pino takes no further line then. Nor is a pipe without a reader opened anew, which would wait for one.
        this.#readerIsGone = true;
        dropped.lines += this.#unwritten.takeAll();
      })
      .on('write', (bytes: number) => {
        this.#unwritten.wrote(bytes);
        if (this.failing) notice('the access log is written again');
        this.failing = false;
      })
      .on('drop', () => {
        // What cannot be written was told of already.
        if (!this.#isDropping && !this.failing) notice('the access log is read too slowly: lines are dropped');
        this.#isDropping = true;
        dropped.lines += this.#unwritten.takeLast();
      })
      .on('drain', () => {
        if (this.#isDropping) notice(`the access log keeps up again: ${dropped.lines} lines were dropped so far`);
        this.#isDropping = false;
      });
    this.#timer = setInterval(() => this.flush(), flushMs).unref();
  }

  /** False once the file was removed or replaced: what is written now, nobody would find. */
  get isThere(): boolean {
    if (typeof this.#to === 'string') return true;
    const [ours, found] = [fstatSync(this.#fd), statSync(this.#to.file, { throwIfNoEntry: false })];
    return found?.ino === ours.ino && found.dev === ours.dev;
  }

  /** For people: any characters, and at once. */
  writeText(text: string): void {
    this.flush();
    this.#send(Buffer.from(text), 1);
  }

  /** `line` is ASCII. */
  write(line: string): void {
    if (this.#used + line.length > this.#size) this.flush();
    if (line.length > this.#size) {
      this.#send(Buffer.from(line, 'latin1'), 1);
    } else {
      this.#used += this.#pending.write(line, this.#used, 'latin1');
      this.#lines += 1;
    }
    // Who looks at a terminal waits for the line.
    if (this.isTerminal) this.flush();
  }

  flush(): void {
    if (this.#used === 0) return;
    this.#send(this.#pending.subarray(0, this.#used), this.#lines);
    this.#pending = Buffer.allocUnsafeSlow(this.#size);
    this.#used = 0;
    this.#lines = 0;
  }

  #send(bytes: Buffer, lines: number): void {
    if (this.#readerIsGone) {
      this.#dropped.lines += lines;
      return;
    }
    this.#unwritten.add(bytes.length, lines);
    // With `contentMode: 'buffer'` it takes bytes, which its types do not know.
    (this.#stream as { write(bytes: Buffer | string): boolean }).write(bytes);
  }

  /** Resolves when all lines are written, or a second later: nobody may be reading them any more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.flush();
    if (this.#readerIsGone) {
      this.#stream.destroy();
      return;
    }
    const closed = new Promise<void>((resolve) => this.#stream.once('close', () => resolve()));
    this.#stream.end();
    await Promise.race([closed, sleep(partingMs, undefined, { ref: false })]);
    this.#dropped.lines += this.#unwritten.takeAll();
    // Nothing is under way there that would be written later; only its descriptor would stay open.
    if (this.failing) this.#stream.destroy();
  }
}

function open(to: Destination): number {
  if (to === 'stdout') return 1;
  if (to === 'stderr') return 2;
  makeFolder(dirname(to.file));
  return openSync(to.file, append, 0o640);
}
