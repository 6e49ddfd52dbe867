import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import type { ServingReport } from '../observability/report.ts';
import { BackOff } from './backOff.ts';
import type { ServeOptions, Serving } from './serving.ts';
import type { SharedSocket } from './sharedSocket.ts';
import { WorkerHandle } from './workerHandle.ts';
import { Records } from './workerTotals.ts';

const heartbeatMs = 1000;

/**
 * Several processes that serve the same snapshot and accept from one listening socket, which the primary keeps open: a
 * worker can come and go without a connection being refused. The primary does not hand connections out itself: one that
 * is on its way to a worker that dies would hang for ever.
 */
export class WorkerPool implements Serving {
  readonly #options: ServeOptions;
  readonly #backOff = new BackOff();
  readonly #members = new Set<WorkerHandle>();
  readonly #dismissed = new WeakSet<WorkerHandle>();
  readonly #records = new Records();
  readonly #ticketKeys = randomBytes(48);
  #socket: Promise<SharedSocket> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #snapshot: Snapshot;
  #ending = false;
  /** Workers are being replaced although they live. */
  #replacing = false;
  port = 0;

  constructor(snapshot: Snapshot, options: ServeOptions) {
    this.#snapshot = snapshot;
    this.#options = options;
    cluster.setupPrimary({ serialization: 'advanced' });
  }

