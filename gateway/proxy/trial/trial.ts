import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { inWholeUnits, plural, printableExcerpt } from '../../shared/text.ts';
import { pathWithoutIds } from '../../usage/counting/routeNames.ts';
import { type Resolve, systemResolve } from '../upstream/nameResolution.ts';
import { attemptTrial, type TrialFailure } from './attempt.ts';
import { type NewTarget, newTargets } from './newTargets.ts';
import { type OwnListener, ownListenerAt } from './ownAddress.ts';

// In one attempt, the target has at most this long, and then the current targets as long again. The next attempt begins a second after
// the begin of this one, or at once if it took longer.
const attemptMs = 2_000;
const pauseMs = 1_000;
/** How long `guard.trial: connect` waits for a target. */
const connectTrialMs = 10_000;
const maxNamedPaths = 5;

export interface TrialQuery {
  /** The configuration that serves now. */
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly now: number;
  /** The versions that are not tried, because a reason in `guard.force` applies the edit anyway. */
  readonly isForced: (version: string) => boolean;
}

export interface TrialContext {
  readonly listeners: readonly OwnListener[];
  /** Recent GET paths below a version that backends answered 2xx or 3xx. */
  readonly recentPaths: (versions: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Takes a line for the operator while a trial waits for a target. */
  readonly notice: (line: string) => void;
  /** Ends trials at once when the gateway stops. */
  readonly signal?: AbortSignal;
  readonly resolve?: Resolve;
}

/** What the trial of an edit has found, as texts for the operator. */
export interface TrialResult {
  /** Whether any target was tried. */
  readonly hasTried: boolean;
  /** A target is this gateway itself. */
  readonly faults: readonly string[];
  /** Why a new target cannot take over the requests of a version. */
  readonly refusals: readonly { readonly version: string; readonly message: string }[];
  readonly warnings: readonly string[];
}

export const nothingTried: TrialResult = { hasTried: false, faults: [], refusals: [], warnings: [] };

/** Tries the targets that an edit would newly use, for up to `guard.trial`, until all of them can take requests. */
export async function tryNewTargets(query: TrialQuery, context: TrialContext): Promise<TrialResult> {
  const { before, after, now, isForced } = query;
  const found = newTargets(before, after, now);
  if (found.length === 0) return nothingTried;
  const faults = (await Promise.all(found.map((target) => selfFault(target, context)))).filter(
    (one) => one !== undefined,
  );
  const warnings = found.flatMap(({ version, url, sharedWith }) =>
    sharedWith === undefined ? [] : [`/${version} gets ${url}, which is also the target of /${sharedWith}`],
  );
  const trialOf = (version: string) => apiOf(version, after).guard.trial;
  const isTried = ({ version }: { readonly version: string }) => trialOf(version) !== 0 && !isForced(version);
  const tried = faults.length > 0 ? [] : found.filter(isTried);
  if (tried.length === 0) return { ...nothingTried, faults, warnings };
  const versions = [...new Set(tried.map(({ version }) => version))].filter((one) => trialOf(one) !== 'connect');
  const paths = versions.length === 0 ? undefined : await context.recentPaths(versions);
  const publicHost = after.gateway.publicUrl && new URL(after.gateway.publicUrl).host;
  const outcomes = await Promise.all(
    tried.map(async (target) => {
      const trial = trialOf(target.version);
      const limitMs = trial === 'connect' ? connectTrialMs : trial;
      const settings = { paths: paths?.get(target.version) ?? [], publicHost, timeout: attemptMs };
      const failure = await tryUntil(() => attemptTrial(target, settings), target, limitMs, context);
      const message = failure && messageOf(target, failure, limitMs, before);
      const { version, isKept, becomesStrict } = target;
      return { version, isKept, becomesStrict, message };
    }),
  );
  // A target that an edit keeps need not work if another one takes its requests.
  const versionsThatWork = new Set(
    outcomes
      .filter(({ isKept, becomesStrict, message }) => (isKept || becomesStrict) && message === undefined)
      .map(({ version }) => version),
  );
  const refusals = outcomes.flatMap(({ version, isKept, message }) =>
    message === undefined || (isKept && versionsThatWork.has(version)) ? [] : [{ version, message }],
  );
  return { hasTried: true, faults, refusals, warnings };
}

/** Repeats the attempt until it succeeds or `limitMs` have passed. */
async function tryUntil(
  attempt: () => Promise<TrialFailure | undefined>,
  target: NewTarget,
  limitMs: number,
  { notice, signal }: TrialContext,
): Promise<TrialFailure | undefined> {
  const end = performance.now() + limitMs;
  for (let isFirst = true; ; isFirst = false) {
    const began = performance.now();
    const failure = await attempt();
    const next = Math.max(performance.now(), began + pauseMs);
    if (failure === undefined || next >= end || signal?.aborted) return failure;
    if (isFirst)
      notice(`/${target.version}: ${target.url} ${failureInWords(failure)}; it is tried for ${inWholeUnits(limitMs)}`);
    await sleep(next - performance.now(), undefined, { ...(signal && { signal }), ref: false }).catch(() => {});
  }
}

async function selfFault(
  { version, url }: NewTarget,
  { listeners, resolve = systemResolve }: TrialContext,
): Promise<string | undefined> {
  const { protocol, hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
  const listener = await ownListenerAt(address, listeners, resolve);
  if (listener === undefined) return undefined;
  return `routes./${version}: the target ${url} is this gateway itself (${listener.key}).  Write the address of the backend.`;
}

function messageOf(target: NewTarget, failure: TrialFailure, limitMs: number, before: Snapshot): string {
  const form = target.isKept
    ? `/${target.version} ${target.becomesStrict ? 'refuses requests while no target is healthy (on_none_healthy), and ' : ''}keeps the target ${target.url}, which`
    : before.versions.get(target.version)?.targets.some(({ url }) => url === target.url)
      ? `${target.url} would get the requests of /${target.version} in another form, and`
      : `/${target.version} gets the target ${target.url}, which`;
  return `${form} ${failureInWords(failure)} (tried for ${inWholeUnits(limitMs)}: guard.trial).`;
}

function failureInWords(failure: TrialFailure): string {
  switch (failure.kind) {
    case 'unreachable':
      return `cannot be reached: ${printableExcerpt(failure.cause)}`;
    case 'health':
      return `is not healthy: its health path is ${printableExcerpt(failure.cause)}`;
    case 'lost': {
      const { paths, tried } = failure;
      const named = paths.slice(0, maxNamedPaths).map(({ path, answer }) => `GET ${pathWithoutIds(path)} ${answer}`);
      const more = paths.length > named.length ? ` and ${plural(paths.length - named.length, 'more route')}` : '';
      return `loses ${paths.length} of ${plural(tried, 'route')} that are answered now: ${printableExcerpt(named.join(', '), 400)}${more}`;
    }
  }
}
