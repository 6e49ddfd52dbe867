import type { Exchange, StepOutcome } from './exchange.ts';
import { findVersion, refuseUnknownVersion } from './findVersion.ts';
import { refuseRetired, restrictClients } from './restrictClients.ts';
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
 * If its version already has `limits.in_flight` requests, a request waits for at most `limits.queue`. This keeps the other
 * versions fast.
 */
function limitInFlight({ activeVersion }: Exchange): StepOutcome | undefined {
  if (activeVersion === undefined || activeVersion.use.inFlightCount < activeVersion.version.limits.inFlight) {
    return undefined;
  }
  return { kind: 'wait' };
}

/** Picks one of the version's targets by its balancing policy. */
function chooseTarget(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion } = exchange;
  if (activeVersion === undefined) return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION' } };
  const { pool, version } = activeVersion;
  const target = pool.pick(version.limits.inFlightPerTarget);
  if (target === undefined) {
    return pool.refuses ? { kind: 'problem', problem: { code: 'NO_HEALTHY_TARGET' } } : { kind: 'wait' };
  }
  pool.budget.count(exchange.stats.begun);
  exchange.chosenTarget = target;
  return undefined;
}
