import type { Balance } from '../config/snapshot.ts';
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
 * Smooth weighted round robin: each member gains its weight in credit, the one with most credit is picked and pays the
 * total. Weights of 3 and 1 give a a b a, where plain repetition would give a a a b.
 */
export function roundRobin(): Policy {
  const credits = new WeakMap<PoolMember, number>();
  return (members) => {
    let total = 0;
    let best: PoolMember | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const member of members) {
      const credit = (credits.get(member) ?? 0) + member.weight;
      credits.set(member, credit);
      total += member.weight;
      if (credit <= most) continue;
      best = member;
      most = credit;
    }
    if (best) credits.set(best, most - total);
    return best;
  };
}

/**
 * The power of two choices: of two random members, the one with fewer requests for its weight. Nearly as even as comparing
 * all members, and several gateways do not all choose the same idle one.
 */
export function leastRequests(chance: () => number = Math.random): Policy {
  return (members) => {
    const first = draw(members, chance);
    const second = draw(members, chance, first);
    if (!first || !second) return first;
    return load(second) < load(first) ? second : first;
  };
}

function load({ target, weight }: PoolMember): number {
  return target.inFlight / weight;
}

/** Random by weight. Several gateways choose independently of each other. */
export function random(chance: () => number = Math.random): Policy {
  return (members) => draw(members, chance);
}

/** A random member other than `except`, by weight. */
function draw(members: readonly PoolMember[], chance: () => number, except?: PoolMember): PoolMember | undefined {
  let total = 0;
  for (const member of members) if (member !== except) total += member.weight;
  let left = chance() * total;
  let last: PoolMember | undefined;
  for (const member of members) {
    if (member === except) continue;
    left -= member.weight;
    if (left < 0) return member;
    last = member;
  }
  return last;
}
