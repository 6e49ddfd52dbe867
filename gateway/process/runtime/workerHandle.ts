import type { SendHandle } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Snapshot } from '../../config/snapshot.ts';
import { toPlain } from '../../config/transfer.ts';
import { isoText } from '../../shared/instant.ts';
import { moreProcesses } from '../../shared/supervisedThread.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { ServeOptions } from './serving.ts';
import type {
  OwnUsageQuestion,
  WorkerNotice,
  WorkerOtlp,
  WorkerReply,
  WorkerRequest,
  WorkerShadow,
  WorkerUsage,
} from './workerMessages.ts';

/** State that all workers share and that may change while they run. */
export interface SharedState extends Pick<ServeOptions, 'restrictions'> {
  /** The same in all workers, so that a client can resume its TLS session with another worker. */
  readonly ticketKeys: Buffer;
}

type WithoutNumber<One> = One extends { readonly number: number } ? Omit<One, 'number'> : never;
interface PendingRequest {
  readonly kind: WorkerRequest['kind'];
  resolve(reply: WorkerReply): void;
  reject(error: Error): void;
}

// How long the channel of a worker that has ended may still deliver messages.
const disconnectTimeoutMs = 1000;
// How long a drained worker may take to exit.
const exitTimeoutMs = 2000;
// How long a worker may take to answer a request that it can carry out at once.
const answerTimeoutMs = 5000;
// How long a worker may take to send its counts. Short, because an operator waits for them. The last counts of a slow worker may
// be missing.
const flushTimeoutMs = 1000;
// How long a new worker may take until it serves.
const startTimeoutMs = 60_000;
/** A worker is unresponsive when it has not answered a heartbeat for this many intervals between heartbeats. */
const maxIntervalsWithoutAnswer = 3;
/**
 * The answers of an unresponsive worker to these requests are not awaited. When the worker recovers, it carries out the requests
 * that were sent.
 */
const kindsNotAwaited: ReadonlySet<WorkerRequest['kind']> = new Set([
  'report',
  'apply',
  'resalt',
  'rekey',
  'restrict',
  'reopenLogs',
]);

/** Controls one worker process from the primary. */
export class WorkerHandle {
  /** When the process was started, epoch ms. */
  readonly since: number;
  /** Resolves with the port of the worker once the worker serves. */
  readonly started: Promise<number>;
  isServing = false;
  /** Resolves when the process has ended and its last counts, and what it did not count, are passed on. */
  readonly exited: Promise<unknown>;
  /** The listening socket, if this worker has opened it. */
  socket: SendHandle;
  /** When the first unanswered heartbeat was sent, epoch ms; undefined: the worker answers. */
  unresponsiveSince: number | undefined;
  /** The number under which the worker marks its calls. */
  readonly #process: number;
  readonly #options: ServeOptions;
  readonly #worker: Worker;
  /** The requests that the worker has not answered, by number. */
  readonly #pendingRequests = new Map<number, PendingRequest>();
  #lastRequestNumber = 0;
  /** When the unanswered heartbeat was sent, epoch ms. */
  #heartbeatSentAt: number | undefined;
  #intervalsWithoutAnswer = 0;
  #lastVersionReports: ServingReport['versions'] = [];
  #hasDrained = false;
  /** Whether the process has ended. */
  #hasEnded = false;

