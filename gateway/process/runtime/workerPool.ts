import type { SendHandle } from 'node:child_process';
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Snapshot } from '../../config/snapshot.ts';
import { newTicketKeys } from '../../proxy/pipeline/certificate.ts';
import { mergeRouteAnswers } from '../../usage/evidence/missingRoutes.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { ServeOptions, Serving } from './serving.ts';
import { WorkerHandle } from './workerHandle.ts';
import { WorkerTotals } from './workerTotals.ts';

const heartbeatIntervalMs = 1000;

/**
 * Several processes that serve the same snapshot and accept from one listening socket. The primary keeps the socket open, so
 * workers can exit and start without refused connections. The primary does not distribute connections itself: a connection
 * that is sent to a dying worker would hang for ever.
 */
export class WorkerPool implements Serving {
  readonly #options: ServeOptions;
  readonly #backOff = new BackOff();
  readonly #workers = new Set<WorkerHandle>();
  /** Workers that were asked to exit, so that their exit starts no replacement. */
  readonly #leaving = new WeakSet<WorkerHandle>();
  readonly #totals = new WorkerTotals();
  #ticketKeys = newTicketKeys();
  /** The listener settings of the start. All workers use them, also after a reload. A reload changes only `tls.hsts`. */
  readonly #listenerSettings: Pick<Snapshot['gateway'], 'listen' | 'tls'>;
  /**
   * The listening socket of all workers. The first worker opens it. From then on the primary holds it without accepting:
   * while no worker runs, the kernel queues connections instead of refusing them.
   */
  #socket: Promise<SendHandle> | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #current: Snapshot;
  #restrictions: ServeOptions['restrictions'];
  /** The numbers under which running workers mark their calls. */
  readonly #markingProcesses = new Set<number>();
  #isEnding = false;
  /** A rolling restart or the replacement of an unresponsive worker is running. */
  #isReplacing = false;
  port = 0;

  constructor(snapshot: Snapshot, options: ServeOptions) {
    const { listen, tls } = snapshot.gateway;
    this.#listenerSettings = { listen, tls };
    this.#current = snapshot;
    this.#options = options;
    this.#restrictions = options.restrictions;
    cluster.setupPrimary({ serialization: 'advanced' });
  }

  get current(): Snapshot {
    return this.#current;
  }

