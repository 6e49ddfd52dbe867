import type { Balance } from '../../config/snapshot.ts';
import { leastRequests } from './leastRequests.ts';
import type { Policy } from './policy.ts';
import { random } from './random.ts';
import { roundRobin } from './roundRobin.ts';

/** A missing or superfluous policy does not compile. */
export const policies = {
  round_robin: roundRobin,
  least_requests: () => leastRequests(),
  random: () => random(),
} satisfies Record<Balance, () => Policy>;
