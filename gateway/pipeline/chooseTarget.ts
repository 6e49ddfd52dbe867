import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

/** Whose turn it is among the version's targets. */
export function chooseTarget(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion } = exchange;
  if (activeVersion === undefined) return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION' } };
  const target = activeVersion.pool.pick(activeVersion.version.limits.inFlightPerTarget);
  if (target === undefined) {
    return activeVersion.pool.refuses ? { kind: 'problem', problem: { code: 'NO_HEALTHY_TARGET' } } : { kind: 'wait' };
  }
  activeVersion.pool.budget.count(exchange.stats.begun);
  exchange.target = target;
  return undefined;
}
