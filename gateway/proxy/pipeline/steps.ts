import { segmentOf } from '../../config/api.ts';
import type { ActiveAdapter } from '../../contracts/adapters/serving/adaptedExchange.ts';
import type { CompiledRoute } from '../../contracts/adapters/serving/compiledAdapter.ts';
import type { ActiveGrease } from '../../contracts/grease/greasedExchange.ts';
import { problemMembersAboutEnd } from '../../versions/lifecycle/guide.ts';
import type { ActiveVersion } from './activeVersion.ts';
import type { Exchange, StepOutcome } from './exchange.ts';
import { findVersion, refuseUnknownVersion } from './findVersion.ts';
import { isPreflight, preflightAnswer, refuseRetired, restrictClients } from './restrictClients.ts';
import { answerOptions, checkMessage, limitBody, parseTarget, refuseLoops, refuseMethods } from './validateRequest.ts';

type Step = (exchange: Exchange) => StepOutcome | undefined;

/**
 * The steps of a request before it is forwarded, in this order. Upgrades run the same steps. The version is found early,
 * so that every refusal after it carries the version's lifecycle headers.
 */
const steps: readonly Step[] = [
  parseTarget,
  findVersion,
  checkMessage,
  refuseMethods,
  refuseLoops,
  answerOptions,
  refuseUnknownVersion,
  restrictClients,
  refuseRetired,
  adaptRequest,
  greaseResponse,
  limitBody,
  limitInFlight,
  chooseTarget,
];

/** Runs the steps until one has an outcome. Undefined: the request goes to its target. */
export function runSteps(exchange: Exchange): StepOutcome | undefined {
  for (const step of steps) {
    const outcome = step(exchange);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

/**
 * Finds the route of a request to a version that is served by the backend of another one, and the path for that backend. A
 * version with a backend of its own costs one comparison.
 */
function adaptRequest(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, method, resource, upgrade } = exchange;
  if (activeVersion?.adaptedFrom === undefined) return undefined;
  const adapter = activeVersion.adapter ?? activeAdapter(activeVersion, exchange);
  if (adapter === undefined) return { kind: 'loadModules', load: loadAdapters };
  const routeOrReason = upgrade
    ? 'A connection that is upgraded cannot be adapted.'
    : adapter.routeFor(method === 'OPTIONS' ? wantedMethod(exchange) : method, resource);
  if (typeof routeOrReason === 'string') {
    return isPreflight(exchange) ? preflightAnswer(exchange) : notAdapted(exchange, routeOrReason);
  }
  if (method !== 'HEAD' && method !== 'OPTIONS' && !adapter.hasMemoryFor(routeOrReason)) return { kind: 'wait' };
  return beginAdaptation(exchange, adapter, routeOrReason);
}

function beginAdaptation(exchange: Exchange, adapter: ActiveAdapter, route: CompiledRoute): StepOutcome | undefined {
  const requestTarget = adapter.requestTargetOf(route, exchange.resource, exchange.originForm.slice(exchange.pathEnd));
  if (requestTarget === undefined) {
    const detail =
      'A parameter of the path or of the query has a value that the contract of this version does not allow.';
    return { kind: 'problem', problem: { code: 'BAD_REQUEST', detail } };
  }
  exchange.path = requestTarget;
  exchange.adaptation = adapter.begin(route, exchange);
  return undefined;
}

/** The method that an OPTIONS request asks about; '': any method. */
function wantedMethod({ fields: { origin, preflightMethod } }: Exchange): string {
  return origin === undefined ? '' : (preflightMethod ?? '');
}

/** `reason`: '' if the adapter does not list the route at all. */
function notAdapted({ activeVersion, activeSnapshot, now }: Exchange, reason: string): StepOutcome | undefined {
  if (activeVersion === undefined) return undefined;
  const { version, adapter } = activeVersion;
  if (adapter !== undefined) adapter.state.notAdapted += 1;
  const members = {
    version: segmentOf(version.name),
    reason: reason === '' ? 'The adapter of this version does not list the route.' : reason,
    ...problemMembersAboutEnd(version, activeSnapshot.snapshot, now),
  };
  return { kind: 'problem', problem: { code: 'ROUTE_NOT_ADAPTED', members } };
}

// Loaded by the first request that needs an adapter. Most gateways have none.
let Adapter: typeof ActiveAdapter | undefined;

async function loadAdapters(): Promise<void> {
  ({ ActiveAdapter: Adapter } = await import('../../contracts/adapters/serving/adaptedExchange.ts'));
}

/** Undefined until the modules of adapters are loaded. */
function activeAdapter(activeVersion: ActiveVersion, { activeSnapshot }: Exchange): ActiveAdapter | undefined {
  const { version, requests } = activeVersion;
  if (Adapter === undefined || version.adapter === undefined) return undefined;
  const adapter = new Adapter(version.adapter, version, activeSnapshot.snapshot, requests.adapterState);
  requests.adapterState = adapter.state;
  activeVersion.adapter = adapter;
  activeVersion.urlRewriting = adapter.urlRewriting;
  return adapter;
}

/** A client may ask for unknown members in the response. A version without `grease` costs one comparison. */
function greaseResponse(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion } = exchange;
  if (activeVersion?.version.grease === undefined) return undefined;
  // Where a response may have unknown members, according to the contract.
  const { plan } = activeVersion.version.grease;
  if (plan === undefined) return undefined;
  if (activeVersion.grease === undefined) {
    if (Grease === undefined) return { kind: 'loadModules', load: loadGrease };
    activeVersion.grease = new Grease(plan);
  }
  // Without an adapter, `exchange.adaptation` is undefined, or it is the grease of an earlier run of the steps, which is replaced.
  const adapted = activeVersion.adaptedFrom === undefined ? undefined : exchange.adaptation;
  exchange.adaptation = activeVersion.grease.begin(exchange, adapted) ?? adapted;
  return undefined;
}

// Loaded by the first request of a version with `grease`.
let Grease: typeof ActiveGrease | undefined;

async function loadGrease(): Promise<void> {
  ({ ActiveGrease: Grease } = await import('../../contracts/grease/greasedExchange.ts'));
}

/**
 * If `limits.in_flight` requests of the version are in flight, a request waits for at most `limits.queue`. This keeps the other
 * versions fast.
 */
function limitInFlight({ activeVersion, connectionLoad }: Exchange): StepOutcome | undefined {
  // A request that waits during a reload keeps its former `activeVersion`. Its `requests` have the limit of the current configuration.
  return activeVersion === undefined || activeVersion.requests.roomFor(connectionLoad) === 'some'
    ? undefined
    : { kind: 'wait' };
}

/** Picks one of the version's targets by its balancing policy. */
function chooseTarget(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion } = exchange;
  if (activeVersion === undefined) return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION' } };
  const { pool } = activeVersion;
  const target = pool.pick(activeVersion.targetLimits, exchange.connectionLoad);
  if (target === undefined) {
    return pool.hasNoUsableTarget ? { kind: 'problem', problem: { code: 'NO_HEALTHY_TARGET' } } : { kind: 'wait' };
  }
  activeVersion.retryBudget.countRequest(exchange.stats.beganAt);
  exchange.chosenTarget = target;
  return undefined;
}
