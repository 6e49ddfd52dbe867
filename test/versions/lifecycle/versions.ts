import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot, Version } from '../../../gateway/config/snapshot.ts';

const upstream = 'http://127.0.0.1:3001';

/** A snapshot of `routes`, each with an upstream unless it is retired; contracts are in the folder `contracts`. */
export function snapshotOf(routes: Readonly<Record<string, object>>, gateway: object = {}): Snapshot {
  const entries = Object.entries(routes).map(([key, route]) => [key, { upstream, ...route }]);
  return snapshotFrom({ routes: Object.fromEntries(entries), gateway }, `${import.meta.dirname}/contracts`);
}

/** The version with this name: `v1`. */
export function versionOf(snapshot: Snapshot, name: string): Version {
  const version = snapshot.versions.get(name);
  if (!version) throw new Error(`${name} is not in the snapshot`);
  return version;
}
