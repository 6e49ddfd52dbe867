import type { Fault } from '../fault.ts';
import { faultAt, has, valueAt } from '../source.ts';
import type { Rule } from './rule.ts';

/** A version that is served needs somebody to serve it. */
export const needsTarget: Rule = ({ source, entries }) =>
  entries
    .filter(({ key, route }) => !route.retired && !has(source, ['routes', key, 'upstream']))
    .filter(
      ({ key, route }) => route.upstream === undefined && !isUnclear(valueAt(source.tree, ['routes', key, 'retired'])),
    )
    .map(({ key }) => {
      const remedy = 'Write upstream: http://HOST:PORT, or retired: true for a tombstone.';
      return faultAt(source, ['routes', key, 'upstream'], `${key} has no upstream.`, remedy);
    });

// A `retired` that is no boolean has been reported, and was hardly meant as false.
function isUnclear(retired: unknown): boolean {
  return retired !== undefined && typeof retired !== 'boolean';
}

/** The same target twice is one target with another weight. */
export const targetsDiffer: Rule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) => {
    const seen = new Set<string>();
    const faults: Fault[] = [];
    for (const [index, { url }] of (route.upstream ?? []).entries()) {
      const path = ['routes', key, 'upstream', index];
      const remedy = 'Keep one, and give it a higher weight if that was meant.';
      if (seen.has(url)) faults.push(faultAt(source, path, `${url} is already a target of ${key}.`, remedy));
      seen.add(url);
    }
    return faults;
  });
