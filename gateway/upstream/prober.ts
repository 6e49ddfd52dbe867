import type { HealthSettings } from '../config/snapshot.ts';
import { Connection, type Endpoint } from '../http1/connection.ts';
import { type ResponseHead, ResponseHeads } from '../http1/responseHead.ts';
import type { ResponseHandler } from '../http1/responseReader.ts';
import type { TargetHealth } from './health.ts';

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
  #probe: Probe | undefined;

  constructor(target: ProbedTarget, settings: HealthSettings, randomNumber = Math.random) {
    this.#target = target;
    this.#settings = settings;
    this.#randomNumber = randomNumber;
  }

  /** Sends the first probe at once. */
  start(): void {
    const { path, timeout } = this.#settings;
    this.#probe = new Probe(this.#target, path ?? '/', timeout, (result) => this.#onResult(result));
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

  #onResult({ connected, failure }: ProbeResult): void {
    const { interval } = this.#settings;
    const { health } = this.#target;
    if (connected) health.connected();
    else health.probeNotConnected();
    if (failure !== undefined) health.noteError(failure);
    const isUnconfirmed = health.probed(failure === undefined);
    const waitMs = isUnconfirmed ? Math.min(interval, recheckMs) : interval;
    // Between -jitterShare and +jitterShare.
    const jitter = jitterShare * (2 * this.#randomNumber() - 1);
    this.#timer = setTimeout(() => this.start(), waitMs * (1 + jitter)).unref();
  }
}

interface ProbeResult {
  /** Whether a connection was made, TLS included. */
  readonly connected: boolean;
  /** Why the target is not healthy, as text; undefined if it is healthy. */
  readonly failure: string | undefined;
}

/**
 * One GET on a new connection, so that a full accept queue is noticed. Any 2xx or 3xx is good; redirects are not followed and
 * the body is ignored. The probe uses the same HTTP client as the requests: with a more lenient parser, a target could count as
 * healthy although the gateway rejects its responses.
 */
class Probe implements ResponseHandler {
  readonly #connection: Connection;
  readonly #timer: NodeJS.Timeout;
  #onResult: ((result: ProbeResult) => void) | undefined;
  #connected = false;

  /** `timeout` ms limit the whole probe. */
  constructor(target: ProbedTarget, path: string, timeout: number, onResult: (result: ProbeResult) => void) {
    this.#onResult = onResult;
    this.#timer = setTimeout(() => this.#finish(`the probe was not answered within ${timeout} ms`), timeout).unref();
    const heads = new ResponseHeads();
    const owner = { heads, onIdle: (connection: Connection) => connection.destroy(), onClose: () => {} };
    // The connection has no timeouts of its own: the timer above limits the whole probe.
    const noTimeout = 0;
    this.#connection = new Connection(target.probedEndpoint, noTimeout, owner);
    const fields = `Host: ${target.authority}\r\nUser-Agent: version-gateway-health\r\nConnection: close\r\n`;
    const [isRequestComplete, expectsResponseBody] = [true, true];
    const head = `GET ${path} HTTP/1.1\r\n${fields}\r\n`;
    this.#connection.send(this, head, isRequestComplete, expectsResponseBody, noTimeout);
  }

  /** Ends the probe without a result. */
  cancel(): void {
    this.#onResult = undefined;
    clearTimeout(this.#timer);
    this.#connection.destroy();
  }

  onConnected(): void {
    this.#connected = true;
  }

  onInformation(): void {}

  onComplete({ status }: ResponseHead): void {
    this.#answered(status);
  }

  onHead({ status }: ResponseHead): void {
    // Called later, because the same read may contain a malformed body, which must fail the probe.
    queueMicrotask(() => this.#answered(status));
  }

  onData(): boolean {
    return true;
  }

  onEnd(): void {}

  onFailure({ cause }: { readonly cause: string }): void {
    this.#finish(`the probe failed: ${cause}`);
  }

  #answered(status: number): void {
    this.#finish(status >= 200 && status < 400 ? undefined : `the probe was answered ${status}`);
  }

  #finish(failure: string | undefined): void {
    const onResult = this.#onResult;
    this.cancel();
    onResult?.({ connected: this.#connected, failure });
  }
}
