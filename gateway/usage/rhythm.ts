import type { PastClient } from './usageQueries.ts';

// A client that is silent for more than this many of its usual pauses is probably gone.
const overduePauses = 2;

/** Until when (epoch ms) the silence of a client is no sign that it is gone. For a client without a usual pause: its last use. */
export function expectedUntil({ last, usualPause = 0 }: Pick<PastClient, 'last' | 'usualPause'>): number {
  return last + overduePauses * usualPause;
}
