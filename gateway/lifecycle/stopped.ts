import type { Version } from '../config/snapshot.ts';
import type { TargetReport } from '../observability/report.ts';
import { stageOf } from './stage.ts';

/** Whether a version is still served although nobody is there to serve it: its containers were stopped first. */
export function stoppedBeforeRetired(version: Version, targets: readonly TargetReport[], now: number): boolean {
  return (
    stageOf(version, now) !== 'retired' && targets.length > 0 && targets.every(({ reachable }) => reachable === false)
  );
}
