import cluster from 'node:cluster';
import { constants, fstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import sonicBoom from 'sonic-boom';
import type { LogSettings } from '../../config/snapshot.ts';
import { makeFolder } from '../../shared/fileSystem.ts';

export type LogDestination = Exclude<LogSettings['access'], 'off'>;

/** Lines that were not written, over all destinations of a process. */
export interface DroppedLines {
  lines: number;
}

// One system call for each line would cost more than building the line.
const flushMs = 1000;
const maxWriteBytes = 64 * 1024;
// Several processes write to one pipe. Only writes up to this size are atomic (POSIX PIPE_BUF).
const maxSharedWriteBytes = 4096;
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0 } = constants;
// Without O_NONBLOCK, opening a named pipe that has no reader would block the event loop.
const appendFlags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
// Memory for a reader that is too slow; beyond it, lines are dropped.
const maxBufferedBytes = 16 * 1024 * 1024;
const maxCloseMs = 1000;

/** Collects ASCII lines for a file or stream. Each write contains one or more complete lines. */
export class LineBuffer {
  readonly isTerminal: boolean;
  /** Whether the last write failed. Its lines are kept for the next write. */
  isFailing = false;
  readonly #destination: LogDestination;
  readonly #fd: number;
  readonly #stream: InstanceType<typeof sonicBoom.SonicBoom>;
  readonly #maxWriteBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #dropped: DroppedLines;
  readonly #unwritten = new UnwrittenLines();
  // Bytes instead of strings: the garbage collector would copy each waiting string several times.
  #pending: Buffer;
  #pendingBytes = 0;
  #pendingLines = 0;
  #isDropping = false;
  #isReaderGone = false;
  #isExiting = false;

  /** `notice` gets a line when writing fails, and when it works again. @throws if the file cannot be opened */
  constructor(to: LogDestination, notice: (line: string) => void, dropped: DroppedLines) {
    this.#destination = to;
    this.#fd = open(to);
    this.#dropped = dropped;
    this.isTerminal = isatty(this.#fd);
    this.#maxWriteBytes = cluster.isWorker ? maxSharedWriteBytes : maxWriteBytes;
    this.#pending = Buffer.allocUnsafeSlow(this.#maxWriteBytes);
    this.#stream = new sonicBoom.SonicBoom({
      fd: this.#fd,
      contentMode: 'buffer',
      maxLength: maxBufferedBytes,
      maxWrite: this.#maxWriteBytes,
      // EAGAIN: a pipe is full. At exit, waiting for its reader would keep the process from ending.
      retryEAGAIN: () => !this.#isExiting,
    });
    this.#stream
      .on('error', (error: NodeJS.ErrnoException) => {
        if (!this.isFailing) notice(`the access log cannot be written: ${error.message}`);
        this.isFailing = true;
        if (error.code !== 'EPIPE') return;
        // The reader of a pipe has closed it. Lines are dropped from now on, until `AccessLog.reopen` opens a named pipe again.
        this.#isReaderGone = true;
        dropped.lines += this.#unwritten.removeAll();
      })
      .on('write', (bytes: number) => {
        this.#unwritten.noteWritten(bytes);
        if (this.isFailing) notice('the access log can be written again');
        this.isFailing = false;
      })
      .on('drop', () => {
        // A failing write was already reported.
        if (!this.#isDropping && !this.isFailing) notice('the access log is read too slowly: lines are dropped');
        this.#isDropping = true;
        dropped.lines += this.#unwritten.removeLast();
      })
      .on('drain', () => {
        if (this.#isDropping)
          notice(`the access log is read fast enough again: ${dropped.lines} lines were dropped so far`);
        this.#isDropping = false;
      });
    this.#timer = setInterval(() => this.flush(), flushMs).unref();
    process.once('exit', this.#onExit);
  }

  /** False after the file was removed or replaced: lines written now would be lost. */
  get isFileInPlace(): boolean {
    if (typeof this.#destination === 'string') return true;
    const [ours, found] = [fstatSync(this.#fd), statSync(this.#destination.file, { throwIfNoEntry: false })];
    return found?.ino === ours.ino && found.dev === ours.dev;
  }

  /** Writes text with any characters, without buffering. */
  writeText(text: string): void {
    this.flush();
    this.#send(Buffer.from(text), 1);
  }

  /** `line` is ASCII. */
  write(line: string): void {
    if (this.#pendingBytes + line.length > this.#maxWriteBytes) this.flush();
    if (line.length > this.#maxWriteBytes) {
      this.#send(Buffer.from(line, 'latin1'), 1);
    } else {
      this.#pendingBytes += this.#pending.write(line, this.#pendingBytes, 'latin1');
      this.#pendingLines += 1;
    }
    // A terminal shows each line at once.
    if (this.isTerminal) this.flush();
  }

  flush(): void {
    if (this.#pendingBytes === 0) return;
    this.#send(this.#pending.subarray(0, this.#pendingBytes), this.#pendingLines);
    this.#pending = Buffer.allocUnsafeSlow(this.#maxWriteBytes);
    this.#pendingBytes = 0;
    this.#pendingLines = 0;
  }

  #send(bytes: Buffer, lines: number): void {
    if (this.#isReaderGone) {
      this.#dropped.lines += lines;
      return;
    }
    this.#unwritten.add(bytes.length, lines);
    // With `contentMode: 'buffer'`, the stream accepts bytes. Its types do not declare this.
    (this.#stream as { write(bytes: Buffer | string): boolean }).write(bytes);
  }

  /** Resolves when all lines are written, or after a second, since a pipe may have no active reader. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    process.off('exit', this.#onExit);
    this.flush();
    if (this.#isReaderGone) {
      this.#stream.destroy();
      return;
    }
    const closed = new Promise<void>((resolve) => this.#stream.once('close', () => resolve()));
    this.#stream.end();
    await Promise.race([closed, sleep(maxCloseMs, undefined, { ref: false })]);
    this.#dropped.lines += this.#unwritten.removeAll();
    // No write is pending that could still succeed; this only closes the descriptor.
    if (this.isFailing) this.#stream.destroy();
  }

  /** If the process ends without `close`, for example by an uncaught exception: writes as much as possible without waiting. */
  readonly #onExit = (): void => {
    this.#isExiting = true;
    try {
      this.flush();
      this.#stream.flushSync();
    } catch {
      // The lines are lost: the process ends now.
    }
  };
}

function open(to: LogDestination): number {
  if (to === 'stdout') return 1;
  if (to === 'stderr') return 2;
  makeFolder(dirname(to.file));
  return openSync(to.file, appendFlags, 0o640);
}

/** Counts the lines that were sent and are not yet written. The stream writes them in order, some bytes at a time. */
class UnwrittenLines {
  #parts: { bytes: number; readonly lines: number }[] = [];

  add(bytes: number, lines: number): void {
    this.#parts.push({ bytes, lines });
  }

  /** Removes the part that was added last. Returns its lines. */
  removeLast(): number {
    return this.#parts.pop()?.lines ?? 0;
  }

  /** Removes all parts. Returns their lines. */
  removeAll(): number {
    const parts = this.#parts;
    this.#parts = [];
    return parts.reduce((sum, { lines }) => sum + lines, 0);
  }

  noteWritten(bytes: number): void {
    let left = bytes;
    for (let first = this.#parts[0]; first && left > 0; first = this.#parts[0]) {
      const taken = Math.min(left, first.bytes);
      left -= taken;
      first.bytes -= taken;
      if (first.bytes === 0) this.#parts.shift();
    }
  }
}
