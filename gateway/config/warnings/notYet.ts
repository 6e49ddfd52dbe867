import type { Path } from '../mask.ts';
import { faultAt, has } from '../source.ts';
import type { Warning } from './warning.ts';

/** Keys that are read and checked, and that no part of this release acts on. */
const everywhere: readonly Path[] = [
  ['gateway', 'workers'],
  ['gateway', 'tls', 'hsts'],
  ['usage'],
  ['retire'],
  ['compat'],
];
const perVersion: readonly Path[] = [['health'], ['retries', 'budget'], ['retries', 'budget_min']];

/** An operator who writes a setting relies on it. */
export const notYetInEffect: Warning = ({ source, entries }) => {
  const scopes: readonly Path[] = [['defaults'], ...entries.map(({ key }): Path => ['routes', key])];
  const paths = [...everywhere, ...scopes.flatMap((scope) => perVersion.map((key): Path => [...scope, ...key]))];
  return paths
    .filter((path) => has(source, path))
    .map((path) => faultAt(source, path, 'This has no effect in this release.', 'Do not rely on it yet.', 'key'));
};
