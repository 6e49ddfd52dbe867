import { createHash } from 'node:crypto';
import { below, type ContractPlace, type Located, pointerOf } from '../../../contract/document/located.ts';
import { catchingStackOverflow } from '../../../contract/failure.ts';
import type { Route, RouteName } from '../../../contract/routes.ts';
import { canonicalJson, canonicalJsonWithoutDocs } from '../../../contract/schema/keywords.ts';
import type { Change, ChangeDetail, Comparison, PathStep, Severity } from '../diff/change.ts';
import type { ContractComparison, RouteComparison } from '../diff/contracts.ts';
import { type Occurrence, type RuleId, type RuleLevel, ruleFor, sentenceOf } from '../rules/rules.ts';
import { routeInWords, subjectOf, whatChanged } from '../rules/words.ts';

/** The old or the new side of a finding. */
export interface Site {
  readonly place: ContractPlace;
  /** Undefined if the contract has nothing at the place. */
  readonly value: unknown;
}

/** One change, with the rule that judges it. */
export interface Finding {
  readonly rule: RuleId;
  readonly level: Severity;
  /** "GET /drinks: response 200 field `price` was a string and is now a number". */
  readonly sentence: string;
  /** "response 200 field `price`"; empty for a route as a whole. */
  readonly subject: string;
  /** Every route that the change affects; empty for a change outside all routes. */
  readonly routes: readonly RouteName[];
  readonly old: Site | undefined;
  readonly new: Site | undefined;
  /** 16 hexadecimal digits. Stays the same when other edits of the file move the change to another line. */
  readonly fingerprint: string;
  /** If the finding is a removal that is probably a rename: the new name. */
  readonly renamedTo: string | undefined;
  /** Undefined for the rule `major-without-breaking-change`: it judges two majors as a whole. */
  readonly collectedChange: CollectedChange | undefined;
}

/** Configured levels, by rule. */
export type LevelOverrides = ReadonlyMap<string, RuleLevel>;

const levelOrder = { error: 0, warn: 1, info: 2 } as const;

/** The findings of a comparison, worst level first, then in the order of the contract. */
export function findingsOf(comparison: ContractComparison, levels: LevelOverrides = new Map()): Finding[] {
  const [first] = comparison.routes;
  return catchingStackOverflow(first?.route.operation.place.file.name ?? '', () => {
    const renames = renamedChanges(comparison);
    const findings = collectChanges(comparison).flatMap((collected) => {
      const rule = ruleFor(collected.change);
      const level = levels.get(rule.id) ?? rule.level;
      return level === 'off' ? [] : [findingOf(collected, rule.id, level, renames.get(collected.change))];
    });
    return findings.sort((a, b) => levelOrder[a.level] - levelOrder[b.level]);
  });
}

function findingOf(
  collectedChange: CollectedChange,
  rule: RuleId,
  level: Finding['level'],
  renamedTo: string | undefined,
): Finding {
  const { change, identity, occurrences } = collectedChange;
  const [first] = occurrences;
  return {
    rule,
    level,
    sentence: sentenceOf(change, first),
    subject: subjectOf(first.steps, change),
    routes: occurrences.flatMap(({ route }) => (route ? [nameOf(route)] : [])),
    old: siteOf(change.old),
    new: siteOf(change.new),
    fingerprint: findingFingerprint(rule, identity),
    renamedTo,
    collectedChange,
  };
}

/** The finding with only the given routes. Its sentence names the first of them. */
export function limitedToRoutes(finding: Finding, routes: readonly RouteName[]): Finding {
  const { collectedChange } = finding;
  const first = routes[0] && routeInWords(routes[0]);
  const occurrence = collectedChange?.occurrences.find(({ route }) => route && routeInWords(route) === first);
  if (!collectedChange || !occurrence) return { ...finding, routes };
  const { change } = collectedChange;
  const subject = subjectOf(occurrence.steps, change);
  return { ...finding, routes, sentence: sentenceOf(change, occurrence), subject };
}

export function hasBreakingFinding(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === 'error');
}

/** `identity` contains no words of a sentence, so a finding keeps its fingerprint if a release words it differently. */
export function findingFingerprint(rule: RuleId, identity: string): string {
  return createHash('sha256').update(`${rule}\n${identity}`).digest('hex').slice(0, 16);
}

