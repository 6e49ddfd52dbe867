import type { Member, Policy } from './policy.ts';

/**
 * Smooth weighted round robin: everybody gains its weight, the richest is picked and pays for all. With weights of 3
 * and 1 that is a a b a, where plain repetition would be a a a b.
 */
export function roundRobin(): Policy {
  const credits = new WeakMap<Member, number>();
  return (members) => {
    let total = 0;
    let best: Member | undefined;
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
