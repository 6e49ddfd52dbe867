import type { Snapshot } from '../config/snapshot.ts';
import type { ServingReport, TargetReport } from '../observability/report.ts';
import { stageOf } from './stage.ts';
import { successorOf } from './successor.ts';

/** What is wrong with a version that is still served: none of its targets can be reached. */
export interface UnreachableVersion {
  /** The segment: `v1`. */
  readonly version: string;
  /**
   * Its clients were told to leave and have a successor that can be reached. Its containers were most likely stopped on
   * purpose, before the version was retired; otherwise its backend has failed.
   */
  readonly stoppedBeforeRetired: boolean;
}

export function unreachableVersions(
  snapshot: Snapshot,
  { versions }: ServingReport,
  now: number,
): UnreachableVersion[] {
  const targets = new Map(versions.map((one) => [one.name, one.targets]));
  const isUnreachable = (name: string): boolean => cannotBeReached(targets.get(name) ?? []);
  return snapshot.byMajor
    .filter((version) => stageOf(version, now) !== 'retired' && isUnreachable(version.name))
    .map((version) => {
      const stage = stageOf(version, now);
      const successor = successorOf(version, snapshot, now);
      const isLeaving = stage === 'deprecated' || stage === 'sunset';
      const hasSuccessor = successor !== undefined && !isUnreachable(successor.name);
      return { version: version.name, stoppedBeforeRetired: isLeaving && hasSuccessor };
    });
}

function cannotBeReached(targets: readonly TargetReport[]): boolean {
  return targets.length > 0 && targets.every(({ reachable }) => reachable === false);
}
