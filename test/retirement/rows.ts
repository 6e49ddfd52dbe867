import type { UsageRow } from '../../gateway/usage/usageRow.ts';
import { hour } from './ledger.ts';

/** The requests of a client to a route of a version at an instant. */
export function row(version: string, client: string, at: number, more: Partial<UsageRow> = {}): UsageRow {
  const requests = more.requests ?? 1;
  const counts = { requests, errors: 0, served: requests, failing: 0, refused: 0, first: at, last: at, used: at };
  return { version, client, route: 'GET /drinks', hour: Math.floor(at / hour) * hour, ...counts, ...more };
}
