import { chooseTarget, limitInFlight } from './chooseTarget.ts';
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
