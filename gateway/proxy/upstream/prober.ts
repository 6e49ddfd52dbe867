import type { HealthSettings } from '../../config/snapshot.ts';
import type { Endpoint } from '../../http1/connection.ts';
import type { TargetHealth } from './health.ts';
import { SingleRequest, type SingleResult } from './singleRequest.ts';

// An unexpected result is checked again soon instead of after the whole interval.
const recheckMs = 1_000;
// Share of the interval, so that several gateways do not probe at the same time.
const jitterShare = 0.1;

/** A target to probe. */
export interface ProbedTarget {
  /** Value of the Host field. */
  readonly authority: string;
  readonly probedEndpoint: Endpoint;
  readonly health: TargetHealth;
}

/** Probes one target at intervals and updates its health. */
export class Prober {
  readonly #target: ProbedTarget;
  readonly #settings: HealthSettings;
  readonly #randomNumber: () => number;
  #timer: NodeJS.Timeout | undefined;
  #probe: SingleRequest | undefined;

  constructor(target: ProbedTarget, settings: HealthSettings, randomNumber = Math.random) {
    this.#target = target;
    this.#settings = settings;
    this.#randomNumber = randomNumber;
  }

  /** Sends the first probe at once. */
  start(): void {
    const { path = '/', timeout } = this.#settings;
    const { authority, probedEndpoint } = this.#target;
    const settings = { authority, path, userAgent: 'version-gateway-health', timeout };
    this.#probe = new SingleRequest(probedEndpoint, settings, (result) => this.#onResult(result));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#probe?.cancel();
  }

  /** Whether this prober already has these settings. */
  uses({ path, interval, timeout }: HealthSettings): boolean {
    const used = this.#settings;
    return used.path === path && used.interval === interval && used.timeout === timeout;
  }

  #onResult(result: SingleResult): void {
    const { interval } = this.#settings;
    const { health } = this.#target;
    const failure = failureOf(result);
    if (result.connected) health.connected();
    else health.probeNotConnected();
    if (failure !== undefined) health.noteError(failure);
    const isUnconfirmed = health.probed(failure === undefined);
    const waitMs = isUnconfirmed ? Math.min(interval, recheckMs) : interval;
    // Between -jitterShare and +jitterShare.
    const jitter = jitterShare * (2 * this.#randomNumber() - 1);
    this.#timer = setTimeout(() => this.start(), waitMs * (1 + jitter)).unref();
  }
}

/** Why the target is not healthy, as text; undefined if it is healthy. Any 2xx or 3xx is good. */
function failureOf({ status, failure, timedOut }: SingleResult): string | undefined {
  if (timedOut) return `the probe was ${failure}`;
  if (status === undefined) return `the probe failed: ${failure}`;
  return status >= 200 && status < 400 ? undefined : `the probe was answered ${status}`;
}
