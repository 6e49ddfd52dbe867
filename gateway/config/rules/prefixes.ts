import { faultAt, type Source, valueAt } from '../source.ts';
import type { Rule } from './rule.ts';

const prefix = /^\/v(?:0|[1-9]\d*)$/;

export function isPrefix(key: string): boolean {
  return prefix.test(key) && Number.isSafeInteger(Number(key.slice(2)));
}

/** The prefix of a route is `/v` and an integer; nothing else can be matched. */
export const prefixShape: Rule = ({ source }) => {
  const keys = routeKeys(source);
  return keys
    .filter((key) => !isPrefix(key) && keptOf(key, keys) === key)
    .map((key) => {
      const remedy = isPrefix(meant(key)) ? `Write ${meant(key)}.` : 'Write /v and the number of the major: /v1.';
      return faultAt(source, ['routes', key], `${key || 'Nothing'} is not the prefix of a version.`, remedy, 'key');
    });
};

/** `/v1/`, `V01` and `/v1` beside each other: all but one of them would never be reached. */
export const oneSpelling: Rule = ({ source }) => {
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
