import { isMap, type Located } from '../document/located.ts';
import { isDocs, isEqual } from '../schema/canonical.ts';
import type { Change, ChangeOf, Comparison, Kind, SeverityOf, Step } from './change.ts';

export function emptyComparison(): Comparison {
  return { changes: [], parts: [], isDone: false };
}

/** A finished comparison with one change. */
export function comparisonOf(change: Change): Comparison {
  return { changes: [change], parts: [], isDone: true };
}

/** Adds the comparison of a part, unless it is known to be without changes. */
export function addPart(whole: Comparison, step: Step | undefined, comparison: Comparison | undefined): void {
  if (comparison === undefined) return;
  const { isDone, changes, parts } = comparison;
  if (!isDone || changes.length > 0 || parts.length > 0) whole.parts.push({ step, comparison });
}

/** A change whose direction and name are left out where they say nothing. */
type NewChange = {
  readonly [K in Kind]: Pick<ChangeOf<K>, 'kind' | 'effect' | 'old' | 'new'> &
    Partial<Pick<ChangeOf<K>, 'direction' | 'name' | 'detail'>>;
}[Kind];

export function addChange(into: Comparison, change: NewChange): void {
  into.changes.push({ direction: undefined, name: '', ...change });
}

/** Adds one change that lists the descriptive keywords with another value. */
export function compareDocs(old: Located, now: Located, into: Comparison): void {
  if (!isMap(old.value) || !isMap(now.value)) return;
  const [before, after] = [old.value, now.value];
  const keywords: string[] = [];
  for (const key of Object.keys(before)) if (isDocs(key) && !isEqual(before[key], after[key])) keywords.push(key);
  for (const key of Object.keys(after)) if (isDocs(key) && before[key] === undefined) keywords.push(key);
  if (keywords.length === 0) return;
  keywords.sort();
  addChange(into, { kind: 'docs', effect: 'changed', detail: { is: 'keywords', keywords }, old, new: now });
}

/** Adds a change of documentation where the values of a keyword differ. */
export function compareAsDocs(keyword: string, old: Located, now: Located, into: Comparison): void {
  if (!isEqual(old.value, now.value))
    addChange(into, { kind: 'docs', effect: 'changed', name: keyword, old, new: now });
}

/** The number of breaking changes in a comparison and its parts. A part that is not done yet counts as it is. */
export function countBreaking(comparison: Comparison, severityOf: SeverityOf): number {
  return countChanges(comparison, (change) => severityOf(change) === 'error');
}

export function isCompatible(comparison: Comparison, severityOf: SeverityOf): boolean {
  return countChanges(comparison, (change) => severityOf(change) !== 'info') === 0;
}

/** Whether nothing but descriptions differs. */
export function isUnchanged(comparison: Comparison): boolean {
  return countChanges(comparison, ({ kind }) => kind !== 'docs') === 0;
}

function countChanges(comparison: Comparison, counts: (change: Change) => boolean): number {
  const seen = new Set<Comparison>([comparison]);
  let count = 0;
  // The set grows during the loop.
  for (const one of seen) {
    count += one.changes.filter(counts).length;
    for (const part of one.parts) seen.add(part.comparison);
  }
  return count;
}

/** The breaking change that is the fewest steps away, and the steps to it. */
export function firstBreaking(
  comparison: Comparison,
  severityOf: SeverityOf,
): { change: Change; steps: readonly Step[] } | undefined {
  const seen = new Map<Comparison, readonly Step[]>([[comparison, []]]);
  // The map grows during the loop.
  for (const [one, steps] of seen) {
    const change = one.changes.find((each) => severityOf(each) === 'error');
    if (change) return { change, steps };
    for (const part of one.parts) {
      if (!seen.has(part.comparison)) seen.set(part.comparison, part.step ? [...steps, part.step] : steps);
    }
  }
  return undefined;
}
