import type { UsageRow } from '../../../../gateway/usage/usageRow.ts';
import { day, ledgerWith, row } from '../../../support/ledgerWith.ts';

/** A ledger on disk with this many clients of v1. Every other one also calls v2. */
export function crowded(clients: number, now: number): ReturnType<typeof ledgerWith> {
  const rows: UsageRow[] = [];
  for (let nth = 0; nth < clients; nth += 1) {
    const client = `x-client-id:shop-${nth}`;
    rows.push(row('v1', client, now - (1 + (nth % 5)) * day, { requests: 1 + nth, route: `GET /r${nth % 30}` }));
    if (nth % 2 === 0) rows.push(row('v2', client, now - day, { requests: 2 }));
  }
  return ledgerWith(rows, now - 100 * day);
}
