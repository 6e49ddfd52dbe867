import type { Member, Policy } from './policy.ts';

/** By weight, and otherwise by chance: needs no memory, so that many gateways never march in step. */
export function random(chance: () => number = Math.random): Policy {
  return (members) => draw(members, chance);
}

export function draw(members: readonly Member[], chance: () => number): Member | undefined {
  const total = members.reduce((sum, member) => sum + member.weight, 0);
  let left = chance() * total;
  for (const member of members) {
    left -= member.weight;
    if (left < 0) return member;
  }
  return members.at(-1);
}
