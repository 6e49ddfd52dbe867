import type { SendHandle } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Snapshot } from '../config/snapshot.ts';
import { toPlain } from '../config/transfer.ts';
import type { ServingReport } from '../observability/report.ts';
import type { ServeOptions } from './serving.ts';
import type { SharedSocket } from './sharedSocket.ts';
import type { Notice, Order, Reply, Usage } from './workerMessages.ts';

type Unnumbered<One> = One extends { readonly number: number } ? Omit<One, 'number'> : never;
type Question = { readonly kind: Order['kind']; resolve(reply: Reply): void; reject(error: Error): void };

// How long a worker that has drained may take to end.
const partingMs = 2000;
// For orders that are carried out at once.
const answerMs = 5000;
// An operator waits for the answer, which may lack the last seconds of a slow worker.
const flushMs = 1000;
const startMs = 60_000;
/** A worker that leaves as many heartbeats unanswered is unresponsive. */
const mostUnanswered = 3;
/** Nobody waits for an unresponsive worker to carry out these. It does so when it answers again. */
const notAwaited: ReadonlySet<Order['kind']> = new Set(['report', 'apply', 'resalt', 'reopen']);

/** A worker, as the primary sees it. */
export class WorkerHandle {
  readonly since: number;
  /** Resolves with its port, once it serves. */
  readonly serving: Promise<number>;
  serves = false;
  readonly gone: Promise<unknown>;
  /** The listening socket, if this worker has opened it. */
  socket: SendHandle;
  /** When the first heartbeat without an answer was sent, epoch ms; undefined: it answers. */
  unresponsiveSince: number | undefined;
  readonly #options: ServeOptions;
  readonly #worker: Worker;
  readonly #questions = new Map<number, Question>();
  #count = 0;
  /** When the heartbeat was sent that is not answered yet, epoch ms. */
  #heartbeatSent: number | undefined;
  #unanswered = 0;
  #lastVersions: ServingReport['versions'] = [];
  #hasDrained = false;

