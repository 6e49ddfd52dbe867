import type { UsageBatch, UsageRow } from './batch.ts';

/** What one version, or one client or route of it, did in one hour. `item`: '' for the version. Instants in epoch ms. */
export interface Sum {
  readonly version: string;
  readonly item: string;
  readonly hour: number;
  requests: number;
  errors: number;
  served: number;
  first: number;
  last: number;
}

/** A client on a route. */
export interface Pair {
  readonly version: string;
  readonly route: string;
  readonly client: string;
  last: number;
}

/** A batch added up in the ways in which the ledger is asked: there are far fewer of them than rows. */
export function sumsOf(batch: UsageBatch): { version: Sum[]; client: Sum[]; route: Sum[]; pairs: Pair[] } {
  const [version, client, route] = [new Map<string, Sum>(), new Map<string, Sum>(), new Map<string, Sum>()];
  const pairs = new Map<string, Pair>();
  for (const row of batch) {
    addTo(version, row, '');
    addTo(client, row, row.client);
    addTo(route, row, row.route);
    const key = `${row.version}\0${row.route}\0${row.client}`;
    const pair = pairs.get(key);
    if (pair) pair.last = Math.max(pair.last, row.last);
    else pairs.set(key, { version: row.version, route: row.route, client: row.client, last: row.last });
  }
  const values = (sums: Map<string, Sum>): Sum[] => [...sums.values()];
  return { version: values(version), client: values(client), route: values(route), pairs: [...pairs.values()] };
}

function addTo(sums: Map<string, Sum>, row: UsageRow, item: string): void {
  const key = `${row.hour}\0${row.version}\0${item}`;
  const { version, hour, requests, errors, served, first, last } = row;
  const sum = sums.get(key);
  if (!sum) {
    sums.set(key, { version, item, hour, requests, errors, served, first, last });
    return;
  }
  sum.requests += requests;
  sum.errors += errors;
  sum.served += served;
  sum.first = Math.min(sum.first, first);
  sum.last = Math.max(sum.last, last);
}
