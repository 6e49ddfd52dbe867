import type { DriftSettings } from '../../../config/shadowSettings.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import type { ResponseObserver } from '../../../proxy/forwarding/outbound.ts';
import type { RequestFields } from '../../../proxy/forwarding/requestHead.ts';
import type { Target } from '../../../proxy/upstream/target.ts';
import { pathWithoutIds } from '../../../usage/counting/routeNames.ts';
import { pathThroughChain } from '../../../versions/lifecycle/stage.ts';
import { type CopyPlan, copiedFields, copyPlanOf, driftKey, hasForbiddenSecret, isDenied } from './copyPlan.ts';
import { FairShare } from './fairShare.ts';
import { overridesMethod } from './methodOverride.ts';
import { ResponseCopy, type TakenResponse } from './responseCopy.ts';
import type { CopyAddress, DriftSample, ShadowBatch, ShadowDrop, ShadowSample } from './shadowBatch.ts';

// Samples that are being taken, and batches on their way to the primary. Each sample has at most `shadow.body` bytes in memory.
const maxOpen = 16;
const maxUnsent = 8;
const dropReportDelayMs = 250;
// Paths whose template is remembered. If there are more, all are forgotten. Longer paths are never remembered.
const maxKeptTemplates = 1_000;
const longestKeptPath = 200;

interface ActiveTargets {
  readonly snapshot: Snapshot;
  readonly versions: ReadonlyMap<string, { readonly pool: { readonly targets: readonly Target[] } }>;
}

/** What sampling needs from an exchange. */
export interface ObservedExchange {
  /** The settings and targets when the exchange began. */
  readonly activeSnapshot: ActiveTargets;
  readonly context: {
    /** The current settings and targets. */
    readonly activeSnapshot: ActiveTargets;
    readonly restrictionState: { readonly stoppedComparisons: ReadonlySet<string> };
  };
  readonly versionName: string;
  readonly method: string;
  readonly resource: string;
  readonly originForm: string;
  readonly pathEnd: number;
  readonly path: string;
  readonly host: string;
  readonly id: string;
  readonly hasBody: boolean;
  readonly upgrade: object | undefined;
  /** Set if an adapter serves the request from the backend of another version. */
  readonly adaptation: object | undefined;
  readonly fields: RequestFields;
  readonly peer: { readonly scheme: string };
  readonly clientAddress: string;
  readonly chosenTarget: Target | undefined;
  readonly now: number;
  identify(): string;
}

/** The comparison of one version with its own contract. */
interface DriftPlan {
  readonly version: Version;
  readonly settings: DriftSettings;
  readonly key: string;
  readonly share: FairShare;
}

/** Takes samples in a process that serves clients. It reads the responses to clients, but sends no copies itself. */
export class Sampler {
  readonly #send: (batch: ShadowBatch) => Promise<void> | void;
  readonly #clock: () => number;
  #snapshot: Snapshot | undefined;
  #plans: ReadonlyMap<string, CopyPlan> = new Map();
  #drifts: ReadonlyMap<string, DriftPlan> = new Map();
  /** The responses that are being copied, the oldest first. */
  readonly #openCopies = new Set<ResponseCopy>();
  /** Batches that are not sent completely. */
  #unsent = 0;
  /** `v1 late` → the samples of this version that were dropped for this reason. */
  readonly #dropped = new Map<string, number>();
  /** Path that no contract lists → its template. `pathWithoutIds` costs more than all other checks together. */
  readonly #unlistedTemplates = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  /** `send`: resolves when the batch has left this process. `clock`: monotonic ms. */
  constructor(send: (batch: ShadowBatch) => Promise<void> | void, clock = () => performance.now()) {
    this.#send = send;
    this.#clock = clock;
  }