  constructor(snapshot: Snapshot, options: ServeOptions, socket: SharedSocket | Promise<SharedSocket>) {
    this.#options = options;
    const { clock, notice, usage } = options;
    this.since = clock.now();
    this.#worker = cluster.fork();
    this.#worker.on('message', (message: Reply | Notice | Usage, handle: SendHandle) => {
      if (message.kind === 'notice') notice(`worker ${this.pid}: ${message.line}`);
      else if (message.kind === 'usage') usage?.take(message.batch);
      else if (message.kind === 'reply') {
        this.socket ??= handle;
        this.#onReply(message);
      }
    });
    // Without a listener a channel that breaks would end the primary.
    this.#worker.on('error', () => {});
    this.gone = once(this.#worker, 'exit').then(([code, signal]) => {
      this.serves = false;
      for (const { reject } of [...this.#questions.values()]) reject(new Error(`worker ended with ${signal ?? code}`));
    });
    this.serving = this.#serve(snapshot, socket);
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  async apply(snapshot: Snapshot): Promise<void> {
    await this.serving;
    await this.#ask({ kind: 'apply', snapshot: toPlain(snapshot) }, answerMs);
  }

  /** The last one that is known, if it does not answer; undefined if it has nothing to report, or no more. */
  async report(metrics: boolean): Promise<ServingReport | undefined> {
    const asked = this.#options.clock.now();
    const report = this.#reports
      ? await this.#ask({ kind: 'report', metrics }, answerMs).then(reportIn, () => undefined)
      : undefined;
    if (report) this.#lastVersions = report.versions;
    // It may have drained or ended in the meantime.
    if (!this.#reports) return undefined;
    const { pid, since, unresponsiveSince = asked } = this;
    return report ?? { versions: this.#lastVersions, workers: [{ pid, since, unresponsiveSince }] };
  }

  /** Its counts arrive before its answer. */
  async flush(): Promise<void> {
    if (this.#reports) await this.#ask({ kind: 'flush' }, flushMs);
  }

  async resalt(): Promise<void> {
    await this.serving;
    const { usage } = this.#options;
    if (usage) await this.#ask({ kind: 'resalt', salt: usage.salt }, answerMs);
  }

  async reopenLogs(): Promise<void> {
    await this.#ask({ kind: 'reopen' }, answerMs);
  }

  /**
   * To be called at regular intervals. Returns how many of the calls in a row have found a heartbeat unanswered: no time
   * is measured, so that a primary that was suspended itself blames no worker.
   */
  heartbeat(): number {
    if (!this.#reports) return 0;
    if (this.#heartbeatSent !== undefined) {
      this.#unanswered += 1;
      if (this.#unanswered === mostUnanswered) this.#becomeUnresponsive(this.#heartbeatSent);
      return this.#unanswered;
    }
    this.#heartbeatSent = this.#options.clock.now();
    this.#ask({ kind: 'heartbeat' }).then(
      (reply) => this.#onHeartbeat(reportIn(reply)),
      () => {},
    );
    return 0;
  }

  /** Lets it finish what it has, `ms` at most, and end. `onLast` hears what it has counted by then. */
  async drain(ms: number, onLast: (report: ServingReport) => void): Promise<void> {
    const last = reportIn(await this.#ask({ kind: 'drain', ms }, ms + partingMs));
    this.#hasDrained = true;
    onLast(last);
    await this.end(partingMs);
  }

  /** Waits for its end, and sees to it after `ms`. SIGKILL also ends a process that is stopped. */
  async end(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#worker.process.kill('SIGKILL'), ms);
    await this.gone;
    clearTimeout(timer);
  }

  /** Requests and streams in flight, as far as is known. */
  get inFlight(): number {
    return this.#lastVersions.reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  get #reports(): boolean {
    return this.serves && !this.#hasDrained;
  }

  async #serve(snapshot: Snapshot, socket: SharedSocket | Promise<SharedSocket>): Promise<number> {
    const { handle, ticketKeys } = await socket;
    const salt = this.#options.usage?.salt;
    const reply = await this.#ask({ kind: 'serve', snapshot: toPlain(snapshot), salt, ticketKeys }, startMs, handle);
    this.serves = true;
    return 'port' in reply ? reply.port : 0;
  }

  #becomeUnresponsive(since: number): void {
    this.unresponsiveSince = since;
    this.#options.notice(`worker ${this.pid} is unresponsive: ${this.#silence}`);
    for (const { kind, reject } of [...this.#questions.values()])
      if (notAwaited.has(kind)) reject(new Error(this.#silence));
  }

  #onHeartbeat({ versions }: ServingReport): void {
    this.#lastVersions = versions;
    this.#heartbeatSent = undefined;
    this.#unanswered = 0;
    if (this.unresponsiveSince === undefined) return;
    this.unresponsiveSince = undefined;
    this.#options.notice(`worker ${this.pid} answers again`);
  }

  get #silence(): string {
    return `no answer since ${new Date(this.unresponsiveSince ?? 0).toISOString()}`;
  }

  /** Rejects when the worker ends, refuses, becomes unresponsive, or does not answer within `ms`. */
  #ask(order: Unnumbered<Order>, ms?: number, handle?: SendHandle): Promise<Reply> {
    const isSilent = this.unresponsiveSince !== undefined;
    // A report is of no use later, and orders to a worker that does not answer would pile up.
    if (isSilent && order.kind === 'report') return Promise.reject(new Error(this.#silence));
    this.#count += 1;
    const number = this.#count;
    return new Promise((resolve, reject) => {
      const late = new Error(`no answer within ${(ms ?? 0) / 1000} s`);
      const timer = ms === undefined ? undefined : setTimeout(() => settle(() => reject(late)), ms);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.#questions.delete(number);
        end();
      };
      this.#questions.set(number, {
        kind: order.kind,
        resolve: (reply) => settle(() => resolve(reply)),
        reject: (error) => settle(() => reject(error)),
      });
      // The end of the worker answers what can no longer be sent.
      const onSent = (error: Error | null): void => void (error && this.#questions.get(number)?.reject(error));
      this.#worker.process.send({ number, ...order }, handle, undefined, onSent);
      if (isSilent && notAwaited.has(order.kind)) this.#questions.get(number)?.reject(new Error(this.#silence));
    });
  }

  #onReply(reply: Reply): void {
    const question = this.#questions.get(reply.number);
    if ('error' in reply) question?.reject(Object.assign(new Error(reply.error.message), reply.error));
    else question?.resolve(reply);
  }
}

function reportIn(reply: Reply): ServingReport {
  return 'report' in reply ? reply.report : { versions: [], workers: [] };
}
