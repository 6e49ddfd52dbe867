import type { UsageRow } from '../../gateway/usage/usageRow.ts';

/** A batch as a gateway sends it to the store. */
export interface Batch {
  /** The rows as JSON. */
  readonly text: string;
  readonly rows: number;
  readonly requests: number;
}

const mix = { clients: 500, routes: 20, pairs: 2_000, versions: 2 };
const hourMs = 3_600_000;

/** The counts of random pairs of client and route in the present hour. `group`: which clients. */
export function randomBatch(group: number): Batch {
  const now = Date.now();
  const rows = new Map<string, UsageRow>();
  for (let number = 0; number < mix.pairs; number += 1) {
    const version = `v${1 + (number % mix.versions)}`;
    const client = `x-client-id:client-${group}-${Math.floor(Math.random() * mix.clients)}`;
    const route = `GET /r${Math.floor(Math.random() * mix.routes)}`;
    const counts = { requests: 3, errors: 1, served: 3, failing: 0, refused: 0 };
    const times = { hour: now - (now % hourMs), first: now, last: now, used: now, accepted: now };
    const sizes = { body: 0, target: 40, head: 400 };
    rows.set(`${version} ${client} ${route}`, { version, client, route, ...counts, ...times, ...sizes });
  }
  const requests = rows.values().reduce((sum, one) => sum + one.requests, 0);
  return { text: JSON.stringify([...rows.values()]), rows: rows.size, requests };
}