function siteOf(located: Located | undefined): Site | undefined {
  return located && { place: located.place, value: located.value };
}

function nameOf({ kind, method, path }: RouteName): RouteName {
  return { kind, method, path };
}

/** A change and the routes that it affects. */
export interface CollectedChange {
  readonly change: Change;
  /** The same text for equal changes at the same places. It has no names of files, which depend on how a contract was named. */
  readonly identity: string;
  /** One for each route, in the order of the contract. */
  readonly occurrences: readonly [Occurrence, ...Occurrence[]];
}

/** Each change once, with all routes that it affects. Equal changes at the same places count as one. */
export function collectChanges({ document, routes }: ContractComparison): CollectedChange[] {
  /** Identity without files → the changes with this identity. No two of them are in the same files. */
  const collected = new Map<string, (CollectedChange & { readonly occurrences: Occurrence[] })[]>();
  const identities = new Map<Change, string>();
  const changed = comparisonsWithChanges([document, ...routes.map(({ comparison }) => comparison)]);
  const gather = (root: Comparison, route: Route | undefined): void => {
    const seen = new Set<Comparison>();
    const waiting: { comparison: Comparison; steps: readonly PathStep[] }[] = [{ comparison: root, steps: [] }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { comparison, steps } = next;
      if (seen.has(comparison) || !changed.has(comparison)) continue;
      seen.add(comparison);
      for (const change of comparison.changes) {
        const identity = identities.get(change) ?? identityOf(change);
        identities.set(change, identity);
        const sameIdentity = collected.get(identity) ?? [];
        collected.set(identity, sameIdentity);
        const known = sameIdentity.find((one) => areInSameFiles(one.change, change));
        const suffix = sameIdentity.length === 0 ? '' : `\n${sameIdentity.length}`;
        if (!known) sameIdentity.push({ change, identity: identity + suffix, occurrences: [{ route, steps }] });
        else if (known.occurrences.at(-1)?.route !== route) known.occurrences.push({ route, steps });
      }
      for (const { step, comparison: part } of comparison.parts.toReversed()) {
        waiting.push({ comparison: part, steps: step ? [...steps, step] : steps });
      }
    }
  };
  gather(document, undefined);
  for (const { route, comparison } of routes) gather(comparison, route);
  return [...collected.values()].flat();
}

/** A contract may consist of files that have the same pointers: one file for each schema, for example. */
function areInSameFiles(a: Change, b: Change): boolean {
  return a.old?.place.file === b.old?.place.file && a.new?.place.file === b.new?.place.file;
}

function identityOf({ kind, effect, direction, name, detail, old, new: now }: Change): string {
  const pointers = [old, now].map((located) => (located ? pointerOf(located.place) : ''));
  return [kind, effect, name + detailAsJson(detail), direction, ...pointers].join('\n');
}

/** The places of a cause are left out, because they are below the places of the change that it explains. */
function detailAsJson(detail: ChangeDetail | undefined): string {
  if (detail === undefined) return '';
  if (detail.is !== 'cause') return canonicalJson(detail);
  const { kind, effect, name, detail: inner } = detail.change;
  return canonicalJson({ is: detail.is, kind, effect, name, detail: detailAsJson(inner), steps: detail.steps });
}

/** The comparisons that contain a change, directly or in a part. */
function comparisonsWithChanges(roots: readonly Comparison[]): Set<Comparison> {
  const wholesByPart = new Map<Comparison, Comparison[]>();
  const visited = new Set(roots);
  // The loop also visits the parts that it adds to the set.
  for (const whole of visited) {
    for (const { comparison } of whole.parts) {
      visited.add(comparison);
      const wholes = wholesByPart.get(comparison);
      if (wholes) wholes.push(whole);
      else wholesByPart.set(comparison, [whole]);
    }
  }
  const changed = new Set([...visited].filter(({ changes }) => changes.length > 0));
  for (const part of changed) for (const whole of wholesByPart.get(part) ?? []) changed.add(whole);
  return changed;
}

// A removal and an addition at the same place are probably a rename if their names are at least as similar as this.
const leastSimilarity = 0.5;
const leastRouteSimilarity = 0.7;
// If there are more pairs of a removed and an added name, no renames are searched for: comparing all pairs would take too long.
const maxPairs = 2500;

