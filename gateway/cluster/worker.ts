import cluster from 'node:cluster';
import { once } from 'node:events';
import { fromPlain } from '../config/transfer.ts';
import { serveInProcess } from '../serving/inProcess.ts';
import type { Serving, UsageSink } from '../serving/serving.ts';
import { systemClock } from '../shared/clock.ts';
import { endProcess } from '../shared/endProcess.ts';
import type { UsageBatch } from '../usage/batch.ts';
import type { Answer, Notice, Order, Reply, Usage, WireError } from './messages.ts';

export const { isWorker } = cluster;

/** Serves as the primary says, until it says drain, or is gone. */
export async function work(): Promise<void> {
  // A terminal and a service manager signal the whole group: what these mean is for the primary to decide.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const worker = new Worker();
  // The listener of node:cluster would wait for blocked threads, and leave a worker without a primary.
  process.prependOnceListener('disconnect', () => endProcess(0));
  process.on('message', (order: Order) => void worker.obey(order));
  await once(process, 'disconnect');
}

class Worker {
  #serving: Serving | undefined;
  #salt = '';

  async obey(order: Order): Promise<void> {
    const { number } = order;
    try {
      await tell({ kind: 'reply', number, ...(await this.#carryOut(order)) });
    } catch (error) {
      await tell({ kind: 'reply', number, error: wireError(error) });
    }
    if (order.kind === 'drain') process.disconnect?.();
  }

  async #carryOut(order: Order): Promise<Answer> {
    if (order.kind === 'serve') {
      const notice = (line: string): void => void tell({ kind: 'notice', line });
      const take = (batch: UsageBatch): void => void tell({ kind: 'usage', batch });
      const usage = order.salt === undefined ? undefined : this.#sink(order.salt, take);
      const options = { clock: systemClock, notice, usage, logs: true };
      this.#serving = await serveInProcess(fromPlain(order.snapshot), options);
      return { port: this.#serving.port };
    }
    const serving = this.#serving;
    if (!serving) throw new Error(`told to ${order.kind} before it was told to serve`);
    if (order.kind === 'report') return { report: await serving.report(order.metrics) };
    if (order.kind === 'resalt') {
      this.#salt = order.salt;
      await serving.resalt();
    }
    if (order.kind === 'reopen') await serving.reopenLogs();
    if (order.kind === 'apply') await serving.apply(fromPlain(order.snapshot));
    if (order.kind === 'drain') {
      await serving.drain(order.ms);
      await serving.close();
      // Not before: who was cut off is counted, too.
      return { report: await serving.report(true) };
    }
    return { done: true };
  }

  #sink(salt: string, take: UsageSink['take']): UsageSink {
    this.#salt = salt;
    const now = (): string => this.#salt;
    return {
      get salt() {
        return now();
      },
      take,
    };
  }
}

/** Resolves when it has left: a channel that is closed before takes with it what still waits. */
function tell(message: Reply | Notice | Usage): Promise<void> {
  return new Promise((resolve) => {
    // The primary may be gone by now, and the process ends with it.
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

function wireError(error: unknown): WireError {
  const { message, code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  return { message, code, address, port };
}
