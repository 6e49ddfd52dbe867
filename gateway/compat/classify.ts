import type { Change } from './change.ts';
import { type Rule, type RuleId, rules } from './rules.ts';

const known = new Map<string, Rule<RuleId>>();

/** The rule whose business a change is. */
export function ruleFor(change: Change): Rule<RuleId> {
  const key = `${change.kind} ${change.effect} ${change.direction}`;
  const rule: Rule<RuleId> | undefined = known.get(key) ?? rules.find(({ check }) => check(change) !== undefined);
  if (rule === undefined) throw new TypeError(`no rule is about ${key}`);
  known.set(key, rule);
  return rule;
}

/** What the rules make of a change where nobody has said otherwise. */
export function levelOf(change: Change): Rule['level'] {
  return ruleFor(change).level;
}
