import { membersOf } from '../../shared/json.ts';
import { basePattern } from '../api.ts';
import type { Fault } from '../fault.ts';
import { faultAt, faultAtKey, hasValue, type Source, valueAt } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** The file needs at least one version. */
export const needsRoute: ConfigRule = ({ source }) => {
  const routes = valueAt(source.tree, ['routes']);
  const isEmpty =
    routes === undefined || routes === null || (typeof routes === 'object' && Object.keys(routes).length === 0);
  // A value of a wrong type is already reported.
  const apis = source.api ? undefined : valueAt(source.tree, ['apis']);
  const hasApis = apis !== undefined && apis !== null && Object.keys(apis).length > 0;
  if (!isEmpty || hasApis) return [];
  return [
    faultAt(
      source,
      ['routes'],
      `The ${source.api ? 'API' : 'file'} has no routes.`,
      'Write at least one, such as /v1: http://127.0.0.1:3001.',
    ),
  ];
};

const prefixPattern = /^\/v(?:0|[1-9]\d*)$/;

export function isPrefix(key: string): boolean {
  return prefixPattern.test(key) && Number.isSafeInteger(Number(key.slice(2)));
}

/** The prefix of a route is `/v` and an integer; only these are matched. */
export const prefixShape: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => !isPrefix(key) && rightSpelling(key, keys) === key)
    .map((key) => {
      const end = key.lastIndexOf('/');
      const isBelowBase = end > 0 && isPrefix(key.slice(end)) && basePattern.test(key.slice(0, end));
      const ofOther = `Write it below apis: { ${key.slice(0, end)}: { routes: { ${key.slice(end)}: … } } }.`;
      const spelling = isPrefix(normalPrefix(key))
        ? `Write ${normalPrefix(key)}.`
        : 'Write /v and the number of the major: /v1.';
      const isOwn = source.api?.base === key.slice(0, end);
      const remedy = isBelowBase ? (isOwn ? `Write ${key.slice(end)}.` : ofOther) : spelling;
      return faultAtKey(source, ['routes', key], `${key || 'An empty key'} is not the prefix of a version.`, remedy);
    });
};

/** If a file has `/v1/`, `V01` and `/v1`, only one of them would get requests. */
export const oneSpellingPerVersion: ConfigRule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => rightSpelling(key, keys) !== key)
    .map((key) => {
      const message = `${key} is a second spelling of ${rightSpelling(key, keys)}.`;
      return faultAtKey(source, ['routes', key], message, 'Keep one of the two.');
    });
};

/** The spelling to keep, if a prefix has several spellings. */
function rightSpelling(key: string, keys: readonly string[]): string | undefined {
  const spellings = keys.filter((other) => normalPrefix(other) === normalPrefix(key));
  return spellings.find(isPrefix) ?? spellings[0];
}

/** The keys of all routes, also of those with a wrong value. */
export function routeKeys(source: Source): string[] {
  return Object.keys(membersOf(valueAt(source.tree, ['routes'])));
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
    .filter(({ route }) => route.adapter?.mode !== 'serve' && (!route.retired || route.waivers.length > 0))
    // A route may be a URL, without the key `upstream`. An `upstream` with a wrong value is already reported.
    .filter(({ key, route }) => route.upstream === undefined && !hasValue(source, ['routes', key, 'upstream']))
    .filter(({ key }) => !isUnclear(valueAt(source.tree, ['routes', key, 'retired'])))
    .map(({ key, route }) => {
      const alternative = route.retired ? 'remove its waivers' : 'retired: true for a tombstone';
      const remedy = `Write upstream: http://HOST:PORT, or ${alternative}.`;
      return faultAt(source, ['routes', key, 'upstream'], `${key} has no upstream.`, remedy);
    });

// A `retired` that is no boolean is a fault already, and probably not meant as false.
function isUnclear(retired: unknown): boolean {
  return retired !== undefined && typeof retired !== 'boolean';
}

/** A target may be listed only once. Its weight sets its share of the requests. */
export const targetsDiffer: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) => {
    const seen = new Set<string>();
    const faults: Fault[] = [];
    for (const [index, { url }] of (route.upstream ?? []).entries()) {
      const path = ['routes', key, 'upstream', index];
      const remedy = 'Keep one, with a higher `weight` if it should get more requests.';
      if (seen.has(url)) faults.push(faultAt(source, path, `${url} is already a target of ${key}.`, remedy));
      seen.add(url);
    }
    return faults;
  });

/** Both sides of a `moved` row are path templates below the version. */
export const movedTemplates: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) =>
    Object.entries(route.moved ?? {}).flatMap(([from, to]) => {
      const path = ['routes', key, 'moved', from];
      const keyFaults = problemsOf(from).map(([message, remedy]) => faultAtKey(source, path, message, remedy));
      const valueFaults =
        to === null ? [] : problemsOf(to).map(([message, remedy]) => faultAt(source, path, message, remedy));
      return [...keyFaults, ...valueFaults];
    }),
  );

/** The new path takes its parameters from the old one: by name, or by position for a new name. */
export const movedParameters: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) =>
    Object.entries(route.moved ?? {}).flatMap(([from, to]) => {
      const oldNames = parametersOf(from);
      const newNames = parametersOf(to ?? '');
      const freeNames = oldNames.filter((name) => !newNames.includes(name));
      const lacking = newNames.filter((name) => !oldNames.includes(name)).slice(freeNames.length);
      const remedy = `Use the parameters of ${from}, or write null if there is no counterpart.`;
      return lacking.map((name) =>
        faultAt(
          source,
          ['routes', key, 'moved', from],
          `{${name}} has no value, because ${from} has no such parameter.`,
          remedy,
        ),
      );
    }),
  );

/** `/drinks/{id}` and `/drinks/{name}` match the same paths, so only one of them could apply. */
export const movedRowsDiffer: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) => {
    const fromByShape = new Map<string, string>();
    const faults: Fault[] = [];
    for (const from of Object.keys(route.moved ?? {})) {
      const shape = from.replace(/\{[^{}]*\}/g, '{}');
      const first = fromByShape.get(shape);
      const path = ['routes', key, 'moved', from];
      if (first === undefined) fromByShape.set(shape, from);
      else faults.push(faultAtKey(source, path, `${from} matches the same paths as ${first}.`, 'Keep one of the two.'));
    }
    return faults;
  });

// The characters of a path (RFC 3986 §3.3), and braces. The path is written between the angle brackets of a Link.
const pathCharacters = /^[\w\-.~!$&'()*+,;=:@%/{}]*$/;

function problemsOf(template: string): [message: string, remedy: string][] {
  if (!template.startsWith('/'))
    return [[`${template} does not begin with /.`, 'Write a path below the version, such as /drinks/{id}.']];
  const versionProblem = problemOfVersionIn(template);
  if (versionProblem) return [versionProblem];
  const withoutParameters = template.replace(/\{[^{}/]+\}/g, '');
  if (/[{}]/.test(withoutParameters))
    return [[`${template} has a brace that is not part of a {parameter}.`, 'Write {name}.']];
  return pathCharacters.test(withoutParameters)
    ? []
    : [[`${template} has a character that is not allowed in a path.`, 'Percent-encode it.']];
}

/** Undefined: the template does not begin with a version. */
export function problemOfVersionIn(template: string): [message: string, remedy: string] | undefined {
  const version = /^\/v\d+(?=\/|$)/.exec(template)?.[0];
  if (version === undefined) return undefined;
  return [`${template} has a version in it.`, `Leave ${version} out: templates begin below the version.`];
}

function parametersOf(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
}