  /** `fields`: of `usage.identify`, in lower case. */
  configure(snapshot: Snapshot, fields: readonly string[]): void {
    const plans = snapshot.sortedVersions.flatMap((version): [string, CopyPlan][] => {
      const plan = copyPlanOf(version, snapshot, fields, this.#plans.get(version.name));
      return plan ? [[version.name, plan]] : [];
    });
    const drifts = snapshot.sortedVersions.flatMap((version): [string, DriftPlan][] => {
      const { name, drift: settings } = version;
      if (settings === undefined) return [];
      const key = driftKey(version);
      const before = this.#drifts.get(name);
      const share = before?.key === key ? before.share : new FairShare(settings);
      return [[name, { version, settings, key, share }]];
    });
    this.#snapshot = snapshot;
    this.#plans = new Map(plans);
    this.#drifts = new Map(drifts);
  }

  /** Called before the request is forwarded. @returns the observer of its response; undefined: it is not sampled */
  observe(exchange: ObservedExchange): ResponseObserver | undefined {
    const { method } = exchange;
    if (
      (method !== 'GET' && method !== 'HEAD') ||
      exchange.hasBody ||
      exchange.upgrade !== undefined ||
      exchange.adaptation !== undefined ||
      exchange.activeSnapshot.snapshot !== this.#snapshot
    )
      return undefined;
    return this.#observeCopied(exchange) ?? this.#observeDrift(exchange);
  }

  /** For the comparison with the contract of the version. Responses that cannot be compared are not counted, unlike for copies. */
  #observeDrift(exchange: ObservedExchange): ResponseObserver | undefined {
    const { versionName, method, resource, now: at } = exchange;
    const plan = this.#drifts.get(versionName);
    if (plan === undefined || at >= plan.settings.until) return undefined;
    if (exchange.context.restrictionState.stoppedComparisons.has(plan.key)) return undefined;
    if (!plan.share.hasBudget(performance.now())) return undefined;
    const template = this.#templateOf(plan.version, resource);
    if (this.#isBusy() || !plan.share.takeFor(exchange.identify(), template)) return undefined;
    return this.#copyResponse(method, plan.settings.body, (taken) => {
      const current = this.#drifts.get(versionName);
      const isSame = current?.key === plan.key && current.version.contract?.digest === plan.version.contract?.digest;
      if (typeof taken === 'string' || !isSame) return;
      void this.#sendBatch([{ version: versionName, key: plan.key, method, template, ...taken, at }]);
    });
  }

  /** For the comparison with the response to a copy of the request. */
  #observeCopied(exchange: ObservedExchange): ResponseObserver | undefined {
    const { method, now } = exchange;
    const plan = this.#plans.get(exchange.versionName);
    if (plan === undefined || now >= plan.settings.until) return undefined;
    if (exchange.context.restrictionState.stoppedComparisons.has(plan.key)) return undefined;
    if (!plan.share.hasBudget(performance.now())) return undefined;
    const { resource } = exchange;
    const template = this.#templateOf(plan.version, resource);
    const client = exchange.identify();
    // Before the other checks, because it refuses most requests.
    if (!plan.share.takeFor(client, template)) return undefined;
    const copyOrReason = this.#copyOrReason(plan, exchange);
    if (typeof copyOrReason !== 'object' || this.#isBusy()) {
      plan.share.giveBack();
      if (copyOrReason !== 'excluded') this.#drop(plan, typeof copyOrReason === 'object' ? 'busy' : copyOrReason);
      return undefined;
    }
    const sampledCall = { path: copyOrReason.path, template, client };
    return this.#copyResponse(method, plan.settings.body, (taken) => {
      const reason = typeof taken === 'string' ? taken : this.#sendSample(plan, exchange, taken, sampledCall);
      if (reason === undefined) return;
      // In these three cases the body was copied in vain. The sample is not given back, so that this does not happen for every request.
      if (!/^(?:body|incomplete|slow)$/.test(reason)) plan.share.giveBack();
      this.#drop(plan, reason);
    });
  }

  #copyResponse(method: string, maxBytes: number, onEnd: (taken: TakenResponse | ShadowDrop) => void): ResponseCopy {
    const copy: ResponseCopy = new ResponseCopy(method, maxBytes, this.#clock, (taken) => {
      this.#openCopies.delete(copy);
      onEnd(taken);
    });
    this.#openCopies.add(copy);
    return copy;
  }

  /** Whether no further response can be copied. If too many are being copied and the oldest one is slow, it is ended and makes room. */
  #isBusy(): boolean {
    if (this.#unsent >= maxUnsent) return true;
    if (this.#openCopies.size < maxOpen) return false;
    const [oldest] = this.#openCopies;
    return oldest?.endIfSlow() !== true;
  }

  #templateOf({ contract }: Version, path: string): string {
    const listed = contract?.paths.find(path)?.template ?? this.#unlistedTemplates.get(path);
    if (listed !== undefined) return listed;
    if (this.#unlistedTemplates.size >= maxKeptTemplates) this.#unlistedTemplates.clear();
    const template = pathWithoutIds(path);
    if (path.length <= longestKeptPath) this.#unlistedTemplates.set(path, template);
    return template;
  }

  /** The copy, or why there is none. `excluded`: never sampled. `path`: of the copy; undefined: it has no counterpart (`moved`). */
  #copyOrReason(plan: CopyPlan, exchange: ObservedExchange): { path: string | undefined } | ShadowDrop | 'excluded' {
    const { method, resource, fields, originForm, pathEnd } = exchange;
    if (isDenied(plan, method, resource) || /^x-shadow:/im.test(fields.passedLines)) return 'excluded';
    const query = originForm.slice(pathEnd + 1);
    if (overridesMethod(fields.passedLines, query)) return 'excluded';
    const path = pathThroughChain(plan.versionChain, resource);
    // An adapter has paths of its own.
    if (path === undefined && !plan.isAdapted) return 'no-counterpart';
    return hasForbiddenSecret(plan, resource, query) ? 'secret' : { path };
  }

  /** Counts a sample that is not compared. */
  #drop({ version }: CopyPlan, reason: ShadowDrop): void {
    const key = `${version.name} ${reason}`;
    this.#dropped.set(key, (this.#dropped.get(key) ?? 0) + 1);
    this.#timer ??= setTimeout(() => void this.#sendBatch([]), dropReportDelayMs).unref();
  }

  /** Sends a sample. @returns why it cannot be sent; undefined: it was sent */
  #sendSample(
    plan: CopyPlan,
    exchange: ObservedExchange,
    taken: TakenResponse,
    sampledCall: { readonly path: string | undefined; readonly template: string; readonly client: string },
  ): ShadowDrop | undefined {
    const current = this.#afterReload(plan, exchange.resource, sampledCall);
    const { activeSnapshot: active } = exchange.context;
    if (current === undefined || active.snapshot !== this.#snapshot) return 'changed';
    const { settings, version, to } = current;
    const targets = active.versions.get(to.name)?.pool.targets ?? [];
    const available = targets.filter(({ health }) => health.availability === 'available');
    const target = available[Math.floor(Math.random() * available.length)];
    if (target === undefined) return 'unhealthy';
    const query = exchange.originForm.slice(exchange.pathEnd);
    const { basePath } = active.snapshot.gateway;
    const addressOf = ({ name, prefix }: Version, { url, authority }: Target, path: string): CopyAddress => ({
      target: url,
      host: exchange.host === '' ? authority : exchange.host,
      path,
      prefix: prefix === 'strip' ? `${basePath}/${name}` : basePath,
    });
    const { path = '' } = sampledCall;
    const pathBelowVersion = path.startsWith('/') ? path : `/${path}`;
    // A reload may have removed the target that answered the client.
    const { chosenTarget } = exchange;
    const isTargetListed = active.versions.get(version.name)?.pool.targets.some(({ url }) => url === chosenTarget?.url);
    const hasControl =
      Math.random() < settings.control && isTargetListed === true && chosenTarget?.health.availability === 'available';
    const sample: ShadowSample = {
      version: version.name,
      key: plan.key,
      method: exchange.method,
      template: sampledCall.template,
      toTemplate: to.contract?.paths.find(path)?.template,
      hasCounterpart: sampledCall.path !== undefined,
      resource: exchange.resource,
      query,
      client: sampledCall.client,
      fields: copiedFields(current, exchange),
      to: addressOf(to, target, (to.prefix === 'strip' ? pathBelowVersion : `/${to.name}${pathBelowVersion}`) + query),
      control: hasControl ? addressOf(version, chosenTarget, exchange.path) : undefined,
      ...taken,
      at: exchange.now,
    };
    void this.#sendBatch([sample]);
    return undefined;
  }

  /** The current plan for a sample. Undefined: a reload has changed something on which the sample depends. */
  #afterReload(
    plan: CopyPlan,
    resource: string,
    { path, template }: { readonly path: string | undefined; readonly template: string },
  ): CopyPlan | undefined {
    const current = this.#plans.get(plan.version.name);
    if (current === plan || current === undefined) return current;
    const isSame =
      current.key === plan.key &&
      current.isAdapted === plan.isAdapted &&
      pathThroughChain(current.versionChain, resource) === path &&
      this.#templateOf(current.version, resource) === template;
    return isSame ? current : undefined;
  }

  async #sendBatch(samples: readonly (ShadowSample | DriftSample)[]): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const dropped = [...this.#dropped].map(([key, count]) => {
      const [version = '', reason] = key.split(' ');
      return [version, reason as ShadowDrop, count] as const;
    });
    this.#dropped.clear();
    this.#unsent += 1;
    try {
      await this.#send({ samples, dropped });
    } catch {
      // The samples are lost. Requests of clients must not fail because of them.
    } finally {
      this.#unsent -= 1;
    }
  }
}
