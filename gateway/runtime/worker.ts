import type { SendHandle } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { HostPort, Snapshot } from '../config/snapshot.ts';
import { fromPlainInSlices, type PlainSnapshot } from '../config/transfer.ts';
import { systemClock } from '../shared/clock.ts';
import { endProcess } from '../shared/endProcess.ts';
import type { UsageBatch } from '../usage/usageRow.ts';
import { serveInProcess } from './inProcess.ts';
import type { Serving, UsageSink } from './serving.ts';
import { handleOf, listenOn } from './sharedSocket.ts';
import type { Answer, Notice, Order, Reply, Usage, WireError } from './workerMessages.ts';

export const { isWorker } = cluster;

/** Serves as the primary says, until it says drain, or is gone. */
export async function work(): Promise<void> {
  // A terminal and a service manager signal the whole group: what these mean is for the primary to decide.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const worker = new Worker();
  // The listener of node:cluster would wait for blocked threads, and leave a worker without a primary.
  process.prependOnceListener('disconnect', () => endProcess(0));
  process.on('message', (order: Order, handle: SendHandle) => void worker.obey(order, handle));
  await once(process, 'disconnect');
}

class Worker {
  #serving: Serving | undefined;
  #salt = '';
  /** The listening socket, if this worker has opened it, until the primary has it. */
  #opened: SendHandle;
  #snapshot: Snapshot | undefined;

  async obey(order: Order, handle: SendHandle): Promise<void> {
    const { number } = order;
    try {
      const answer = await this.#carryOut(order, handle);
      await tell({ kind: 'reply', number, ...answer }, this.#opened);
      this.#opened = undefined;
    } catch (error) {
      await tell({ kind: 'reply', number, error: wireError(error) });
    }
    if (order.kind === 'drain') process.disconnect?.();
  }

  async #carryOut(order: Order, handle: SendHandle): Promise<Answer> {
    if (order.kind === 'serve') {
      const notice = (line: string): void => void tell({ kind: 'notice', line });
      const take = (batch: UsageBatch): void => void tell({ kind: 'usage', batch });
      const usage = order.salt === undefined ? undefined : this.#sink(order.salt, take);
      const listen = async (server: Server, address: HostPort): Promise<void> => {
        await listenOn(handle, server, address);
        if (handle === undefined) this.#opened = handleOf(server);
      };
      const ticketKeys = Buffer.from(order.ticketKeys);
      const options = { clock: systemClock, notice, usage, logs: true, listen, ticketKeys };
      this.#serving = await serveInProcess(await this.#received(order.snapshot), options);
      return { port: this.#serving.port };
    }
    const serving = this.#serving;
    if (!serving) throw new Error(`told to ${order.kind} before it was told to serve`);
    if (order.kind === 'report') return { report: await serving.report(order.metrics) };
    if (order.kind === 'heartbeat') return { report: await serving.report() };
    if (order.kind === 'flush') await serving.flush();
    if (order.kind === 'resalt') {
      this.#salt = order.salt;
      await serving.resalt();
    }
    if (order.kind === 'reopen') await serving.reopenLogs();
    if (order.kind === 'apply') await serving.apply(await this.#received(order.snapshot));
    if (order.kind === 'drain') {
      await serving.drain(order.ms);
      await serving.close();
      // Not before: who was cut off is counted, too.
      return { report: await serving.report(true) };
    }
    return { done: true };
  }

  async #received(plain: PlainSnapshot): Promise<Snapshot> {
    this.#snapshot = await fromPlainInSlices(plain, this.#snapshot);
    return this.#snapshot;
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
function tell(message: Reply | Notice | Usage, handle?: SendHandle): Promise<void> {
  return new Promise((resolve) => {
    // The primary may be gone by now, and the process ends with it.
    if (process.connected) process.send?.(message, handle, undefined, () => resolve());
    else resolve();
  });
}

function wireError(error: unknown): WireError {
  const { message, code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  return { message, code, address, port };
}
