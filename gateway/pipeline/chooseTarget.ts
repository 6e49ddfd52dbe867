import type { Exchange } from './exchange.ts';
import type { Verdict } from './steps.ts';

/** Whose turn it is among the version's targets. */
export function chooseTarget(exchange: Exchange): Verdict | undefined {
  const { served } = exchange;
  if (served === undefined) return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION' } };
  const target = served.pool.pick(served.version.limits.inFlightPerTarget);
  if (target === undefined) {
    return served.pool.refuses ? { kind: 'problem', problem: { code: 'NO_HEALTHY_TARGET' } } : { kind: 'wait' };
  }
  served.pool.budget.count(exchange.tally.begun);
  exchange.target = target;
  return undefined;
}
