import type { HealthSettings } from '../config/snapshot.ts';
import type { Health } from './health.ts';
import { type Probed, probe } from './probe.ts';

// A result that is news is confirmed, or not, without waiting for the whole interval.
const soonMs = 1_000;
// Of the interval, so that many gateways do not ask in step.
const jitter = 0.1;

/** Probes one target at intervals, and tells its health. */
export class Prober {
  readonly #target: Probed & { readonly health: Health };
  readonly #settings: HealthSettings;
  readonly #stop = new AbortController();
  readonly #chance: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(target: Probed & { readonly health: Health }, settings: HealthSettings, chance = Math.random) {
    this.#target = target;
    this.#settings = settings;
    this.#chance = chance;
  }

  /** The first probe goes out at once. */
  start(): void {
    void this.#probe();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  /** Whether it probes as these settings say. */
  does({ path, interval, timeout }: HealthSettings): boolean {
    const { path: ours, interval: every, timeout: within } = this.#settings;
    return path === ours && interval === every && timeout === within;
  }

  async #probe(): Promise<void> {
    const { path, interval, timeout } = this.#settings;
    const { signal } = this.#stop;
    const { good, connected, cause } = await probe(this.#target, path ?? '/', timeout, signal);
    if (signal.aborted) return;
    const { health } = this.#target;
    if (connected) health.connected();
    else health.unreached();
    if (cause !== undefined) health.note(cause);
    const news = health.probed(good);
    const wait = (news ? Math.min(interval, soonMs) : interval) * (1 + jitter * (2 * this.#chance() - 1));
    this.#timer = setTimeout(() => void this.#probe(), wait).unref();
  }
}
