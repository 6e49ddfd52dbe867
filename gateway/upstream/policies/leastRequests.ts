import type { Member, Policy } from './policy.ts';
import { draw } from './random.ts';

/**
 * The power of two choices: of two drawn at random, the one with fewer requests for its weight. Nearly as even as
 * asking all of them, and the idlest is not overrun by every gateway at once.
 */
export function leastRequests(chance: () => number = Math.random): Policy {
  return (members) => {
    const first = draw(members, chance);
    const second = draw(members, chance, first);
    if (!first || !second) return first;
    return load(second) < load(first) ? second : first;
  };
}

function load({ target, weight }: Member): number {
  return target.inFlight / weight;
}
