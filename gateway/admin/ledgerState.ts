import { type MetricValues, metricOf } from '../observability/exposition.ts';
import type { UsageQueries } from '../usage/queries.ts';

/** How the ledger itself is. */
type Kept = Pick<UsageQueries, 'problem' | 'held'>;

export function ledgerGauges(usage: Kept | undefined): MetricValues[] {
  if (!usage) return [];
  return [
    metricOf('version_gateway_ledger_up', [{ labels: {}, value: usage.problem === undefined ? 1 : 0 }]),
    metricOf('version_gateway_ledger_held_rows', [{ labels: {}, value: usage.held }]),
  ];
}

/** What `/api/status` says of it; null: none is kept. */
export function ledgerStatus(usage: Kept | undefined): object | null {
  return usage ? { problem: usage.problem ?? null, held_rows: usage.held } : null;
}
