import type { Answer } from './remark.ts';

/** Why the backends of a version must not be stopped. */
export interface StopBlocker {
  /** A few words: `gw-2 still serves it`. Safe to print. */
  readonly text: string;
  /** `not known`: the backends may be in use, such as by a gateway that is not heard. */
  readonly used: Exclude<Answer, 'no'>;
}

/** What is known of the use of the backends of one version. */
export interface StopFacts {
  /** Whether this gateway sends no new requests of the version to them: it has ended, or an adapter serves it. */
  readonly hasEnded: boolean;
  /** Requests to them in flight, and waiting requests, in this gateway. */
  readonly open: number;
  /** False: a worker does not answer, and may have more of them. */
  readonly isOpenKnown: boolean;
  /** What else uses them, or may: other versions, adapters and other gateways. */
  readonly blockers: readonly StopBlocker[];
}

/** Whether the backends of a version may be stopped. Everything that says so asks it: a yes has evidence that nothing uses them. */
export function stopEvidence({ hasEnded, open, isOpenKnown, blockers }: StopFacts): Answer {
  if (!hasEnded || open > 0 || blockers.some(({ used }) => used === 'yes')) return 'no';
  return isOpenKnown && blockers.length === 0 ? 'yes' : 'not known';
}
