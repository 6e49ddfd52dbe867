import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { ServingReport, TargetReport } from '../../usage/observability/report.ts';
import { adaptedVersions, stageOf, stageWithWaivers, successorOf } from './stage.ts';

/** A version whose backend is needed, but has no target that can be reached. */
interface UnreachableVersion {
  /** The segment: `v1`. */
  readonly version: string;
  /**
   * True if it is deprecated and has a successor that can be reached: its containers were probably stopped on purpose
   * before it was retired. False: its backend has failed.
   */
  readonly wasStoppedBeforeRetired: boolean;
}

/** The versions whose targets cannot be reached. Versions that an adapter serves are left out, because they need no targets. */
export function unreachableVersions(
  snapshot: Snapshot,
  { versions }: Pick<ServingReport, 'versions'>,
  now: number,
): UnreachableVersion[] {
  const targetsByVersion = new Map(versions.map((one) => [one.name, one.targets]));
  const isUnreachable = (name: string): boolean => noneReachable(targetsByVersion.get(name) ?? []);
  // The backend of a version that has ended may still serve other versions through their adapters.
  const isNeeded = (version: Version): boolean =>
    stageWithWaivers(version, now) !== 'retired' || adaptedVersions(version.name, snapshot, now).length > 0;
  return snapshot.sortedVersions
    .filter(({ adapter }) => adapter?.mode !== 'serve')
    .filter((version) => isNeeded(version) && isUnreachable(version.name))
    .map((version) => {
      const stage = stageOf(version, now);
      const successor = successorOf(version, snapshot, now);
      const isDeprecated = stage === 'deprecated' || stage === 'sunset';
      const hasReachableSuccessor = successor !== undefined && !isUnreachable(successor.name);
      return { version: version.name, wasStoppedBeforeRetired: isDeprecated && hasReachableSuccessor };
    });
}

function noneReachable(targets: readonly TargetReport[]): boolean {
  return targets.length > 0 && targets.every(({ health, reachable }) => health !== 'healthy' && reachable === false);
}
