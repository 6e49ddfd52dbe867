import type { HealthSettings } from '../config/snapshot.ts';
import type { TargetError } from '../observability/report.ts';
import type { Changes } from './changes.ts';

// Whoever repairs a target waits for it, and should not have to wait longer than this.
const longestEjection = 5 * 60_000;
// A refused connection leaves no doubt as a slow answer does; one may still be a restart.
const mostUnreached = 2;

type Thresholds = Pick<HealthSettings, 'passiveFailures' | 'eject' | 'healthyAfter' | 'unhealthyAfter'>;

export type HealthState = 'healthy' | 'unhealthy' | 'ejected';

/** What a target's requests and probes say about it. */
export class Health {
  /** There is something that a success would reset: the one thing that a request without a failure has to ask. */
  // At first, that nobody has reached it yet.
  troubled = true;
  /** False since a connection to it failed, true since one stood; undefined: nobody has tried. */
  reachable: boolean | undefined;
  /** Of two that are ejected, the one with the lower rank has been so for longer. */
  rank = 0;
  /** Epoch ms; undefined while it is not ejected. */
  ejectedUntil: number | undefined;
  /** How often it was ejected since the start. */
  ejections = 0;
  /** Of a request or a probe, whatever came after it. */
  lastError: TargetError | undefined;
  readonly #changes: Changes;
  #settings: Thresholds | undefined;
  // In no pool is there another one to take its place: then it is never ejected.
  #alone = true;
  #failures = 0;
  #unreached = 0;
  #ejections = 0;
  #timer: NodeJS.Timeout | undefined;
  // Until probes say otherwise.
  #passing = true;
  #contrary = 0;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** Nobody is taken out before this. `alone`: in no pool is there another target. */
  configure(settings: Thresholds, alone: boolean): void {
    this.#settings = settings;
    this.#alone = alone;
    if (alone) this.#readmit();
  }

  get state(): HealthState {
    if (!this.#passing) return 'unhealthy';
    return this.ejectedUntil === undefined ? 'healthy' : 'ejected';
  }

  /** What just went wrong, for people. */
  note(message: string): void {
    this.lastError = { message, at: Date.now() };
  }

  /** A request failed, and it was the target's fault; `unreached`: there was no connection. */
  failed(unreached: boolean, cause = 'a request failed'): void {
    this.note(cause);
    this.troubled = true;
    if (unreached) this.reachable = false;
    // Those that were sent before it was ejected tell nothing new.
    if (this.ejectedUntil !== undefined || !this.#settings) return;
    this.#failures += 1;
    if (unreached) this.#unreached += 1;
    const { passiveFailures, eject } = this.#settings;
    const enough = this.#failures >= passiveFailures || this.#unreached >= mostUnreached || this.#ejections > 0;
    if (enough && !this.#alone) this.#eject(eject);
  }

  /** A probe has found no connection. */
  unreached(): void {
    this.troubled = true;
    this.reachable = false;
  }

  /** A connection stands. */
  connected(): void {
    this.reachable = true;
    this.#unreached = 0;
  }

  /** The head of a response has arrived, whatever its status. */
  succeeded(): void {
    this.connected();
    this.troubled = false;
    this.#failures = 0;
    this.#ejections = 0;
    this.#readmit();
  }

  /** True when the result is not what was known: the next probe tells more. */
  probed(good: boolean): boolean {
    // The probe vouches for no more than itself: the next failure ejects again.
    if (good) this.#readmit();
    if (good === this.#passing) {
      this.#contrary = 0;
      return false;
    }
    this.#contrary += 1;
    const { healthyAfter = 1, unhealthyAfter = 1 } = this.#settings ?? {};
    if (this.#contrary < (good ? healthyAfter : unhealthyAfter)) return true;
    this.#flip(good);
    return false;
  }

  /** Nobody probes it any more: what the last probes said is not held against it. */
  forgetProbes(): void {
    this.#contrary = 0;
    if (!this.#passing) this.#flip(true);
  }

  /** No timer is left. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #flip(passing: boolean): void {
    this.#passing = passing;
    this.#contrary = 0;
    this.#changes.count += 1;
  }

  #eject(eject: number): void {
    const ms = Math.min(eject * 2 ** this.#ejections, Math.max(eject, longestEjection));
    this.#ejections += 1;
    this.ejections += 1;
    this.ejectedUntil = Date.now() + ms;
    this.#timer = setTimeout(() => this.#readmit(), ms).unref();
    this.#changes.count += 1;
    this.rank = this.#changes.count;
  }

  #readmit(): void {
    if (this.ejectedUntil === undefined) return;
    clearTimeout(this.#timer);
    this.ejectedUntil = undefined;
    this.#changes.count += 1;
  }
}
