import type { Route } from '../../../contract/routes.ts';
import { canonicalJson } from '../../../contract/schema/keywords.ts';
import type { Change, PartStep } from '../diff/change.ts';
import { defaultLevelOf, predicateOf } from '../rules/rules.ts';
import { looksRenamedPhrase, subjectOf, whatChanged } from '../rules/words.ts';
import { type ContractExamples, type ExampleBody, sampleAt } from './examples.ts';
import { excerptsOf, type OldAndNew } from './excerpts.ts';
import { type ChangeGroup, type GroupedChange, type RouteOccurrence, splitSteps } from './groups.ts';
import { type BeforeAfter, type DescribedChange, inBackticks, type Topic } from './guide.ts';

export interface TopicContext {
  readonly contracts: OldAndNew<ContractExamples>;
  /** For each route of the newer contract, the route of the older one that it replaces. */
  readonly oldRoutes: ReadonlyMap<Route, Route>;
  /** For each removal that looks like a rename: the new name. For a parameter a phrase: "query parameter `limit`". */
  readonly newNameByRemoval: ReadonlyMap<Change, string>;
}

/** Describes the changes of a group, with excerpts of the examples before and after. */
export function topicOf(group: ChangeGroup, anchor: string, context: TopicContext): Topic {
  const { occurrence, bodies } = bestExamples(group, context);
  const subjectPath = splitSteps(occurrence.steps).path;
  const valuesAtSubject = (from: Bodies): Examples => {
    return { old: sampleAt(from.old?.example, subjectPath), new: sampleAt(from.new?.example, subjectPath) };
  };
  const bodyExamples = valuesAtSubject(bodies);
  // Each header has an example of its own.
  const examplesOf = ({ steps }: GroupedChange): Examples =>
    isInHeader(steps)
      ? valuesAtSubject(bodiesAt(occurrence.route, splitSteps([...occurrence.steps, ...steps]).parts, context))
      : bodyExamples;
  const changes = describeChanges(group, examplesOf, context.newNameByRemoval);
  return {
    anchor,
    subject: group.subject,
    changes: changes.filter(({ level }) => level !== 'info'),
    additions: changes.filter(({ level }) => level === 'info'),
    sample: sampleOf(group, subjectPath, bodies),
  };
}

type Bodies = OldAndNew<ExampleBody | undefined>;
type Examples = OldAndNew<unknown>;

// A shared schema may be in hundreds of routes.
const maxOccurrencesTried = 20;

/** A route with an example in both contracts. If there is none, a route with an example in one contract. */
function bestExamples(
  { occurrences, changes }: ChangeGroup,
  context: TopicContext,
): { occurrence: RouteOccurrence; bodies: Bodies } {
  const [shown = changes[0]] = changesInBodies(changes);
  const candidates = occurrences.slice(0, maxOccurrencesTried).map((occurrence) => {
    const { parts, path } = splitSteps([...occurrence.steps, ...(shown?.steps ?? [])]);
    const bodies = bodiesAt(occurrence.route, parts, context);
    // The changed value itself may be missing in one contract, so the examples need only the value that contains it.
    const containerPath = path.slice(0, -1);
    const withExample = [bodies.old, bodies.new].filter((body) => sampleAt(body?.example, containerPath) !== undefined);
    return { occurrence, bodies, exampleCount: withExample.length };
  });
  const [best] = candidates.sort((a, b) => b.exampleCount - a.exampleCount);
  return best ?? { occurrence: occurrences[0], bodies: { old: undefined, new: undefined } };
}

function bodiesAt(route: Route, parts: readonly PartStep[], { contracts, oldRoutes }: TopicContext): Bodies {
  const oldRoute = oldRoutes.get(route);
  return { old: oldRoute && contracts.old.bodyAt(oldRoute, parts), new: contracts.new.bodyAt(route, parts) };
}

/** Only bodies have excerpts. For a header, a parameter or a media type, the sentence is enough. */
function sampleOf({ changes }: ChangeGroup, subjectPath: readonly string[], bodies: Bodies): BeforeAfter | undefined {
  const inBodies = changesInBodies(changes);
  if (inBodies.length === 0) return undefined;
  return excerptsOf(
    bodies,
    subjectPath,
    inBodies.map(({ path }) => path),
  );
}

function changesInBodies(changes: readonly GroupedChange[]): readonly GroupedChange[] {
  return changes
    .filter(({ steps }) => !isInHeader(steps))
    .filter(({ change: { kind } }) => kind !== 'header' && kind !== 'media_type' && kind !== 'parameter');
}

function isInHeader(steps: GroupedChange['steps']): boolean {
  return steps.some(({ kind }) => kind === 'header');
}

const severityOrder = { error: 0, warn: 1, info: 2 } as const;

