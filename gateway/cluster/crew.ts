import cluster from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import { addUp, type ServingReport } from '../observability/report.ts';
import type { ServeOptions, Serving } from '../serving/serving.ts';
import { BackOff } from './backOff.ts';
import { Member } from './member.ts';

/**
 * Several processes that serve the same snapshot and accept from one listening socket, which the primary keeps open: a
 * worker can come and go without a connection being refused. The primary does not hand connections out itself
 * (SCHED_RR): one that is on its way to a worker that dies would hang for ever.
 */
export class Crew implements Serving {
  readonly #size: number;
  readonly #options: ServeOptions;
  readonly #backOff = new BackOff();
  readonly #members = new Set<Member>();
  readonly #dismissed = new WeakSet<Member>();
  // What those who are gone have served.
  #past: ServingReport = { versions: [], workers: [] };
  #snapshot: Snapshot;
  #ending = false;
  #rolling = false;
  port = 0;

  constructor(snapshot: Snapshot, size: number, options: ServeOptions) {
    this.#snapshot = snapshot;
    this.#size = size;
    this.#options = options;
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ serialization: 'advanced' });
  }

  get ready(): boolean {
    return !this.#ending && this.#members.size > 0;
  }

  /** @throws what keeps a worker from listening */
  async begin(): Promise<void> {
    const first = Array.from({ length: this.#size }, () => this.#fork());
    try {
      const ports = await Promise.all(first.map(({ serving }) => serving));
      this.port = ports[0] ?? 0;
    } catch (error) {
      await this.close();
      throw error;
    }
    for (const member of first) this.#replaceWhenGone(member);
  }

  async apply(snapshot: Snapshot): Promise<void> {
    this.#snapshot = snapshot;
    // Who dies in between is replaced by one that begins with this snapshot.
    await Promise.allSettled([...this.#members].map((member) => member.apply(snapshot)));
  }

  async report(): Promise<ServingReport> {
    const reports = await Promise.allSettled([...this.#members].map((member) => member.report()));
    const present = reports.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const sum = addUp([...present, this.#past]);
    this.#past = {
      versions: sum.versions.map((one) => ({ ...one, inFlight: 0, waiting: 0, targets: [] })),
      workers: [],
    };
    return sum;
  }

  /** Replaces the workers one by one, each after its successor serves. */
  async roll(): Promise<void> {
    const { notice } = this.#options;
    if (this.#rolling || this.#ending) return;
    this.#rolling = true;
    notice(`rolling restart of ${this.#members.size} workers`);
    for (const old of [...this.#members]) {
      // Dead in the meantime, and replaced.
      if (!this.#members.has(old)) continue;
      const next = this.#fork();
      try {
        await next.serving;
      } catch (error) {
        notice(`rolling restart stopped, the others serve on: ${(error as Error).message}`);
        await this.#dismiss(next, 0);
        break;
      }
      this.#replaceWhenGone(next);
      await this.#dismiss(old, this.#snapshot.gateway.drain);
    }
    this.#rolling = false;
    if (!this.#ending) notice(`rolling restart done: ${[...this.#members].map(({ pid }) => pid).join(', ')}`);
  }

  async drain(ms: number): Promise<void> {
    this.#ending = true;
    await Promise.all([...this.#members].map((member) => this.#dismiss(member, ms)));
  }

  async close(): Promise<void> {
    this.#ending = true;
    await Promise.all([...this.#members].map((member) => member.end(0)));
  }

  #fork(): Member {
    const member = new Member(this.#snapshot, this.#options.clock.now(), this.#options.notice);
    this.#members.add(member);
    void member.gone.then(() => this.#members.delete(member));
    // Whoever started it asks for it, too; until then nobody may.
    member.serving.catch(() => {});
    return member;
  }

  /** A worker that is sent away is not missed. */
  async #dismiss(member: Member, ms: number): Promise<void> {
    this.#dismissed.add(member);
    await member.drain(ms).catch(() => member.end(0));
  }

  #replaceWhenGone(member: Member): void {
    void member.gone.then(async () => {
      if (this.#ending || this.#dismissed.has(member)) return;
      const { clock, notice } = this.#options;
      const delay = this.#backOff.after(clock.now() - member.since);
      notice(`worker ${member.pid} has died; another one follows${delay === 0 ? '' : ` in ${delay} ms`}`);
      await setTimeout(delay, undefined, { ref: false });
      if (!this.#ending) this.#replaceWhenGone(this.#fork());
    });
  }
}