  get ready(): boolean {
    return (
      !this.#isEnding &&
      [...this.#workers].some(({ isServing, unresponsiveSince }) => isServing && unresponsiveSince === undefined)
    );
  }

  /** @throws the error that keeps a worker from listening */
  async start(size: number): Promise<void> {
    const initialWorkers = Array.from({ length: size }, () => this.#startWorker());
    try {
      const [port = 0] = await Promise.all(initialWorkers.map(({ started }) => started));
      this.port = port;
    } catch (error) {
      await this.close();
      throw error;
    }
    for (const worker of initialWorkers) this.#replaceOnExit(worker);
    this.#heartbeatTimer = setInterval(() => this.#sendHeartbeats(), heartbeatIntervalMs).unref();
  }

  async apply(snapshot: Snapshot): Promise<readonly string[]> {
    this.#current = snapshot;
    const problems = [...this.#workers].map(async (worker) => {
      try {
        await worker.apply(this.#snapshotForWorkers());
      } catch (error) {
        // A worker that has exited is replaced by one that starts with this snapshot.
        if (worker.isServing) return [`worker ${worker.pid} has not confirmed it: ${(error as Error).message}`];
      }
      return [];
    });
    return (await Promise.all(problems)).flat();
  }

  report(content = { withMetrics: false }): Promise<ServingReport> {
    const reports = [...this.#workers].map((worker) => worker.report(content));
    return this.#totals.merge(reports, content.withMetrics);
  }

  async flush(): Promise<boolean> {
    const answers = await Promise.allSettled([...this.#workers].map((worker) => worker.flush()));
    return answers.every(({ status }) => status === 'fulfilled');
  }

  async resalt(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.resalt()));
  }

  async rekey(ticketKeys: Buffer): Promise<void> {
    this.#ticketKeys = ticketKeys;
    await Promise.allSettled([...this.#workers].map((worker) => worker.rekey(ticketKeys)));
  }

  async restrict(update: ServeOptions['restrictions']): Promise<void> {
    this.#restrictions = { ...this.#restrictions, ...update };
    await Promise.allSettled([...this.#workers].map((worker) => worker.restrict(update)));
  }

  async reopenLogs(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.reopenLogs()));
  }

  /** Replaces the workers one by one, each after its successor serves. */
  async rollingRestart(): Promise<void> {
    const { notice } = this.#options;
    if (this.#isEnding) return;
    if (this.#isReplacing) {
      notice('SIGUSR2 is ignored: workers are already being replaced');
      return;
    }
    this.#isReplacing = true;
    notice(`rolling restart of ${this.#workers.size} workers`);
    try {
      for (const old of [...this.#workers]) await this.#replaceRunning(old);
      if (!this.#isEnding) notice(`rolling restart done: ${[...this.#workers].map(({ pid }) => pid).join(', ')}`);
    } catch (error) {
      notice(`rolling restart stopped, the other workers keep running: ${(error as Error).message}`);
    } finally {
      this.#isReplacing = false;
    }
  }

  async drain(ms: number): Promise<void> {
    await this.#closeSocket();
    await Promise.all([...this.#workers].map((worker) => this.#drainWorker(worker, ms)));
  }

  async close(): Promise<void> {
    await this.#closeSocket();
    await Promise.all([...this.#workers].map((worker) => worker.end(0)));
  }

  /** After this, connections are refused as soon as no worker listens. */
  async #closeSocket(): Promise<void> {
    this.#isEnding = true;
    clearInterval(this.#heartbeatTimer);
    const socket = await this.#socket?.catch(() => undefined);
    this.#socket = undefined;
    if (socket && 'close' in socket) socket.close();
  }

  /** The current snapshot with the listener of the start, because all workers share one socket and one certificate. */
  #snapshotForWorkers(): Snapshot {
    const { gateway } = this.#current;
    const { listen, tls } = this.#listenerSettings;
    const hsts = gateway.tls?.hsts === true;
    return { ...this.#current, written: undefined, gateway: { ...gateway, listen, tls: tls && { ...tls, hsts } } };
  }

  #sendHeartbeats(): void {
    const limitMs = this.#current.gateway.workerTimeout;
    for (const worker of this.#workers) {
      const intervalsWithoutAnswer = worker.heartbeat();
      if (limitMs > 0 && intervalsWithoutAnswer * heartbeatIntervalMs >= limitMs)
        void this.#replaceUnresponsive(worker);
    }
  }

  /**
   * Kills the worker only after its successor serves. If the machine is too busy to start a process in time, the worker is
   * probably slow and not stuck, and killing it would only lose its requests.
   */
  async #replaceUnresponsive(worker: WorkerHandle): Promise<void> {
    if (this.#isReplacing || this.#leaving.has(worker)) return;
    this.#isReplacing = true;
    try {
      await this.#replaceRunning(worker);
    } catch (error) {
      this.#options.notice(`worker ${worker.pid} is not replaced yet: ${(error as Error).message}`);
      // An uptime of 0: the failed start counts as a quick exit.
      await sleep(this.#backOff.delayAfter(0), undefined, { ref: false });
    } finally {
      this.#isReplacing = false;
    }
  }

  /** Starts a successor of `old`, then ends `old`. @throws the error that keeps the successor from serving */
  async #replaceRunning(old: WorkerHandle): Promise<void> {
    // The old worker may have exited and been replaced in the meantime, or the gateway stops.
    if (this.#isEnding || !this.#workers.has(old)) return;
    // If the old worker exits before its successor serves, no second successor is needed.
    this.#leaving.add(old);
    const successor = this.#startWorker();
    try {
      await successor.started;
    } catch (error) {
      await successor.end(0);
      if (this.#workers.has(old)) this.#leaving.delete(old);
      else this.#replaceExited(old);
      throw error;
    }
    this.#replaceOnExit(successor);
    if (this.#isEnding) return;
    if (old.unresponsiveSince === undefined) await this.#drainWorker(old, this.#current.gateway.drain);
    else await this.#killUnresponsive(old, old.unresponsiveSince);
  }

  async #killUnresponsive(worker: WorkerHandle, since: number): Promise<void> {
    const { clock, notice } = this.#options;
    const seconds = Math.round((clock.now() - since) / 1000);
    notice(
      `worker ${worker.pid} has not answered for ${seconds} s and is replaced.  It had ${worker.inFlight} requests in flight; its counts of the last seconds are lost.`,
    );
    await worker.end(0);
  }

  #startWorker(): WorkerHandle {
    const sharedState = () => ({ ticketKeys: this.#ticketKeys, restrictions: this.#restrictions });
    const process = this.#freeProcessNumber();
    this.#markingProcesses.add(process);
    const worker = new WorkerHandle(this.#snapshotForWorkers(), this.#options, this.#socket, sharedState, process);
    // Later workers wait for the socket of the first one.
    this.#socket ??= worker.started.then(() => worker.socket);
    this.#socket.catch(() => {});
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      this.#markingProcesses.delete(process);
    });
    // A rejection is marked as handled here. The caller awaits the promise later.
    worker.started.catch(() => {});
    return worker;
  }

  #freeProcessNumber(): number {
    let process = 0;
    while (this.#markingProcesses.has(process)) process += 1;
    return process;
  }

  async #drainWorker(worker: WorkerHandle, ms: number): Promise<void> {
    this.#leaving.add(worker);
    const onFinal = (report: ServingReport): void => {
      this.#totals.addFinal(report);
      this.#passOn(report);
    };
    await worker.drain(ms, onFinal).catch(() => worker.end(0));
  }

  /** Tells the other workers what a worker that ends has observed. It may be the only one that knows. */
  #passOn({ routeAnswers }: ServingReport): void {
    if (routeAnswers === undefined || this.#isEnding) return;
    const known = this.#restrictions?.routeAnswers;
    void this.restrict({ routeAnswers: mergeRouteAnswers(known ? [known, routeAnswers] : [routeAnswers]) });
  }

  #replaceOnExit(worker: WorkerHandle): void {
    void worker.exited.then(() => {
      if (!this.#leaving.has(worker)) this.#replaceExited(worker);
    });
  }

  #replaceExited(worker: WorkerHandle): void {
    if (this.#isEnding) return;
    const { clock, notice } = this.#options;
    const delay = this.#backOff.delayAfter(clock.now() - worker.since);
    const event = worker.pid === 0 ? 'a worker is started' : `${worker.label} has died and is replaced`;
    notice(`${event}${delay === 0 ? '' : ` in ${delay} ms`}`);
    setTimeout(() => {
      if (this.#isEnding) return;
      const successor = this.#startWorker();
      this.#replaceOnExit(successor);
      successor.started.catch((error: Error) => {
        notice(`${successor.label} cannot serve: ${error.message}`);
        void successor.end(0);
      });
    }, delay).unref();
  }
}

const firstDelayMs = 100;
const maxDelayMs = 10_000;
// A worker that ran this long did not fail because of its start.
const stableMs = 10_000;

/** The delay before a worker is started again. It doubles with every quick exit in a row. */
export class BackOff {
  #quickExits = 0;

  /** The delay in ms after the exit of a worker that ran for `uptimeMs`. */
  delayAfter(uptimeMs: number): number {
    this.#quickExits = uptimeMs >= stableMs ? 0 : this.#quickExits + 1;
    return this.#quickExits === 0 ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (this.#quickExits - 1));
  }
}
