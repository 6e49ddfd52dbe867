import { setTimeout as sleep } from 'node:timers/promises';
import { type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';
import { OutageNotices, RetryPause } from './outage.ts';

// A thread that ends again and again is started with growing pauses. A question waits for the end of the pause.
const firstPauseMs = 1_000;
const longestPauseMs = 10_000;
// A thread that has run for this long when it reports something did not fail at its start.
const steadyMs = 10_000;
// To terminate a thread ends its JavaScript at once, but not a call of the disk that hangs.
const terminationMs = 1_000;

interface Numbered {
  readonly number: number;
}

/** Sent with a number that the sender adds. */
export type Unnumbered<Command> = Command extends Numbered ? Omit<Command, 'number'> : never;

export interface ThreadOptions<Report> {
  readonly file: URL;
  /** Completes `the thread that …`, as in `reads the usage ledger`. */
  readonly task: string;
  /** What a new thread starts with. */
  readonly workerData?: () => unknown;
  readonly worker?: Pick<WorkerOptions, 'execArgv' | 'resourceLimits'>;
  /** How long the thread may work on the oldest question. One that takes longer hangs, and is ended. */
  readonly answerMs?: number;
  /** A thread without an open question is ended after this time. Default: never. */
  readonly idleMs?: number;
  /** How long the thread may take to end after its last command. */
  readonly closeMs?: number;
  readonly steadyMs?: number;
  /** Takes the reports that answer no question. Reports of a replaced thread are ignored. */
  readonly onReport?: (report: Exclude<Report, Numbered>) => void;
  /** Called when a thread has ended, and before a next one is started. Undefined: it was told to end. */
  readonly onEnd?: (end: ThreadEnd | undefined) => void;
  /** Takes a line when threads begin to fail, and one when they work again. */
  readonly notice?: (line: string) => void;
}

/** Why a thread ended that should not, or why it cannot be started. `code`: as in Node's errors, or `NO_ANSWER`. */
export class ThreadEnd extends Error {
  override readonly name = 'ThreadEnd';
  readonly reason: string;
  readonly code: string | undefined;

  constructor(task: string, reason: string, code?: string, predicate = 'ended') {
    super(`the thread that ${task} ${predicate}: ${reason}`);
    this.reason = reason;
    this.code = code;
  }
}

interface RunningThread {
  readonly worker: Worker;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly exited: Promise<void>;
  isToldToEnd: boolean;
}

interface OpenQuestion<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (end: ThreadEnd) => void;
}

/**
 * A thread that is started on demand, and again after it has ended. It does not keep the process alive. A command with a `number` is a
 * question, and a report with the same number is its answer.
 */
