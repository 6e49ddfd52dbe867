import type { Change, Comparison, Step } from '../change.ts';
import { levelOf } from '../rules/rules.ts';

/** How many of the changes that a comparison has anywhere in it are breaking. A part under way counts as none. */
export function breakages(comparison: Comparison): number {
  return countWhere(comparison, (change) => levelOf(change) === 'error');
}

/** The first of the breaking changes, and the way to it. */
export function worstIn(comparison: Comparison): { change: Change; steps: readonly Step[] } | undefined {
  const seen = new Map<Comparison, readonly Step[]>([[comparison, []]]);
  // The map grows while it is walked.
  for (const [one, steps] of seen) {
    const change = one.changes.find((each) => levelOf(each) === 'error');
    if (change) return { change, steps };
    for (const part of one.parts) {
      if (!seen.has(part.comparison)) seen.set(part.comparison, part.step ? [...steps, part.step] : steps);
    }
  }
  return undefined;
}

/** Whether the rules have no doubts. */
export function isCompatible(comparison: Comparison): boolean {
  return countWhere(comparison, (change) => levelOf(change) !== 'info') === 0;
}

/** Whether nothing but descriptions differs. */
export function isUnchanged(comparison: Comparison): boolean {
  return countWhere(comparison, ({ kind }) => kind !== 'docs') === 0;
}

function countWhere(comparison: Comparison, counts: (change: Change) => boolean): number {
  const seen = new Set<Comparison>([comparison]);
  let count = 0;
  // The set grows while it is walked.
  for (const one of seen) {
    count += one.changes.filter(counts).length;
    for (const part of one.parts) seen.add(part.comparison);
  }
  return count;
}
