import type { LiveState } from '../../gateway/versions/retirement/liveFacts.ts';

/** The state of a gateway that has served no request since its start. */
export const idleState: LiveState = { report: { versions: [], workers: [] }, facts: new Map(), fleet: new Map() };
