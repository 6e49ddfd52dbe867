import { apiPathOf, baseOf, nameIn } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { type PathTable, translatePath } from '../../shared/pathTable.ts';
import { nextVersion, successorOf } from './stage.ts';

type Guided = Pick<Version, 'name' | 'guide' | 'contract'>;

/** The root-relative path of the migration guide from a version to its successor; undefined if it is not published. */
export function guidePath(
  version: Guided,
  successor: Guided | undefined,
  host: Pick<Snapshot, 'gateway'>,
): string | undefined {
  // Checked here and not when the configuration is loaded: when the successor is retired, another version becomes the successor.
  const arePublished = version.contract?.publish === true && successor?.contract?.publish === true;
  if (!version.guide || !arePublished) return undefined;
  const base = baseOf(version.name);
  const [from, to] = [version.name, successor.name].map((name) => nameIn(base, name).replaceAll('/', '-'));
  return `${apiPathOf(version.name, host)}/guides/${from}-to-${to}`;
}

/** What precedes the segment of a successor in another API in the name of a guide, without the hyphen between them. */
export function guideNameOfApi(base: string): string {
  return base.slice(1).replaceAll('/', '-');
}

/** The members of a problem that tell a refused client when the version ends, and where to go. */
export function problemMembersAboutEnd(
  version: Version,
  snapshot: Snapshot,
  now: number,
): Readonly<Record<string, string>> {
  const { basePath, publicUrl = '' } = snapshot.gateway;
  const successor = successorOf(version, snapshot, now);
  const guide = guidePath(version, successor, snapshot);
  const info = version.info ?? (guide && `${publicUrl}${guide}`);
  return {
    ...(version.deprecation === undefined ? {} : { deprecation: rfc3339(version.deprecation) }),
    ...(version.sunset === undefined ? {} : { sunset: rfc3339(version.sunset) }),
    ...(successor === undefined ? {} : { successor: `${publicUrl}${basePath}/${successor.name}` }),
    ...(info === undefined ? {} : { info }),
  };
}

/** The `moved` tables from one version to another, successor by successor. None if the successors do not lead to `to`. */
export function movedTables(from: Version, to: Version, snapshot: Snapshot): PathTable<string | null>[] {
  const tables: PathTable<string | null>[] = [];
  for (let version = from; version !== to; ) {
    const next = nextVersion(version, snapshot);
    if (next === undefined) return [];
    tables.push(version.moved);
    version = next;
  }
  return tables;
}

/** `path` after all `moved` tables; null if a table removes it. The contracts may lack the resulting path. */
export function movedTo(path: string, tables: readonly PathTable<string | null>[]): string | null {
  let current = path;
  for (const table of tables) {
    const row = table.find(current);
    if (!row) continue;
    const next = row.value === null ? undefined : translatePath(current, row.template, row.value);
    if (next === undefined) return null;
    current = next;
  }
  return current;
}
