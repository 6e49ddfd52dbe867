import type { UsageBatch, UsageRow } from './batch.ts';
import { addCounts, type Counts } from './counts.ts';

/** What one version, or one client or route of it, did in one hour. `item`: '' for the version. */
export interface Sum extends Counts {
  readonly version: string;
  readonly item: string;
  readonly hour: number;
}

/** What a client did with a route in one hour. */
export interface Pair extends Counts {
  readonly version: string;
  readonly route: string;
  readonly client: string;
  readonly hour: number;
}

/** A batch added up in the ways in which the ledger is asked. */
export function sumsOf(batch: UsageBatch): { version: Sum[]; client: Sum[]; route: Sum[]; pairs: Pair[] } {
  const [version, client, route] = [new Map<string, Sum>(), new Map<string, Sum>(), new Map<string, Sum>()];
  const pairs = new Map<string, Pair>();
  for (const row of batch) {
    addTo(version, row, '');
    addTo(client, row, row.client);
    addTo(route, row, row.route);
    const key = `${row.hour}\0${row.version}\0${row.route}\0${row.client}`;
    const pair = pairs.get(key);
    if (pair) addCounts(pair, row);
    else pairs.set(key, { ...row });
  }
  const values = (sums: Map<string, Sum>): Sum[] => [...sums.values()];
  return { version: values(version), client: values(client), route: values(route), pairs: [...pairs.values()] };
}

function addTo(sums: Map<string, Sum>, row: UsageRow, item: string): void {
  const key = `${row.hour}\0${row.version}\0${item}`;
  const { route: _route, client: _client, ...counts } = row;
  const sum = sums.get(key);
  if (sum) addCounts(sum, row);
  else sums.set(key, { ...counts, item });
}
