import type { Path } from '../mask.ts';
import { faultAt, has } from '../source.ts';
import type { Warning } from './warning.ts';

/** Keys that are read and checked, and that no part of this release acts on. */
const everywhere: readonly Path[] = [['compat']];

/** An operator who writes a setting relies on it. */
export const notYetInEffect: Warning = ({ source }) =>
  everywhere
    .filter((path) => has(source, path))
    .map((path) => faultAt(source, path, 'This has no effect in this release.', 'Do not rely on it yet.', 'key'));