/** For each removal that looks like a rename: what was added at the same place, as `whatChanged` or `routeInWords` names it. */
export function renamedChanges({ document, routes }: ContractComparison): ReadonlyMap<Change, string> {
  const renames = new Map<Change, string>();
  const seen = new Set<Comparison>([document, ...routes.map(({ comparison }) => comparison)]);
  // The loop also visits the parts that it adds to the set.
  for (const comparison of seen) {
    for (const part of comparison.parts) seen.add(part.comparison);
    addRenames(comparison.changes, renames);
  }
  addRouteRenames(routes, renames);
  return renames;
}

function addRenames(changes: readonly Change[], renames: Map<Change, string>): void {
  const named = changes.filter(({ kind }) => kind === 'field' || kind === 'parameter' || kind === 'header');
  const removed = named.filter(({ effect }) => effect === 'removed' || effect === 'refused');
  const added = named.filter(({ effect }) => effect === 'added' || effect === 'added_required');
  if (removed.length * added.length > maxPairs) return;
  for (const removal of removed) {
    const candidates = added.filter(({ kind, direction }) => kind === removal.kind && direction === removal.direction);
    const scored = candidates.map((addition) => {
      const label = whatChanged(addition);
      // The same schema makes a rename more likely.
      const hasSameSchema =
        canonicalJsonWithoutDocs(removal.old?.value) === canonicalJsonWithoutDocs(addition.new?.value);
      const nameSimilarity = similarity(comparableName(whatChanged(removal)), comparableName(label));
      return { label, score: nameSimilarity + (hasSameSchema ? 0.25 : -0.1) };
    });
    const [best] = scored.filter(({ score }) => score >= leastSimilarity).sort((a, b) => b.score - a.score);
    if (best) renames.set(removal, best.label);
  }
}

function addRouteRenames(routes: readonly RouteComparison[], renames: Map<Change, string>): void {
  const added = routes
    .filter(({ comparison }) => comparison.changes[0]?.effect === 'added')
    .map(({ route }) => ({ route, path: comparableName(route.path), id: operationIdOf(route) }));
  for (const { route, comparison } of routes) {
    const [removal] = comparison.changes;
    if (removal?.kind !== 'route' || removal.effect !== 'removed') continue;
    const [id, path] = [operationIdOf(route), comparableName(route.path)];
    const scored = added
      .filter((addition) => addition.route.method === route.method && addition.route.kind === route.kind)
      .map((addition) => {
        const hasSameId = id !== undefined && addition.id === id;
        // 2 is more than any similarity of paths: an equal operationId always wins.
        return { newRoute: addition.route, score: hasSameId ? 2 : similarity(path, addition.path) };
      });
    const [best] = scored.filter(({ score }) => score >= leastRouteSimilarity).sort((a, b) => b.score - a.score);
    if (best) renames.set(removal, routeInWords(best.newRoute));
  }
}

function operationIdOf({ operation }: RouteComparison['route']): unknown {
  return below(operation, 'operationId').value;
}

/** A name, prepared for comparisons with many others. */
export interface ComparableName {
  /** Without case and punctuation: `drink_id`, `drinkId` and `DRINK-ID` are the same. */
  readonly letters: string;
  /** How often each pair of neighbouring letters occurs. */
  readonly pairCounts: ReadonlyMap<string, number>;
}

export function comparableName(name: string): ComparableName {
  const letters = name.toLowerCase().replace(/[^\p{L}\p{N}/]/gu, '');
  const pairCounts = new Map<string, number>();
  for (let at = 1; at < letters.length; at += 1) {
    const pair = letters.slice(at - 1, at + 1);
    pairCounts.set(pair, (pairCounts.get(pair) ?? 0) + 1);
  }
  return { letters, pairCounts };
}

/** The Dice coefficient of two names' letter pairs, from 0 to 1. */
export function similarity(a: ComparableName, b: ComparableName): number {
  if (a.letters === b.letters) return 1;
  if (a.letters.length < 2 || b.letters.length < 2) return 0;
  let shared = 0;
  for (const [pair, count] of a.pairCounts) shared += Math.min(count, b.pairCounts.get(pair) ?? 0);
  return (2 * shared) / (a.letters.length + b.letters.length - 2);
}
