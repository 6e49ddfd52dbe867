import type { AdapterFailureReport } from '../../../usage/observability/report.ts';
import { type BodyBytes, type BodyFault, tooLarge } from './adaptedBody.ts';
import { BodyAdapter, type BodyJob, BodyThread } from './bodyThread.ts';
import { type AdapterScope, CompiledAdapter, type CompiledRoute } from './compiledAdapter.ts';

/**
 * The largest body that the serving thread adapts itself, in bytes after decoding. Measured: 7 to 11 µs for each KiB, and 34 µs if
 * the body has numbers whose text is kept. So a body of this size takes at most 9 ms, and less than 20 ms on a machine that is half
 * as fast.
 */
const maxBytesInServingThread = 256 * 1024;

const bodyThread = new BodyThread();

/** Adapts the bodies of one version in this process. Kept over reloads that do not change the adapter. */
export class VersionAdapter {
  readonly compiled: CompiledAdapter;
  readonly #bodies: BodyAdapter;

  constructor(scope: AdapterScope) {
    this.compiled = new CompiledAdapter(scope);
    this.#bodies = new BodyAdapter(this.compiled);
  }

  /** Whether the bodies of a response are changed or checked. */
  changesOrChecksBody(route: CompiledRoute, status: number): boolean {
    return this.#bodies.changesOrChecksBody(route, status);
  }

  /** Never throws or rejects. */
  adaptBody(job: BodyJob): BodyBytes | BodyFault | Promise<BodyBytes | BodyFault> {
    try {
      return this.#adapt(job);
    } catch (error) {
      return faultOf(error);
    }
  }

  #adapt(job: BodyJob): BodyBytes | BodyFault | Promise<BodyBytes | BodyFault> {
    const { settings, hash } = this.compiled;
    if (job.bytes.length > maxBytesInServingThread) return bodyThread.run(settings, hash, job);
    const result = this.#bodies.adapt(job, Math.min(settings.body, maxBytesInServingThread));
    // The received body is small enough for this thread, but the decoded body is not.
    return result === tooLarge && maxBytesInServingThread < settings.body
      ? bodyThread.run(settings, hash, job)
      : result;
  }
}

function faultOf(error: unknown): BodyFault {
  return { pointer: '', cause: error instanceof Error ? error.name : 'the adapter failed' };
}

// For all bodies of one version in one process. About two thirds of the memory of an idle gateway.
const softLimitBytes = 64 * 1024 * 1024;
const maxFailedRoutes = 1000;

/** What one process knows about the use of the adapter of one version. Kept over reloads. */
export class AdapterState {
  readonly #limitBytes: number;
  /** The size of the bodies in memory: received, adapted, or not yet read by the client. */
  #keptBytes = 0;
  /** What requests in flight will probably add to `#keptBytes`. */
  #expectedBytes = 0;
  /** Key: a route. Value: the bytes to expect of its next body. */
  readonly #expectedSizes = new Map<string, number>();
  /** Key: a route. Value: its failures since the adapter has changed. */
  readonly #failures = new Map<string, AdapterFailureReport>();
  /** Requests that were answered 410, because the adapter does not serve their route. */
  notAdapted = 0;
  #adapter: VersionAdapter | undefined;

  constructor(limitBytes = softLimitBytes) {
    this.#limitBytes = limitBytes;
  }

  /** The adapter for a snapshot. Returns the current one if neither the settings nor the contracts have changed. */
  adapterFor(scope: AdapterScope): VersionAdapter {
    this.forgetAdapterExcept(scope.hash);
    this.#adapter ??= new VersionAdapter(scope);
    return this.#adapter;
  }

  /** Forgets the adapter and its failures, unless it has this hash. */
  forgetAdapterExcept(hash: string): void {
    if (this.#adapter?.compiled.hash === hash) return;
    this.#adapter = undefined;
    this.#failures.clear();
    this.notAdapted = 0;
  }

  /** Whether there is memory for one more body of a route. If no body is in memory, a body of any size is admitted. */
  hasMemoryFor(route: string, bodyLimit: number): boolean {
    const used = this.#keptBytes + this.#expectedBytes;
    return used === 0 || used + this.expectedSizeOf(route, bodyLimit) <= this.#limitBytes;
  }

  /** The bytes to expect of the next body of a route. Before its first body: `bodyLimit`, which is the limit of one body. */
  expectedSizeOf(route: string, bodyLimit: number): number {
    return this.#expectedSizes.get(route) ?? bodyLimit;
  }

  /**
   * Adds to the expected bytes and to the kept bytes. Negative numbers subtract. Returns false if this call added kept bytes and
   * all kept bytes are now more than twice the limit.
   */
  addBytes(expected: number, kept: number): boolean {
    this.#expectedBytes += expected;
    this.#keptBytes += kept;
    return kept <= 0 || this.#keptBytes <= 2 * this.#limitBytes;
  }

  /**
   * Raises the expected size at once after a larger body, and lowers it slowly after smaller ones. `bodyLimit`: as for
   * `expectedSizeOf`.
   */
  updateExpectedSize(route: string, size: number, bodyLimit: number): void {
    const before = this.expectedSizeOf(route, bodyLimit);
    this.#expectedSizes.set(route, size >= before ? size : Math.ceil((before + size) / 2));
  }

  onFailure(route: string, pointer: string, at: number): void {
    const count = (this.#failures.get(route)?.count ?? 0) + 1;
    if (count > 1 || this.#failures.size < maxFailedRoutes) this.#failures.set(route, { route, count, pointer, at });
  }

  get failures(): readonly AdapterFailureReport[] {
    return [...this.#failures.values()];
  }
}
