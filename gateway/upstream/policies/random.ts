import type { Member, Policy } from './policy.ts';

/** By weight, and otherwise by chance: needs no memory, so that many gateways never march in step. */
export function random(chance: () => number = Math.random): Policy {
  return (members) => draw(members, chance);
}

/** Any of them but `except`. */
export function draw(members: readonly Member[], chance: () => number, except?: Member): Member | undefined {
  let total = 0;
  for (const member of members) if (member !== except) total += member.weight;
  let left = chance() * total;
  let last: Member | undefined;
  for (const member of members) {
    if (member === except) continue;
    left -= member.weight;
    if (left < 0) return member;
    last = member;
  }
  return last;
}
