import type { HealthSettings } from '../../config/snapshot.ts';
import { earliest, latest, type ObservedHealth, observedHealth } from '../../usage/evidence/targetHealth.ts';
import type { TargetError } from '../../usage/observability/report.ts';

// An operator who repairs a target should not wait longer than this for it to be used again.
const maxEjectionMs = 5 * 60_000;
// A failed connection attempt is a clearer sign than a slow answer. A single one may be caused by a restart.
const ejectAfterFailedConnects = 2;

type Thresholds = Pick<HealthSettings, 'passiveFailures' | 'eject' | 'healthyAfter' | 'unhealthyAfter'>;

/**
 * Whether requests are sent to a target. Unlike `ObservedHealth`, it says nothing about contacts: a target that was never contacted is
 * available, and so is a failing one that is alone in its pools.
 */
export type Availability = 'available' | 'fails probes' | 'ejected';

/** The first and the latest failed contact since the last success, monotonic ms. */
interface FailedContacts {
  readonly since: number;
  readonly last: number;
}

function withFailureNow(earlier: FailedContacts | undefined): FailedContacts {
  const now = performance.now();
  return { since: earlier?.since ?? now, last: now };
}

/** Counts the health changes of all targets, so that a pool filters its targets again only after a change. */
export interface HealthChanges {
  count: number;
}

/** The health of a target: passive, from failed requests, and active, from probes. */
export class TargetHealth {
  /**
   * Whether a success would change the state of this object. Requests that succeed check only this. True until the first
   * success.
   */
  awaitsSuccess = true;
  /** False after a failed connection attempt, true after a successful one, undefined before the first. */
  reachable: boolean | undefined;
  /** When a response head last arrived, or a probe last passed: monotonic ms, from `performance.now()`. Undefined: never. */
  answeredAt: number | undefined;
  /** Order of ejections: the target with the lower number was ejected earlier. */
  ejectionOrder = 0;
  /** Epoch ms; undefined: not ejected. */
  ejectedUntil: number | undefined;
  /** Ejections since the start. */
  ejections = 0;
  /** The latest error of a request or probe. It is kept after later successes. */
  lastError: TargetError | undefined;
  readonly #changes: HealthChanges;
  #settings: Thresholds | undefined;
  // The target is alone in each of its pools. Such a target is never ejected.
  #isOnlyTarget = true;
  // Failures, failed connections and ejections since the last success.
  #failures = 0;
  #failedConnects = 0;
  #recentEjections = 0;
  #timer: NodeJS.Timeout | undefined;
  // The requests and the probes that failed since the last success.
  #failedRequests: FailedContacts | undefined;
  #failedProbes: FailedContacts | undefined;
  #passesProbes = true;
  // Probes in a row whose result differs from `#passesProbes`.
  #contraryProbes = 0;

  constructor(changes: HealthChanges) {
    this.#changes = changes;
  }

  /** Until this is called, the target is never ejected. `isOnlyTarget`: it is alone in each of its pools. */
  configure(settings: Thresholds, isOnlyTarget: boolean): void {
    this.#settings = settings;
    this.#isOnlyTarget = isOnlyTarget;
    if (isOnlyTarget) this.#readmit();
  }

