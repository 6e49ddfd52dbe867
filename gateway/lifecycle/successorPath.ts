import type { Version } from '../config/snapshot.ts';
import { counterpart } from './successor.ts';

/** From one version to another, major by major, retired ones included: their renamings still hold. */
export interface SuccessorPath {
  readonly end: Version;
  /** Only the steps at which a path may change or end; majors that change nothing cost nothing. */
  readonly hop: Hop | undefined;
}

interface Hop {
  readonly from: Version;
  readonly to: Version;
  readonly next: Hop | undefined;
}

/** The way that is already at its end. */
export function arrived(end: Version): SuccessorPath {
  return { end, hop: undefined };
}

/** One step, and on from there. */
export function via(from: Version, to: Version, onwards: SuccessorPath): SuccessorPath {
  const matters = from.moved.size > 0 || (from.contract !== undefined && to.contract !== undefined);
  return { end: onwards.end, hop: matters ? { from, to, next: onwards.hop } : onwards.hop };
}

/** One way, then the other. */
export function joined(first: SuccessorPath, second: SuccessorPath): SuccessorPath {
  const prefix = (hop: Hop | undefined): Hop | undefined => hop && { ...hop, next: prefix(hop.next) ?? second.hop };
  return { end: second.end, hop: prefix(first.hop) ?? second.hop };
}

/** Where `path` is at the end of the way; undefined as soon as a step has no counterpart. */
export function follow(way: SuccessorPath, path: string): string | undefined {
  let target: string | undefined = path;
  for (let { hop } = way; hop && target !== undefined; hop = hop.next) target = counterpart(target, hop.from, hop.to);
  return target;
}
