import type { Problem } from '../problems/problem.ts';
import { checkMessage } from './checkMessage.ts';
import { chooseTarget } from './chooseTarget.ts';
import type { Exchange } from './exchange.ts';
import { findVersion, refuseUnknown } from './findVersion.ts';
import { limitBody, limitInFlight } from './limits.ts';
import { answerOptions, refuseLoops, refuseMethods } from './methods.ts';
import { readTarget } from './readTarget.ts';
import { refuseRetired } from './refuseRetired.ts';

/** What a step decides, when it ends the exchange. Undefined: the next step has its turn. */
export type StepOutcome =
  | { readonly kind: 'problem'; readonly problem: Problem; readonly closes?: boolean }
  | { readonly kind: 'empty'; readonly status: number; readonly fields: readonly string[] }
  /** A limit is reached: there may be room in a moment. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'discovery' };

export type Step = (exchange: Exchange) => StepOutcome | undefined;

/**
 * The life of a request until it is sent on, top to bottom. Upgrades walk the same list. The version comes early,
 * so that whatever is refused after it still announces its end.
 */
export const steps: readonly Step[] = [
  readTarget,
  findVersion,
  checkMessage,
  refuseMethods,
  refuseLoops,
  answerOptions,
  refuseUnknown,
  refuseRetired,
  limitBody,
  limitInFlight,
  chooseTarget,
];

export function walk(exchange: Exchange): StepOutcome | undefined {
  for (const step of steps) {
    const verdict = step(exchange);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}
