import type { Fault } from '../fault.ts';
import { faultAt, has, type Source, valueAt } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** The file needs at least one version. */
export const needsRoute: ConfigRule = ({ source }) => {
  const routes = valueAt(source.tree, ['routes']);
  const empty =
    routes === undefined || routes === null || (typeof routes === 'object' && Object.keys(routes).length === 0);
  if (!empty) return [];
  return [
    faultAt(source, ['routes'], 'The file has no routes.', 'Write at least one, such as /v1: http://127.0.0.1:3001.'),
  ];
};

const prefix = /^\/v(?:0|[1-9]\d*)$/;

export function isPrefix(key: string): boolean {
  return prefix.test(key) && Number.isSafeInteger(Number(key.slice(2)));
}

/** The prefix of a route is `/v` and an integer; only these are matched. */
export const prefixShape: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => !isPrefix(key) && rightSpelling(key, keys) === key)
    .map((key) => {
      const remedy = isPrefix(normalPrefix(key))
        ? `Write ${normalPrefix(key)}.`
        : 'Write /v and the number of the major: /v1.';
      return faultAt(
        source,
        ['routes', key],
        `${key || 'An empty key'} is not the prefix of a version.`,
        remedy,
        'key',
      );
    });
};

/** If a file has `/v1/`, `V01` and `/v1`, only one of them would get requests. */
export const oneSpelling: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => rightSpelling(key, keys) !== key)
    .map((key) => {
      const message = `${key} is a second spelling of ${rightSpelling(key, keys)}.`;
      return faultAt(source, ['routes', key], message, 'Keep one of the two.', 'key');
    });
};

/** The one of several spellings that counts as right. */
function rightSpelling(key: string, keys: readonly string[]): string | undefined {
  const spellings = keys.filter((other) => normalPrefix(other) === normalPrefix(key));
  return spellings.find(isPrefix) ?? spellings[0];
}

/** The keys of all routes, also of those with a wrong value. */
export function routeKeys(source: Source): string[] {
  const routes = valueAt(source.tree, ['routes']);
  return typeof routes === 'object' && routes !== null && !Array.isArray(routes) ? Object.keys(routes) : [];
}

/** The prefix that `key` is a spelling of. */
function normalPrefix(key: string): string {
  return `/${key
    .toLowerCase()
    .replace(/[\s/]/g, '')
    .replace(/^v0+(?=\d)/, 'v')}`;
}

/** A version needs an upstream, unless it is served by an adapter, or is retired and has no waiver. */
export const needsTarget: ConfigRule = ({ source, entries }) =>
  entries
    .filter(({ route }) => route.adapter?.mode !== 'serve')
    .filter(
      ({ key, route }) => (!route.retired || route.waivers.length > 0) && !has(source, ['routes', key, 'upstream']),
    )
    .filter(
      ({ key, route }) => route.upstream === undefined && !isUnclear(valueAt(source.tree, ['routes', key, 'retired'])),
    )
    .map(({ key, route }) => {
      const other = route.retired ? 'remove its waivers' : 'retired: true for a tombstone';
      const remedy = `Write upstream: http://HOST:PORT, or ${other}.`;
      return faultAt(source, ['routes', key, 'upstream'], `${key} has no upstream.`, remedy);
    });

// A `retired` that is no boolean is a fault already, and probably not meant as false.
function isUnclear(retired: unknown): boolean {
  return retired !== undefined && typeof retired !== 'boolean';
}

/** A target may be listed once; its weight says how much it gets. */
export const targetsDiffer: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) => {
    const seen = new Set<string>();
    const faults: Fault[] = [];
    for (const [index, { url }] of (route.upstream ?? []).entries()) {
      const path = ['routes', key, 'upstream', index];
      const remedy = 'Keep one, with a higher `weight` if that is what you want.';
      if (seen.has(url)) faults.push(faultAt(source, path, `${url} is already a target of ${key}.`, remedy));
      seen.add(url);
    }
    return faults;
  });
