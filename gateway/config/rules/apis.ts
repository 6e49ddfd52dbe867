import { membersOf } from '../../shared/json.ts';
import { basePattern, maxBaseSegments, rootBase } from '../api.ts';
import type { Fault, Path } from '../fault.ts';
import { quotedValue } from '../fault.ts';
import { nameOfType } from '../schema/scalar.ts';
import { type ConfigValues, jsonSchema } from '../schema.ts';
import { faultAt, faultAtKey, gatewaySections, hasValue, type Source, valueAt } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** A rule about the key `apis`, which looks at the whole file. */
function ruleOfFile(check: (source: Source, bases: readonly string[]) => Fault[]): ConfigRule {
  return ({ source }) => (source.api ? [] : check(source, Object.keys(membersOf(valueAt(source.tree, ['apis'])))));
}

/** The content of each API is written in the file. */
export const apisAreMaps = ruleOfFile((source, bases) => {
  const apis = valueAt(source.tree, ['apis']);
  if (apis === undefined || apis === null) return [];
  const word = nameOfType(apis);
  if (word !== 'a map') {
    const remedy = 'Write a map: the base of each API, such as /orders, and its content.';
    return [faultAt(source, ['apis'], `apis is ${word}.`, remedy)];
  }
  return bases.flatMap((base) => {
    const value = valueAt(source.tree, ['apis', base]);
    const kind = nameOfType(value);
    if (kind === 'a map') return [];
    const remedy =
      kind === 'a text'
        ? 'A file cannot be named here. Write the content of the API itself: { routes: { /v1: URL } }.'
        : 'Write the content of the API: { routes: { /v1: URL } }.';
    return [faultAt(source, ['apis', base], `The API ${base} is ${kind}.`, remedy)];
  });
});

const maxLength = 100;
// Pages of the gateway are below the path of an API.
const pages: ReadonlySet<string> = new Set([
  'contracts',
  'guides',
  'versions',
  '.well-known',
  'lifecycle.ics',
  'lifecycle.atom',
]);

/** With these bases, no prefix of a version is the beginning of another one, or of a page of the gateway. */
export const basesAreUsable = ruleOfFile((source, bases) =>
  bases.flatMap((base) => {
    const problem = problemOfBase(base);
    if (problem === undefined) return [];
    const [message, remedy] = problem;
    return [faultAtKey(source, ['apis', base], `${base || 'An empty key'} ${message}.`, remedy)];
  }),
);

function problemOfBase(base: string): readonly [message: string, remedy: string] | undefined {
  if (base === '' || base === '/')
    return ['is no base', 'The API at the root is in `routes` of the file. Write a path such as /orders.'];
  if (!base.startsWith('/')) return ['does not begin with /', 'Write a path such as /orders.'];
  if (base.endsWith('/')) return ['ends with /', `Write ${base.replace(/\/+$/, '') || 'a path such as /orders'}.`];
  const segments = base.slice(1).split('/');
  if (segments.some((one) => one === '' || one === '.' || one === '..'))
    return ['has an empty segment or a dot segment', 'Write a path such as /orders.'];
  if (!basePattern.test(base))
    return ['has a character that a base cannot have', 'Write letters, digits, `.`, `_`, `~` and `-`.'];
  if (segments.length > maxBaseSegments) return [`has more than ${maxBaseSegments} segments`, 'Write a shorter path.'];
  if (base.length > maxLength) return [`has more than ${maxLength} characters`, 'Write a shorter path.'];
  const version = segments.find((one) => /^v\d/i.test(one));
  if (version !== undefined)
    return [`has the segment ${version}, which looks like a version`, 'Write the path without it.'];
  const page = segments.find((one) => pages.has(one));
  return page === undefined ? undefined : [`has the segment ${page}, below which the gateway has pages`, 'Rename it.'];
}

/** Proxies and people take paths that differ only in case for the same. */
export const basesDiffer = ruleOfFile((source, bases) =>
  bases.flatMap((base, index) => {
    const first = bases.slice(0, index).find((other) => other.toLowerCase() === base.toLowerCase());
    if (first === undefined) return [];
    const message = `${base} differs from ${first} only in case.`;
    return [faultAtKey(source, ['apis', base], message, 'Keep one of the two, or rename one.')];
  }),
);

/** One gateway has one listener, one ledger and one log. */
export const apisHaveOwnSectionsOnly = ruleOfFile((source, bases) =>
  bases.flatMap((base) =>
    Object.keys(membersOf(valueAt(source.tree, ['apis', base])))
      .filter((key) => gatewaySections.has(key))
      .map((key) => {
        const remedy =
          key === 'apis' ? 'Write each API in `apis` of the file.' : `Write ${key} at the top of the file.`;
        return faultAtKey(source, ['apis', base, key], `${key} is a section of the gateway, not of an API.`, remedy);
      }),
  ),
);

/** A gateway of a fleet may begin with an empty ledger, which does not know since when an API is served. */
export const apisHaveNoFleet: ConfigRule = ({ source, config: { fleet }, apis }) => {
  if (source.api || apis.size < 2 || fleet.store === undefined) return [];
  const remedy = 'Remove fleet.store, or serve the APIs with gateways of their own.';
  return [faultAtKey(source, ['apis'], 'Gateways of a fleet cannot serve several APIs yet.', remedy)];
};

interface Limit {
  readonly path: readonly [section: 'guard' | 'brownout', key: string];
  readonly valueIn: (config: ConfigValues) => number;
  /** Whether an API may only set a larger value. */
  readonly isFloor: boolean;
}

const limits: readonly Limit[] = [
  { path: ['guard', 'quiet'], valueIn: ({ guard }) => guard.quiet, isFloor: true },
  { path: ['guard', 'notice'], valueIn: ({ guard }) => guard.notice, isFloor: true },
  { path: ['brownout', 'notice'], valueIn: ({ brownout }) => brownout.notice, isFloor: true },
  { path: ['brownout', 'unnamed'], valueIn: ({ brownout }) => brownout.unnamed, isFloor: false },
  { path: ['brownout', 'max_share'], valueIn: ({ brownout }) => brownout.max_share, isFloor: false },
];

/** What the gateway's file protects, an API protects at least as well. */
export const apisAreNotLooser: ConfigRule = ({ source, config, apis }) => {
  const root = apis.get(rootBase);
  if (!source.api || !root) return [];
  const { tree } = source.api;
  return limits.flatMap(({ path, valueIn, isFloor }) => {
    const [own, limit] = [valueIn(config), valueIn(root.config)];
    if (valueAt(tree, path) === undefined || (isFloor ? own >= limit : own <= limit)) return [];
    const text = writtenIn(root.source, path);
    const name = path.join('.');
    const place = hasValue(root.source, path) ? `${name} of the gateway` : `the default of ${name}`;
    const message = `${writtenIn(source, path)} is ${isFloor ? 'less' : 'more'} than ${text}, ${place}.`;
    return [faultAt(source, path, message, `Write ${text} or ${isFloor ? 'more' : 'less'}, or remove the key.`)];
  });
};

function writtenIn({ tree }: Source, path: readonly [string, string]): string {
  const [section, key] = path;
  const byDefault = jsonSchema().properties?.[section]?.properties?.[key]?.default;
  return quotedValue(valueAt(tree, path) ?? byDefault, path satisfies Path) ?? '';
}