  get ready(): boolean {
    return (
      !this.#ending &&
      [...this.#members].some(({ serves, unresponsiveSince }) => serves && unresponsiveSince === undefined)
    );
  }

  /** @throws what keeps a worker from listening */
  async begin(size: number): Promise<void> {
    const first = Array.from({ length: size }, () => this.#fork());
    try {
      [this.port = 0] = await Promise.all(first.map(({ serving }) => serving));
    } catch (error) {
      await this.close();
      throw error;
    }
    for (const member of first) this.#replaceWhenGone(member);
    this.#heartbeat = setInterval(() => this.#look(), heartbeatMs).unref();
  }

  async apply(snapshot: Snapshot): Promise<readonly string[]> {
    // What was listened with at the start counts for whoever comes later, too.
    const { listen, tls } = this.#snapshot.gateway;
    this.#snapshot = { ...snapshot, gateway: { ...snapshot.gateway, listen, tls } };
    const unconfirmed = [...this.#members].map(async (member) => {
      try {
        await member.apply(this.#snapshot);
      } catch (error) {
        // One that has ended is replaced by one that begins with this snapshot.
        if (member.serves) return [`worker ${member.pid} has not confirmed it: ${(error as Error).message}`];
      }
      return [];
    });
    return (await Promise.all(unconfirmed)).flat();
  }

  report(metrics = false): Promise<ServingReport> {
    const reports = [...this.#members].map((member) => member.report(metrics));
    return this.#records.sum(reports, metrics);
  }

  async flush(): Promise<boolean> {
    const answers = await Promise.allSettled([...this.#members].map((member) => member.flush()));
    return answers.every(({ status }) => status === 'fulfilled');
  }

  async resalt(): Promise<void> {
    await Promise.allSettled([...this.#members].map((member) => member.resalt()));
  }

  async reopenLogs(): Promise<void> {
    await Promise.allSettled([...this.#members].map((member) => member.reopenLogs()));
  }

  /** Replaces the workers one by one, each after its successor serves. */
  async roll(): Promise<void> {
    const { notice } = this.#options;
    if (this.#ending) return;
    if (this.#replacing) {
      notice('SIGUSR2 is ignored: workers are being replaced already');
      return;
    }
    this.#replacing = true;
    notice(`rolling restart of ${this.#members.size} workers`);
    try {
      for (const old of [...this.#members]) await this.#succeed(old);
      if (!this.#ending) notice(`rolling restart done: ${[...this.#members].map(({ pid }) => pid).join(', ')}`);
    } catch (error) {
      notice(`rolling restart stopped, the others serve on: ${(error as Error).message}`);
    } finally {
      this.#replacing = false;
    }
  }

  async drain(ms: number): Promise<void> {
    await this.#end();
    await Promise.all([...this.#members].map((member) => this.#dismiss(member, ms)));
  }

  async close(): Promise<void> {
    await this.#end();
    await Promise.all([...this.#members].map((member) => member.end(0)));
  }

  /** From now on connections are refused, as soon as no worker listens either. */
  async #end(): Promise<void> {
    this.#ending = true;
    clearInterval(this.#heartbeat);
    const socket = await this.#socket?.catch(() => undefined);
    this.#socket = undefined;
    if (socket?.handle && 'close' in socket.handle) socket.handle.close();
  }

  #look(): void {
    const limit = this.#snapshot.gateway.workerTimeout;
    for (const member of this.#members) {
      const unanswered = member.heartbeat();
      if (limit > 0 && unanswered * heartbeatMs >= limit) void this.#replaceUnresponsive(member);
    }
  }

  /**
   * Kills it only after its successor serves: on a machine so busy that no process starts in time, the worker is more likely
   * slow than stuck, and its requests are worth more than another process.
   */
  async #replaceUnresponsive(member: WorkerHandle): Promise<void> {
    if (this.#replacing || this.#dismissed.has(member)) return;
    this.#replacing = true;
    try {
      await this.#succeed(member);
    } catch (error) {
      this.#options.notice(`worker ${member.pid} is not replaced yet: ${(error as Error).message}`);
      await sleep(this.#backOff.after(0), undefined, { ref: false });
    } finally {
      this.#replacing = false;
    }
  }

  /** Puts another worker in the place of `old`. @throws what keeps it from serving */
  async #succeed(old: WorkerHandle): Promise<void> {
    // Dead in the meantime, and replaced; or the gateway is about to stop.
    if (this.#ending || !this.#members.has(old)) return;
    // Should it die first, its successor is on its way already.
    this.#dismissed.add(old);
    const next = this.#fork();
    try {
      await next.serving;
    } catch (error) {
      await next.end(0);
      if (this.#members.has(old)) this.#dismissed.delete(old);
      else this.#replace(old);
      throw error;
    }
    this.#replaceWhenGone(next);
    if (this.#ending) return;
    if (old.unresponsiveSince === undefined) await this.#dismiss(old, this.#snapshot.gateway.drain);
    else await this.#kill(old, old.unresponsiveSince);
  }

  async #kill(member: WorkerHandle, unresponsiveSince: number): Promise<void> {
    const { clock, notice } = this.#options;
    const seconds = Math.round((clock.now() - unresponsiveSince) / 1000);
    notice(
      `worker ${member.pid} has not answered for ${seconds} s and is replaced.  It had ${member.inFlight} requests in flight; what it counted in its last seconds is lost.`,
    );
    await member.end(0);
  }

  #fork(): WorkerHandle {
    const first = { handle: undefined, ticketKeys: this.#ticketKeys };
    const member = new WorkerHandle(this.#snapshot, this.#options, this.#socket ?? first);
    // Those that follow wait for the socket of the first one.
    this.#socket ??= member.serving.then(() => ({ handle: member.socket, ticketKeys: this.#ticketKeys }));
    this.#socket.catch(() => {});
    this.#members.add(member);
    void member.gone.then(() => this.#members.delete(member));
    // Whoever started it asks for it, too; until then nobody may.
    member.serving.catch(() => {});
    return member;
  }

  /** A worker that is sent away is not missed. */
  async #dismiss(member: WorkerHandle, ms: number): Promise<void> {
    this.#dismissed.add(member);
    await member.drain(ms, (last) => this.#records.close(last)).catch(() => member.end(0));
  }

  #replaceWhenGone(member: WorkerHandle): void {
    void member.gone.then(() => {
      if (!this.#dismissed.has(member)) this.#replace(member);
    });
  }

  #replace(member: WorkerHandle): void {
    if (this.#ending) return;
    const { clock, notice } = this.#options;
    const delay = this.#backOff.after(clock.now() - member.since);
    notice(`worker ${member.pid} has died; another one follows${delay === 0 ? '' : ` in ${delay} ms`}`);
    setTimeout(() => {
      if (this.#ending) return;
      const next = this.#fork();
      this.#replaceWhenGone(next);
      next.serving.catch((error: Error) => {
        notice(`worker ${next.pid} cannot serve: ${error.message}`);
        void next.end(0);
      });
    }, delay).unref();
  }
}
