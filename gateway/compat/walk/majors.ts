import type { Documents } from '../document/documents.ts';
import { routesOf } from './routes.ts';
import { basePathsOf } from './servers.ts';

/** The majors of two contracts as URL segments: `v67` and `v68`. */
export interface Majors {
  readonly old: string;
  readonly new: string;
}

/**
 * Recognises the contracts of two majors of one API: the URLs of each contain one version, the new one is higher, and
 * without the version a base path of both is the same. Undefined: the second contract is a revision of the first, or
 * another API.
 */
export function majorsBetween(old: Documents, now: Documents): Majors | undefined {
  const [before, after] = [versionIn(old), versionIn(now)];
  if (!before || !after || after.major <= before.major) return undefined;
  if (!before.basePaths.some((path) => after.basePaths.includes(path))) return undefined;
  return { old: `v${before.major}`, new: `v${after.major}` };
}

interface VersionInUrls {
  readonly major: number;
  /** Without the version. */
  readonly basePaths: readonly string[];
}

/** The version at the end of every base path, or at the beginning of every path. */
function versionIn(documents: Documents): VersionInUrls | undefined {
  const basePaths = basePathsOf(documents);
  const inBase = commonMajor(basePaths.map((path) => /\/v(0|[1-9]\d*)$/.exec(path)?.[1]));
  if (inBase !== undefined) return { major: inBase, basePaths: basePaths.map((path) => path.replace(/\/v\d+$/, '')) };
  const paths = [...routesOf(documents).values()].filter(({ kind }) => kind === 'route').map(({ path }) => path);
  const inPaths = commonMajor(paths.map((path) => /^\/v(0|[1-9]\d*)(?=\/|$)/.exec(path)?.[1]));
  return inPaths === undefined ? undefined : { major: inPaths, basePaths };
}

function commonMajor(found: readonly (string | undefined)[]): number | undefined {
  const [first] = found;
  return first !== undefined && found.every((one) => one === first) ? Number(first) : undefined;
}