  get availability(): Availability {
    if (!this.#passesProbes) return 'fails probes';
    return this.ejectedUntil === undefined ? 'available' : 'ejected';
  }

  /** What the contacts with the target have shown. */
  observed(): ObservedHealth {
    // Monotonic times are converted here, so that a clock that was set does not change their order.
    const offset = Date.now() - performance.now();
    const instant = (at: number | undefined): number | undefined => (at === undefined ? at : Math.round(offset + at));
    return observedHealth({
      reachable: this.reachable,
      failsProbes: !this.#passesProbes,
      ejectedUntil: this.ejectedUntil,
      failingSince: instant(earliest(this.#failedRequests?.since, this.#failedProbes?.since)),
      lastFailure: instant(latest(this.#failedRequests?.last, this.#failedProbes?.last)),
      lastSuccess: instant(this.answeredAt),
    });
  }

  /** Keeps the text of an error for the status. */
  noteError(message: string): void {
    this.lastError = { message, at: Date.now() };
  }

  /** A request failed because of the target. `neverConnected`: no connection was made. */
  failed(neverConnected: boolean, cause = 'a request failed'): void {
    this.noteError(cause);
    this.awaitsSuccess = true;
    this.#failedRequests = withFailureNow(this.#failedRequests);
    if (neverConnected) this.reachable = false;
    // A request that fails during an ejection was sent before it, and is not counted.
    if (this.ejectedUntil !== undefined || !this.#settings) return;
    this.#failures += 1;
    if (neverConnected) this.#failedConnects += 1;
    const { passiveFailures, eject } = this.#settings;
    const isOverThreshold =
      this.#failures >= passiveFailures ||
      this.#failedConnects >= ejectAfterFailedConnects ||
      this.#recentEjections > 0;
    if (isOverThreshold && !this.#isOnlyTarget) this.#eject(eject);
  }

  /** A probe could not connect. */
  probeNotConnected(): void {
    this.reachable = false;
  }

  /** A connection was made. That is not a success yet: the target may not answer. */
  connected(): void {
    this.reachable = true;
    this.#failedConnects = 0;
  }

  /** A response head arrived, with any status. The caller has set `answeredAt`. */
  succeeded(): void {
    this.connected();
    this.awaitsSuccess = false;
    this.#endFailing();
    this.#failures = 0;
    this.#recentEjections = 0;
    this.#readmit();
  }

  /** Returns true if the result differs from the known state and is not yet confirmed by enough probes. */
  probed(passed: boolean): boolean {
    // `#recentEjections` stays: the next failed request ejects the target again at once.
    if (passed) this.#readmit();
    const isUnconfirmed = !this.#isConfirmed(passed);
    if (passed) {
      this.answeredAt = performance.now();
      this.#endFailing();
    } else {
      this.awaitsSuccess = true;
      this.#failedProbes = withFailureNow(this.#failedProbes);
    }
    return isUnconfirmed;
  }

  #isConfirmed(passed: boolean): boolean {
    if (passed === this.#passesProbes) {
      this.#contraryProbes = 0;
      return true;
    }
    this.#contraryProbes += 1;
    const { healthyAfter = 1, unhealthyAfter = 1 } = this.#settings ?? {};
    if (this.#contraryProbes < (passed ? healthyAfter : unhealthyAfter)) return false;
    this.#setPassing(passed);
    return true;
  }

  /** Probing has ended: results of earlier probes no longer count. */
  forgetProbes(): void {
    this.#contraryProbes = 0;
    this.#failedProbes = undefined;
    if (!this.#passesProbes) this.#setPassing(true);
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** A target that fails its probes is failing until they pass, even if requests are answered. */
  #endFailing(): void {
    this.#failedRequests = undefined;
    if (this.#passesProbes) this.#failedProbes = undefined;
  }

  #setPassing(passing: boolean): void {
    this.#passesProbes = passing;
    this.#contraryProbes = 0;
    this.#changes.count += 1;
  }

  #eject(firstMs: number): void {
    const ms = Math.min(firstMs * 2 ** this.#recentEjections, Math.max(firstMs, maxEjectionMs));
    this.#recentEjections += 1;
    this.ejections += 1;
    this.ejectedUntil = Date.now() + ms;
    this.#timer = setTimeout(() => this.#readmit(), ms).unref();
    this.#changes.count += 1;
    this.ejectionOrder = this.#changes.count;
  }

  #readmit(): void {
    if (this.ejectedUntil === undefined) return;
    clearTimeout(this.#timer);
    this.ejectedUntil = undefined;
    this.#changes.count += 1;
  }
}
