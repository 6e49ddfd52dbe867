import type { Exchange, StepOutcome } from './exchange.ts';

/**
 * If its version already has `limits.in_flight` requests, a request waits for at most `limits.queue`. This keeps the other
 * versions fast.
 */
export function limitInFlight({ activeVersion }: Exchange): StepOutcome | undefined {
  if (activeVersion === undefined || activeVersion.use.inFlightCount < activeVersion.version.limits.inFlight) {
    return undefined;
  }
  return { kind: 'wait' };
}

/** Picks one of the version's targets by its balancing policy. */
export function chooseTarget(exchange: Exchange): StepOutcome | undefined {
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
