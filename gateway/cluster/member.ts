import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Snapshot } from '../config/snapshot.ts';
import { toPlain } from '../config/transfer.ts';
import type { ServingReport } from '../observability/report.ts';
import type { Notice, Order, Reply } from './messages.ts';

type Unnumbered<One> = One extends { readonly number: number } ? Omit<One, 'number'> : never;
type Question = { resolve(reply: Reply): void; reject(error: Error): void };

// How long a worker that has drained may take to end.
const partingMs = 2000;

/** A worker, as the primary sees it. */
export class Member {
  readonly since: number;
  /** Resolves with its port, once it serves. */
  readonly serving: Promise<number>;
  readonly gone: Promise<unknown>;
  readonly #worker: Worker;
  readonly #questions = new Map<number, Question>();
  #count = 0;

  /** `now`: epoch ms. */
  constructor(snapshot: Snapshot, now: number, notice: (line: string) => void) {
    this.since = now;
    this.#worker = cluster.fork();
    this.#worker.on('message', (message: Reply | Notice) => {
      if (message.kind === 'notice') notice(`worker ${this.pid}: ${message.line}`);
      else if (message.kind === 'reply') this.#onReply(message);
    });
    // Without a listener a channel that breaks would end the primary.
    this.#worker.on('error', () => {});
    this.gone = once(this.#worker, 'exit').then(([code, signal]) => {
      for (const { reject } of this.#questions.values()) reject(new Error(`worker ended with ${signal ?? code}`));
      this.#questions.clear();
    });
    this.serving = this.#ask({ kind: 'serve', snapshot: toPlain(snapshot) }).then((reply) =>
      'port' in reply ? reply.port : 0,
    );
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  async apply(snapshot: Snapshot): Promise<void> {
    await this.serving;
    await this.#ask({ kind: 'apply', snapshot: toPlain(snapshot) });
  }

  async report(): Promise<ServingReport> {
    const reply = await this.#ask({ kind: 'report' });
    return 'report' in reply ? reply.report : { versions: [], workers: [] };
  }

  /** Lets it finish what it has, `ms` at most, and end. */
  async drain(ms: number): Promise<void> {
    await this.#ask({ kind: 'drain', ms });
    await this.end(partingMs);
  }

  /** Waits for its end, and sees to it after `ms`. */
  async end(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#worker.process.kill('SIGKILL'), ms);
    await this.gone;
    clearTimeout(timer);
  }

  #ask(order: Unnumbered<Order>): Promise<Reply> {
    this.#count += 1;
    const number = this.#count;
    return new Promise((resolve, reject) => {
      this.#questions.set(number, { resolve, reject });
      // The end of the worker answers what can no longer be sent.
      this.#worker.send({ number, ...order }, (error) => error && reject(error));
    });
  }

  #onReply(reply: Reply): void {
    const question = this.#questions.get(reply.number);
    this.#questions.delete(reply.number);
    if ('error' in reply) question?.reject(Object.assign(new Error(reply.error.message), reply.error));
    else question?.resolve(reply);
  }
}
