import { type Api, type Apis, type GuardSettings, rootApi, rootBase } from '../../gateway/config/api.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';

/** The APIs of a snapshot, with a new reason in `guard.force` of the API at the root for each of the versions. */
export function withForce(
  snapshot: Snapshot,
  versions: readonly string[],
  settings: Partial<GuardSettings> = {},
): Apis<Api> {
  const root = rootApi(snapshot);
  const force = new Map(versions.map((name) => [name, 'a test']));
  return new Map([...snapshot.apis, [rootBase, { ...root, guard: { ...root.guard, ...settings, force } }]]);
}
