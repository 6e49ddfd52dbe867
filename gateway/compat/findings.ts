import { createHash } from 'node:crypto';
import { type CollectedChange, collectChanges } from './collect.ts';
import type { ContractComparison } from './diff/contracts.ts';
import { routeInWords } from './diff/routes.ts';
import { type Located, pointerOf } from './document/located.ts';
import { withinTheStack } from './failure.ts';
import type { Finding, RouteName, Site } from './finding.ts';
import { hintsFor } from './hints.ts';
import { type Level, nameInWords, type RuleId, ruleFor } from './rules/rules.ts';
import { sentenceOf } from './rules/sentence.ts';
import { subjectOf } from './rules/subjects.ts';

/** Levels in place of the built-in ones. */
export type Levels = ReadonlyMap<string, Level>;

const order = { error: 0, warn: 1, info: 2 } as const;

/** What the rules say of a comparison: the worst first, then in the order of the contract. */
export function findingsOf(comparison: ContractComparison, levels: Levels = new Map()): Finding[] {
  const [first] = comparison.routes;
  return withinTheStack(first?.route.operation.place.file.name ?? '', () => allFindings(comparison, levels));
}

function allFindings(comparison: ContractComparison, levels: Levels): Finding[] {
  const hints = hintsFor(comparison);
  const findings = collectChanges(comparison).flatMap((collected) => {
    const rule = ruleFor(collected.change);
    const level = levels.get(rule.id) ?? rule.level;
    return level === 'off' ? [] : [findingOf(collected, rule.id, level, hints.get(collected.change))];
  });
  return findings.sort((a, b) => order[a.level] - order[b.level]);
}

function findingOf(
  { change, occurrences }: CollectedChange,
  rule: RuleId,
  level: Finding['level'],
  hint: string | undefined,
): Finding {
  const [first] = occurrences;
  const routes = occurrences.flatMap(({ route }) => (route ? [nameOf(route)] : []));
  const [old, now] = [siteOf(change.old), siteOf(change.new)];
  const told = [rule, change.kind, change.effect, nameInWords(change), change.direction, ...[old, now].map(identity)];
  const fingerprint = createHash('sha256').update(told.join('\n')).digest('hex').slice(0, 16);
  const sentence = sentenceOf(change, first);
  const subject = subjectOf(first.steps, change);
  const finding: Finding = { rule, level, sentence, subject, routes, old, new: now, fingerprint, hint };
  if (occurrences.length > 1) shared.set(finding, { change, occurrences });
  return finding;
}

// What is shared by routes may be told of each in other words.
const shared = new WeakMap<Finding, CollectedChange>();

/** The same finding for some of its routes, told as the first of them has it. */
export function onlyOf(finding: Finding, routes: readonly RouteName[]): Finding {
  const collected = shared.get(finding);
  const [first] = routes;
  const told = collected?.occurrences.find(
    ({ route }) => route && first && routeInWords(route) === routeInWords(first),
  );
  if (!collected || !told) return { ...finding, routes };
  const { change } = collected;
  return { ...finding, routes, sentence: sentenceOf(change, told), subject: subjectOf(told.steps, change) };
}

/** Whether anything breaks. */
export function isBreaking(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === 'error');
}

function siteOf(located: Located | undefined): Site | undefined {
  return located && { place: located.place, value: located.value };
}

function identity(site: Site | undefined): string {
  return site ? pointerOf(site.place) : '';
}

function nameOf({ kind, method, path }: RouteName): RouteName {
  return { kind, method, path };
}
