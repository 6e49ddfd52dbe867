import { type Api, idIn, rootApi } from '../../gateway/config/api.ts';
import type { Snapshot, Version } from '../../gateway/config/snapshot.ts';

/** A host with the API of `root` at the root, and each of the `others` below its base: `/orders`. */
export function hostOf(root: Snapshot, others: Readonly<Record<string, Snapshot>>): Snapshot {
  const apis = new Map<string, Api>(root.apis);
  const all: Version[] = [...root.sortedVersions];
  for (const [base, snapshot] of Object.entries(others)) {
    apis.set(base, { ...rootApi(snapshot), base });
    all.push(
      ...snapshot.sortedVersions.map((version) => {
        const { name, successor, adapter, shadow } = version;
        return {
          ...version,
          name: idIn(base, name),
          successor: successor === undefined ? undefined : idIn(base, successor),
          shadow: shadow && { ...shadow, to: idIn(base, shadow.to) },
          adapter: adapter && { ...adapter, from: idIn(base, adapter.from) },
        };
      }),
    );
  }
  const sortedVersions = all.sort((a, b) => a.major - b.major);
  return { ...root, apis, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}