  /**
   * `socket`: undefined if this worker opens it. `sharedState`: called just before the worker is asked to serve. `process`: the number
   * under which the worker marks its calls.
   */
  constructor(
    snapshot: Snapshot,
    options: ServeOptions,
    socket: Promise<SendHandle> | undefined,
    sharedState: () => SharedState,
    process: number,
  ) {
    this.#options = options;
    this.#process = process;
    const { clock, notice, usage, otlp, shadow } = options;
    this.since = clock.now();
    this.#worker = cluster.fork();
    this.#worker.on(
      'message',
      (
        message: WorkerReply | WorkerNotice | WorkerUsage | WorkerOtlp | OwnUsageQuestion | WorkerShadow,
        handle: SendHandle,
      ) => {
        if (message.kind === 'notice') notice(`worker ${this.pid}: ${message.line}`);
        else if (message.kind === 'usage') usage?.receive(message.counts);
        else if (message.kind === 'otlp') void otlp?.(message.batch);
        else if (message.kind === 'shadow') void shadow?.(message.batch);
        else if (message.kind === 'ownUsageQuestion') void this.#answerOwnUsage(message);
        else if (message.kind === 'reply') {
          this.socket ??= handle;
          this.#onReply(message);
        }
      },
    );
    const disconnected = once(this.#worker, 'disconnect').catch(() => {});
    this.exited = this.#ended().then(async (reason) => {
      const hasServed = this.isServing;
      this.#hasEnded = true;
      this.isServing = false;
      // The last counts of the worker may still be in the channel.
      await Promise.race([disconnected, sleep(disconnectTimeoutMs, undefined, { ref: false })]);
      usage?.onProcessEnd?.(this.#process, this.#hasDrained || !hasServed);
      for (const { reject } of [...this.#pendingRequests.values()]) reject(new Error(reason));
    });
    this.started = this.#serve(snapshot, socket, sharedState);
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  /** Names the process for the operator. */
  get label(): string {
    return this.pid === 0 ? 'a new worker' : `worker ${this.pid}`;
  }

  /** Resolves with the reason once the process has ended, or if the system does not start it. */
  #ended(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#worker.on('exit', (code, signal) => resolve(`worker ended with ${signal ?? code}`));
    // Without a listener, a broken channel would end the primary. A process that was not started emits no `exit`.
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      const remedy = error.code === 'EAGAIN' ? `.  ${moreProcesses}` : '';
      if (this.pid === 0) resolve(`it cannot be started: ${error.message}${remedy}`);
    });
    return promise;
  }

  async apply(snapshot: Snapshot): Promise<void> {
    await this.started;
    await this.#request({ kind: 'apply', snapshot: toPlain(snapshot) }, answerTimeoutMs);
  }

  async #answerOwnUsage({ questionNumber, client }: OwnUsageQuestion): Promise<void> {
    const answer = (await this.#options.ownUsage?.(client).catch(() => undefined)) ?? { kind: 'failed' };
    // If the worker does not confirm the answer, it has exited, or it has already told the client that there is no answer.
    await this.#request({ kind: 'ownUsageAnswer', questionNumber, answer }, answerTimeoutMs).catch(() => {});
  }

  /** The last known report if the worker does not answer; undefined if the worker does not serve yet or no longer. */
  async report({ withMetrics }: { readonly withMetrics: boolean }): Promise<ServingReport | undefined> {
    const requestedAt = this.#options.clock.now();
    const report = this.#canReport
      ? await this.#request({ kind: 'report', metrics: withMetrics }, answerTimeoutMs).then(reportOf, () => undefined)
      : undefined;
    if (report) this.#lastVersionReports = report.versions;
    // The worker may have drained or exited in the meantime.
    if (!this.#canReport) return undefined;
    const { pid, since, unresponsiveSince = requestedAt } = this;
    return report ?? { versions: this.#lastVersionReports, workers: [{ pid, since, unresponsiveSince }] };
  }

  /** Resolves when the worker has sent its counts. */
  async flush(): Promise<void> {
    // An answer must not be given before it is known what the worker did not count.
    if (this.#hasEnded) await this.exited;
    else if (this.#canReport) await this.#request({ kind: 'flush' }, flushTimeoutMs);
  }

  async resalt(): Promise<void> {
    await this.started;
    const { usage } = this.#options;
    if (usage) await this.#request({ kind: 'resalt', salt: usage.salt }, answerTimeoutMs);
  }

  async rekey(ticketKeys: Buffer): Promise<void> {
    await this.started;
    await this.#request({ kind: 'rekey', ticketKeys }, answerTimeoutMs);
  }

  /** Does not wait for a worker that is starting: such a worker applies the update before it serves. */
  async restrict(update: ServeOptions['restrictions']): Promise<void> {
    const confirmed = this.#request({ kind: 'restrict', update }, answerTimeoutMs);
    if (this.isServing) await confirmed;
    else confirmed.catch(() => {});
  }

  async reopenLogs(): Promise<void> {
    await this.#request({ kind: 'reopenLogs' }, answerTimeoutMs);
  }

  /**
   * Sends a heartbeat, unless the last one is still unanswered. The pool calls this method at regular intervals. Returns how many
   * intervals have passed without an answer to the last heartbeat. Calls are counted as intervals, because a measured time would
   * include the time in which the primary was suspended.
   */
  heartbeat(): number {
    if (!this.#canReport) return 0;
    if (this.#heartbeatSentAt !== undefined) {
      this.#intervalsWithoutAnswer += 1;
      if (this.#intervalsWithoutAnswer === maxIntervalsWithoutAnswer) this.#markUnresponsive(this.#heartbeatSentAt);
      return this.#intervalsWithoutAnswer;
    }
    this.#heartbeatSentAt = this.#options.clock.now();
    this.#request({ kind: 'heartbeat' }).then(
      (reply) => this.#onHeartbeat(reportOf(reply)),
      () => {},
    );
    return 0;
  }

  /** Lets the worker finish its exchanges within `ms`, and waits for it to exit. `onFinal` gets its last report. */
  async drain(ms: number, onFinal: (report: ServingReport) => void): Promise<void> {
    const finalReport = reportOf(await this.#request({ kind: 'drain', ms }, ms + exitTimeoutMs));
    this.#hasDrained = true;
    onFinal(finalReport);
    await this.end(exitTimeoutMs);
  }

  /** Waits for the worker to exit, and kills it after `ms`. SIGKILL also ends a process that is stopped by SIGSTOP. */
  async end(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#worker.process.kill('SIGKILL'), ms);
    await this.exited;
    clearTimeout(timer);
  }

  /** Open requests and streams, as of the last report of the worker. */
  get inFlight(): number {
    return this.#lastVersionReports.reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  get #canReport(): boolean {
    return this.isServing && !this.#hasDrained;
  }

  async #serve(
    snapshot: Snapshot,
    socket: Promise<SendHandle> | undefined,
    sharedState: () => SharedState,
  ): Promise<number> {
    const handle = await socket;
    const salt = this.#options.usage?.salt;
    const { ticketKeys, restrictions } = sharedState();
    const files = this.#options.usage?.markFiles;
    const marks = files && { files, process: this.#process };
    const request = { kind: 'serve', snapshot: toPlain(snapshot), salt, marks, ticketKeys, restrictions } as const;
    const reply = await this.#request(request, startTimeoutMs, handle);
    this.isServing = true;
    return 'port' in reply ? reply.port : 0;
  }

  #markUnresponsive(since: number): void {
    this.unresponsiveSince = since;
    this.#options.notice(`worker ${this.pid} is unresponsive: ${this.#noAnswerText}`);
    for (const { kind, reject } of [...this.#pendingRequests.values()])
      if (kindsNotAwaited.has(kind)) reject(new Error(this.#noAnswerText));
  }

  #onHeartbeat({ versions }: ServingReport): void {
    this.#lastVersionReports = versions;
    this.#heartbeatSentAt = undefined;
    this.#intervalsWithoutAnswer = 0;
    if (this.unresponsiveSince === undefined) return;
    this.unresponsiveSince = undefined;
    this.#options.notice(`worker ${this.pid} answers again`);
  }

  get #noAnswerText(): string {
    return `no answer since ${isoText(this.unresponsiveSince ?? 0)}`;
  }

  /** Rejects if the worker exits, refuses, becomes unresponsive, or does not answer within `ms`. */
  #request(request: WithoutNumber<WorkerRequest>, ms?: number, handle?: SendHandle): Promise<WorkerReply> {
    const isUnresponsive = this.unresponsiveSince !== undefined;
    // A late report is useless, and requests to a worker that does not answer would pile up.
    if (isUnresponsive && request.kind === 'report') return Promise.reject(new Error(this.#noAnswerText));
    this.#lastRequestNumber += 1;
    const number = this.#lastRequestNumber;
    return new Promise((resolve, reject) => {
      const timeoutError = new Error(`no answer within ${(ms ?? 0) / 1000} s`);
      const timer = ms === undefined ? undefined : setTimeout(() => settle(() => reject(timeoutError)), ms);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.#pendingRequests.delete(number);
        end();
      };
      this.#pendingRequests.set(number, {
        kind: request.kind,
        resolve: (reply) => settle(() => resolve(reply)),
        reject: (error) => settle(() => reject(error)),
      });
      const onSent = (error: Error | null): void => {
        if (error) this.#pendingRequests.get(number)?.reject(error);
      };
      this.#worker.process.send({ number, ...request }, handle, undefined, onSent);
      if (isUnresponsive && kindsNotAwaited.has(request.kind))
        this.#pendingRequests.get(number)?.reject(new Error(this.#noAnswerText));
    });
  }

  #onReply(reply: WorkerReply): void {
    const pending = this.#pendingRequests.get(reply.number);
    if ('error' in reply) pending?.reject(Object.assign(new Error(reply.error.message), reply.error));
    else pending?.resolve(reply);
  }
}

function reportOf(reply: WorkerReply): ServingReport {
  return 'report' in reply ? reply.report : { versions: [], workers: [] };
}
