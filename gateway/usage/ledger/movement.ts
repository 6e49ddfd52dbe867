import type { ClientNames } from '../clientNames.ts';
import type { ClientMovement } from '../usageQueries.ts';
import { isSingleClient } from '../usageRow.ts';
import type { UsageSums } from './facts.ts';

/** Every client of either version with what it did in each, most requests first. `ever`: who was seen with the first one. */
export function movementOf(
  from: ReadonlyMap<string, UsageSums>,
  to: ReadonlyMap<string, UsageSums>,
  ever: readonly { readonly client: string }[],
  names: ClientNames,
): ClientMovement[] {
  const before = new Set(ever.map(({ client }) => client));
  // What is counted as others is nobody who could move.
  const clients = [...new Set([...from.keys(), ...to.keys()])].filter((client) => isSingleClient({ client }));
  return clients
    .map((client) => {
      const [was, is] = [from.get(client), to.get(client)];
      return {
        client,
        name: names.nameOf(client),
        before: before.has(client),
        from: was && { requests: was.requests, failing: was.failing, last: was.last },
        to: is && { requests: is.requests, failing: is.failing, first: is.first, last: is.last },
      };
    })
    .sort((a, b) => requestsOf(b) - requestsOf(a));
}

function requestsOf({ from, to }: ClientMovement): number {
  return (from?.requests ?? 0) + (to?.requests ?? 0);
}
