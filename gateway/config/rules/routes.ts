import type { Fault } from '../fault.ts';
import { faultAt, has, type Source, valueAt } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** A gateway without a version has nothing to do. */
export const needsRoute: ConfigRule = ({ source }) => {
  const routes = valueAt(source.tree, ['routes']);
  const empty =
    routes === undefined || routes === null || (typeof routes === 'object' && Object.keys(routes).length === 0);
  if (!empty) return [];
  return [faultAt(source, ['routes'], 'There is no route.', 'Write at least one, such as /v1: http://127.0.0.1:3001.')];
};

const prefix = /^\/v(?:0|[1-9]\d*)$/;

export function isPrefix(key: string): boolean {
  return prefix.test(key) && Number.isSafeInteger(Number(key.slice(2)));
}

/** The prefix of a route is `/v` and an integer; nothing else can be matched. */
export const prefixShape: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => !isPrefix(key) && keptOf(key, keys) === key)
    .map((key) => {
      const remedy = isPrefix(meant(key)) ? `Write ${meant(key)}.` : 'Write /v and the number of the major: /v1.';
      return faultAt(source, ['routes', key], `${key || 'Nothing'} is not the prefix of a version.`, remedy, 'key');
    });
};

/** `/v1/`, `V01` and `/v1` beside each other: all but one of them would never be reached. */
export const oneSpelling: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => keptOf(key, keys) !== key)
    .map((key) => {
      const message = `${key} is a second spelling of ${keptOf(key, keys)}.`;
      return faultAt(source, ['routes', key], message, 'Keep one.', 'key');
    });
};

/** Which of several spellings is taken for the right one. */
function keptOf(key: string, keys: readonly string[]): string | undefined {
  const spellings = keys.filter((other) => meant(other) === meant(key));
  return spellings.find(isPrefix) ?? spellings[0];
}

/** The keys of all routes, those too whose value is not one. */
export function routeKeys(source: Source): string[] {
  const routes = valueAt(source.tree, ['routes']);
  return typeof routes === 'object' && routes !== null && !Array.isArray(routes) ? Object.keys(routes) : [];
}

/** The prefix that somebody who wrote `key` had in mind. */
function meant(key: string): string {
  return `/${key
    .toLowerCase()
    .replace(/[\s/]/g, '')
    .replace(/^v0+(?=\d)/, 'v')}`;
}

/** A version that is served needs somebody to serve it. */
export const needsTarget: ConfigRule = ({ source, entries }) =>
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
export const targetsDiffer: ConfigRule = ({ source, entries }) =>
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
