import type { Balance } from '../../config/snapshot.ts';
import type { Target } from './target.ts';

/** A target of a version and its weight, which is at least 1. */
export interface PoolMember {
  readonly target: Target;
  readonly weight: number;
}

/** Picks one of two or more members that may take a request. Each pool has a policy of its own. */
export type Policy = (members: readonly PoolMember[]) => PoolMember | undefined;

/** A missing or superfluous policy does not compile. */
export const policies = {
  round_robin: roundRobin,
  least_requests: () => leastRequests(),
  random: () => random(),
} satisfies Record<Balance, () => Policy>;

/**
 * Smooth weighted round robin. For each pick, the credit of each member grows by its weight. The member with the most credit
 * is picked, and its credit is reduced by the sum of all weights. Weights of 3 and 1 give a a b a; plain repetition would give
 * a a a b.
 */
export function roundRobin(): Policy {
  const credits = new WeakMap<PoolMember, number>();
  return (members) => {
    let total = 0;
    let best: PoolMember | undefined;
    let maxCredit = Number.NEGATIVE_INFINITY;
    for (const member of members) {
      const credit = (credits.get(member) ?? 0) + member.weight;
      credits.set(member, credit);
      total += member.weight;
      if (credit <= maxCredit) continue;
      best = member;
      maxCredit = credit;
    }
    if (best) credits.set(best, maxCredit - total);
    return best;
  };
}

/**
 * The power of two choices: picks two members at random, and uses the one with fewer requests in relation to its weight. The
 * load is nearly as even as with a comparison of all members, and several gateways do not all pick the same idle member.
 */
export function leastRequests(randomNumber: () => number = Math.random): Policy {
  return (members) => {
    const first = draw(members, randomNumber);
    const second = draw(members, randomNumber, first);
    if (!first || !second) return first;
    return load(second) < load(first) ? second : first;
  };
}

function load({ target, weight }: PoolMember): number {
  return target.inFlight / weight;
}

/** Picks a random member by weight. Several gateways pick independently of each other. */
export function random(randomNumber: () => number = Math.random): Policy {
  return (members) => draw(members, randomNumber);
}

/** A random member other than `except`, by weight. */
function draw(members: readonly PoolMember[], randomNumber: () => number, except?: PoolMember): PoolMember | undefined {
  let total = 0;
  for (const member of members) if (member !== except) total += member.weight;
  let remaining = randomNumber() * total;
  let last: PoolMember | undefined;
  for (const member of members) {
    if (member === except) continue;
    remaining -= member.weight;
    if (remaining < 0) return member;
    last = member;
  }
  return last;
}
