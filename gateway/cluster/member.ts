import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Snapshot } from '../config/snapshot.ts';
import { toPlain } from '../config/transfer.ts';
import type { ServingReport } from '../observability/report.ts';
import type { ServeOptions, UsageSink } from '../serving/serving.ts';
import type { Notice, Order, Reply, Usage } from './messages.ts';

type Unnumbered<One> = One extends { readonly number: number } ? Omit<One, 'number'> : never;
type Question = { resolve(reply: Reply): void; reject(error: Error): void };

// How long a worker that has drained may take to end.
const partingMs = 2000;
// Far beyond what any answer takes: who is silent for that long is stuck.
const answerMs = 5000;
const startMs = 60_000;

/** A worker, as the primary sees it. */
export class Member {
  readonly since: number;
  /** Resolves with its port, once it serves. */
  readonly serving: Promise<number>;
  serves = false;
  readonly gone: Promise<unknown>;
  readonly #worker: Worker;
  readonly #usage: UsageSink | undefined;
  readonly #questions = new Map<number, Question>();
  #count = 0;

  constructor(snapshot: Snapshot, { clock, notice, usage }: ServeOptions) {
    this.since = clock.now();
    this.#usage = usage;
    this.#worker = cluster.fork();
    this.#worker.on('message', (message: Reply | Notice | Usage) => {
      if (message.kind === 'notice') notice(`worker ${this.pid}: ${message.line}`);
      else if (message.kind === 'usage') usage?.take(message.batch);
      else if (message.kind === 'reply') this.#onReply(message);
    });
    // Without a listener a channel that breaks would end the primary.
    this.#worker.on('error', () => {});
    this.gone = once(this.#worker, 'exit').then(([code, signal]) => {
      this.serves = false;
      for (const { reject } of [...this.#questions.values()]) reject(new Error(`worker ended with ${signal ?? code}`));
    });
    this.serving = this.#ask({ kind: 'serve', snapshot: toPlain(snapshot), salt: usage?.salt }, startMs).then(
      (reply) => {
        this.serves = true;
        return 'port' in reply ? reply.port : 0;
      },
    );
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  async apply(snapshot: Snapshot): Promise<void> {
    await this.serving;
    await this.#ask({ kind: 'apply', snapshot: toPlain(snapshot) }, answerMs);
  }

  async report(metrics: boolean): Promise<ServingReport> {
    return reportIn(await this.#ask({ kind: 'report', metrics }, answerMs));
  }

  async resalt(): Promise<void> {
    await this.serving;
    if (this.#usage) await this.#ask({ kind: 'resalt', salt: this.#usage.salt }, answerMs);
  }

  async reopenLogs(): Promise<void> {
    await this.#ask({ kind: 'reopen' }, answerMs);
  }

  /** Lets it finish what it has, `ms` at most, and end. `onLast` hears what it has counted by then. */
  async drain(ms: number, onLast: (report: ServingReport) => void): Promise<void> {
    onLast(reportIn(await this.#ask({ kind: 'drain', ms }, ms + partingMs)));
    await this.end(partingMs);
  }

  /** Waits for its end, and sees to it after `ms`. */
  async end(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#worker.process.kill('SIGKILL'), ms);
    await this.gone;
    clearTimeout(timer);
  }

  /** Rejects when the worker ends, refuses, or is silent for `ms`. */
  #ask(order: Unnumbered<Order>, ms: number): Promise<Reply> {
    this.#count += 1;
    const number = this.#count;
    return new Promise((resolve, reject) => {
      const stuck = new Error(`worker ${this.pid} has not answered for ${ms / 1000} s`);
      const timer = setTimeout(() => settle(() => reject(stuck)), ms);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.#questions.delete(number);
        end();
      };
      this.#questions.set(number, {
        resolve: (reply) => settle(() => resolve(reply)),
        reject: (error) => settle(() => reject(error)),
      });
      // The end of the worker answers what can no longer be sent.
      this.#worker.send({ number, ...order }, (error) => error && this.#questions.get(number)?.reject(error));
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
