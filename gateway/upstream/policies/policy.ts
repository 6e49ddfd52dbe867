import type { Target } from '../target.ts';

/** A target of a version, and its share of the requests compared with the others: at least 1. */
export interface Member {
  readonly target: Target;
  readonly weight: number;
}

/** Picks one of those that may take a request, of which there are two or more. One policy serves one pool. */
export type Policy = (members: readonly Member[]) => Member | undefined;
