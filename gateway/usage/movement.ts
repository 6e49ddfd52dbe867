import { isTold } from './callers.ts';
import type { Figures } from './facts.ts';
import type { ClientNames } from './names.ts';
import type { ClientMovement } from './queries.ts';

/** Every client of either version with what it did in each, most requests first. `ever`: who was seen with the first one. */
export function movementOf(
  from: ReadonlyMap<string, Figures>,
  to: ReadonlyMap<string, Figures>,
  ever: readonly { readonly client: string }[],
  names: ClientNames,
): ClientMovement[] {
  const before = new Set(ever.map(({ client }) => client));
  // What is counted as others is nobody who could move.
  const clients = [...new Set([...from.keys(), ...to.keys()])].filter((client) => isTold({ client }));
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
