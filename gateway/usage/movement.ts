import type { Figures } from './facts.ts';
import type { ClientNames } from './names.ts';
import type { ClientMovement } from './queries.ts';

/** Every client of either version with what it did in each, most requests first. Both by client. */
export function movementOf(
  from: ReadonlyMap<string, Figures>,
  to: ReadonlyMap<string, Figures>,
  names: ClientNames,
): ClientMovement[] {
  const clients = [...new Set([...from.keys(), ...to.keys()])];
  return clients
    .map((client) => {
      const [was, is] = [from.get(client), to.get(client)];
      return {
        client,
        name: names.nameOf(client),
        from: was && { requests: was.requests, last: was.last },
        to: is && { requests: is.requests, first: is.first, last: is.last },
      };
    })
    .sort((a, b) => requestsOf(b) - requestsOf(a));
}

function requestsOf({ from, to }: ClientMovement): number {
  return (from?.requests ?? 0) + (to?.requests ?? 0);
}