export class SupervisedThread<Command, Report> {
  readonly #options: ThreadOptions<Report>;
  readonly #notices: OutageNotices;
  readonly #startNotices: OutageNotices;
  readonly #pause = new RetryPause(firstPauseMs, longestPauseMs);
  readonly #closing = new AbortController();
  #running: RunningThread | undefined;
  readonly #questions = new Map<number, OpenQuestion<Extract<Report, Numbered>>>();
  #lastNumber = 0;
  /** Ends a thread that hangs or is idle. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions<Report>) {
    this.#options = options;
    this.#notices = new OutageNotices(options.notice ?? (() => {}));
    this.#startNotices = new OutageNotices(options.notice ?? (() => {}));
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Starts a thread if none runs. @returns whether one runs: none is started in a pause, and after `close` */
  start(): boolean {
    if (this.#running) return true;
    if (this.#closing.signal.aborted || this.#pauseMs > 0) return false;
    return this.#startNow() === undefined;
  }

  /** @returns why no thread can be started; undefined: one runs now */
  #startNow(): ThreadEnd | undefined {
    const { file, task, workerData, worker: options } = this.#options;
    const worker = startWorker(file, { ...options, workerData: workerData?.() });
    if ('reason' in worker) {
      const failure = new ThreadEnd(task, worker.reason, worker.code, 'cannot be started');
      this.#pause.failed(performance.now());
      this.#startNotices.failed(`${failure.message}.  It is tried again.`);
      return failure;
    }
    this.#startNotices.recovered(`the thread that ${task} is started.`);
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const running: RunningThread = { worker, startedAt: performance.now(), exited, isToldToEnd: false };
    this.#running = running;
    let failure: NodeJS.ErrnoException | undefined;
    worker.on('message', (report: Report) => {
      if (running === this.#running) this.#onReport(running, report);
    });
    worker.on('error', (error: unknown) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    worker.on('exit', (code) => {
      resolve();
      if (running === this.#running) this.#forget(failure?.message ?? `exit code ${code}`, failure?.code);
    });
    // After the listeners: one for messages would keep the process alive again.
    worker.unref();
    return undefined;
  }

  /** Sends a command to the thread if one runs. @returns whether one runs */
  send(command: Command, transfer: readonly Transferable[] = []): boolean {
    this.#running?.worker.postMessage(command, transfer);
    return this.isRunning;
  }

  /**
   * Starts a thread if none runs.
   * @param question called when the thread runs that it is sent to
   * @throws ThreadEnd if the thread ends, takes longer than `answerMs`, or cannot be started; it can then do nothing any more
   */
  async ask(
    question: () => Unnumbered<Command>,
    transfer: readonly Transferable[] = [],
  ): Promise<Extract<Report, Numbered>> {
    const { signal } = this.#closing;
    while (!this.#running) {
      if (signal.aborted) throw this.#stopped;
      // The pause may end between two looks at the clock.
      const pauseMs = this.#pauseMs;
      if (pauseMs > 0) {
        await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => {});
        continue;
      }
      const failure = this.#startNow();
      if (failure) throw failure;
    }
    this.#lastNumber += 1;
    this.send({ ...question(), number: this.#lastNumber } as Command, transfer);
    const { promise, resolve, reject } = Promise.withResolvers<Extract<Report, Numbered>>();
    this.#questions.set(this.#lastNumber, { resolve, reject });
    if (this.#questions.size === 1) this.#limitTime();
    return promise;
  }

  /** The thread makes progress with the oldest question: from now on it has `ms`. */
  extend(ms: number): void {
    this.#setTimer(ms, () => this.#forget(`it has not answered within ${ms / 1000} s`, 'NO_ANSWER'));
  }

  /** Ends the thread. Without a last command, it ends at once. The next `start` or `ask` starts a new one. */
  async end(lastCommand?: Command): Promise<void> {
    const running = this.#running;
    if (!running) return;
    running.isToldToEnd = true;
    if (lastCommand !== undefined) {
      this.send(lastCommand);
      await settlesWithin(this.#options.closeMs ?? 0, running.exited);
    }
    if (running === this.#running) this.#forget();
    await settlesWithin(terminationMs, running.exited);
  }

  /** As `end`, and no thread is started any more. */
  async close(lastCommand?: Command): Promise<void> {
    this.#closing.abort();
    await this.end(lastCommand);
  }

  get #pauseMs(): number {
    return this.#pause.leftMs(performance.now());
  }

  get #stopped(): ThreadEnd {
    return new ThreadEnd(this.#options.task, 'the gateway stops');
  }

  #onReport({ startedAt }: RunningThread, report: Report): void {
    if (isNumbered(report)) {
      const question = this.#questions.get(report.number);
      this.#questions.delete(report.number);
      this.#limitTime();
      this.#onSuccess();
      question?.resolve(report as Extract<Report, Numbered>);
      return;
    }
    if (performance.now() - startedAt >= (this.#options.steadyMs ?? steadyMs)) this.#onSuccess();
    this.#options.onReport?.(report as Exclude<Report, Numbered>);
  }

  #onSuccess(): void {
    this.#pause.succeeded();
    this.#notices.recovered(`the thread that ${this.#options.task} works again.`);
  }

  #limitTime(): void {
    const { answerMs, idleMs } = this.#options;
    clearTimeout(this.#timer);
    if (this.#questions.size === 0) {
      if (idleMs !== undefined) this.#setTimer(idleMs, () => void this.end());
    } else if (answerMs !== undefined) this.extend(answerMs);
  }

  #setTimer(ms: number, onTimeout: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTimeout, ms).unref();
  }

  /** Terminates the thread, unless it has ended. Its reports are ignored from now on, and the next thread may be started. */
  #forget(reason?: string, code?: string): void {
    const running = this.#running;
    if (!running) return;
    this.#running = undefined;
    clearTimeout(this.#timer);
    const { task, onEnd } = this.#options;
    const end = running.isToldToEnd || reason === undefined ? undefined : new ThreadEnd(task, reason, code);
    const open = [...this.#questions.values()];
    this.#questions.clear();
    void running.worker.terminate();
    // Whoever gets the rejection may rely on it that the thread has stopped.
    void settlesWithin(terminationMs, running.exited).then(() => {
      for (const { reject } of open) reject(end ?? this.#stopped);
    });
    if (end) this.#pause.failed(performance.now());
    onEnd?.(end);
    if (end) this.#notices.failed(`${end.message}.  A new one is started.`);
  }
}

/** What to do if the system starts no further thread or process. */
export const moreProcesses = 'Raise the limit of processes and threads: ulimit -u, or pids.max of a container';

/** Node throws at once if the system allows no further thread. A process that serves must not end because of that. */
export function startWorker(
  file: URL,
  options: WorkerOptions,
): Worker | { readonly reason: string; readonly code: string | undefined } {
  try {
    return new Worker(file, options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const remedy = code === 'ERR_WORKER_INIT_FAILED' ? `.  ${moreProcesses}` : '';
    return { reason: `${message}${remedy}`, code };
  }
}

function isNumbered(message: unknown): message is Numbered {
  return typeof message === 'object' && message !== null && 'number' in message;
}

/** @returns whether the promise settles in time */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  const settled = promise.catch(() => {}).then(() => true);
  const inTime = await Promise.race([settled, late]);
  clearTimeout(timer);
  return inTime;
}