/** One sentence for each change, errors first. A rename is described once, as a removal that names the new field. */
function describeChanges(
  group: ChangeGroup,
  examplesOf: (change: GroupedChange) => Examples,
  newNameByRemoval: ReadonlyMap<Change, string>,
): DescribedChange[] {
  const renames = pairRenames(group.changes, examplesOf, newNameByRemoval);
  const additions = new Set(renames.values());
  const described = group.changes
    .filter((one) => !additions.has(one))
    .map((one): DescribedChange => {
      const addition = renames.get(one);
      // A rename to a required field is an error, even if the removal of the old field is not.
      const levels = [one, ...(addition ? [addition] : [])].map(({ change }) => defaultLevelOf(change));
      const [level = 'info'] = levels.sort((a, b) => severityOrder[a] - severityOrder[b]);
      const rename = renameClause(addition, newNameByRemoval.get(one.change));
      return { level, text: `${sentenceFor(one)}${valuesInWords(one, examplesOf(one))}${rename}` };
    });
  return described.sort((a, b) => severityOrder[a.level] - severityOrder[b.level]);
}

function sentenceFor({ change, steps }: GroupedChange): string {
  const subject = subjectOf(steps, change);
  return `${subject === '' ? 'it' : subject} ${predicateOf(change)}`;
}

function renameClause(addition: GroupedChange | undefined, name: string | undefined): string {
  if (addition === undefined) return name === undefined ? '' : `; it ${looksRenamedPhrase(name)}`;
  const { change } = addition;
  const isRequired = change.effect === 'added_required' && change.direction === 'request';
  return `; it looks renamed to ${inBackticks(whatChanged(change))}${isRequired ? ', which is required' : ''}`;
}

const kindsShownByValues: ReadonlySet<string> = new Set(['type', 'limit', 'value', 'values', 'structure']);

/** ": `"9.50"` before, `9.5` now", if both examples have a short value; otherwise empty. */
function valuesInWords({ change, path }: GroupedChange, examples: Examples): string {
  const [before, after] = [sampleAt(examples.old, path), sampleAt(examples.new, path)];
  if (!kindsShownByValues.has(change.kind) || !isShort(before) || !isShort(after) || before === after) return '';
  return `: ${inBackticks(JSON.stringify(before))} before, ${inBackticks(JSON.stringify(after))} now`;
}

function isShort(value: unknown): boolean {
  return value !== undefined && (value === null || typeof value !== 'object') && String(value).length <= 40;
}

/**
 * Pairs removed fields, parameters and headers with added ones beside them: by a similar name, or for fields by the same value in
 * the examples of both contracts.
 */
function pairRenames(
  changes: readonly GroupedChange[],
  examplesOf: (change: GroupedChange) => Examples,
  newNameByRemoval: ReadonlyMap<Change, string>,
): ReadonlyMap<GroupedChange, GroupedChange> {
  const renames = new Map<GroupedChange, GroupedChange>();
  const candidates = changes.filter(({ change }) => canBeRenamed(change));
  const added = candidates.filter(({ change }) => /^added/.test(change.effect));
  for (const removed of candidates.filter(({ change }) => !/^added/.test(change.effect))) {
    const siblings = added.filter((one) => one.change.kind === removed.change.kind && areSiblings(one, removed));
    // A header has no value in a body.
    const value = removed.change.kind === 'field' ? sampleAt(examplesOf(removed).old, removed.path) : undefined;
    const withSameValue = siblings.filter((one) => {
      return isDistinctive(value) && canonicalJson(sampleAt(examplesOf(one).new, one.path)) === canonicalJson(value);
    });
    const name = newNameByRemoval.get(removed.change);
    // The phrase for a parameter has backticks, a name has none.
    const withSameName = siblings.filter(({ change }) => whatChanged(change) === name && !name.includes('`'));
    const [best, ...others] = withSameName.length > 0 ? withSameName : withSameValue;
    if (best && others.length === 0 && ![...renames.values()].includes(best)) renames.set(removed, best);
  }
  return renames;
}

function canBeRenamed({ kind, effect }: Change): boolean {
  return (kind === 'field' || kind === 'parameter' || kind === 'header') && !/^(required|optional)$/.test(effect);
}

function areSiblings(a: GroupedChange, b: GroupedChange): boolean {
  const [parentOfA, parentOfB] = [a, b].map(({ path, change }) => {
    return `${change.direction} ${path.slice(0, -1).join('\n')}`;
  });
  return parentOfA === parentOfB;
}

/** False for values such as `true`, `0` and `[]`, which unrelated fields often share. */
function isDistinctive(value: unknown): boolean {
  if (typeof value === 'string') return value.length > 1;
  if (typeof value === 'number') return Math.abs(value) > 1;
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
