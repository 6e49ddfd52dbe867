import { type Api, baseOf, compareIds, idIn, rootApi, rootBase } from '../../gateway/config/api.ts';
import type { Snapshot, Version } from '../../gateway/config/snapshot.ts';

/** A host with the API of `root` at the root, and each of the `others` below its base: `/orders`. */
export function hostOf(root: Snapshot, others: Readonly<Record<string, Snapshot>>): Snapshot {
  const apis = new Map<string, Api>(root.apis);
  const all: Version[] = [...root.sortedVersions];
  for (const [base, snapshot] of Object.entries(others)) {
    const { guard, ...settings } = rootApi(snapshot);
    const force = new Map([...guard.force].map(([name, reason]) => [idIn(base, name), reason]));
    apis.set(base, { ...settings, base, guard: { ...guard, force } });
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
  const sortedVersions = all.sort((a, b) => compareIds(a.name, b.name));
  return { ...root, apis, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}

/** The host without the versions of the API at the root. */
export function withoutRoot(host: Snapshot): Snapshot {
  const sortedVersions = host.sortedVersions.filter(({ name }) => baseOf(name) !== rootBase);
  return { ...host, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}
