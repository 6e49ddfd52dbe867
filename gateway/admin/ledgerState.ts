import { type MetricValues, metricOf } from '../observability/exposition.ts';
import type { LedgerDesk } from './reading/questions.ts';

/** How the ledger itself is. */
type Kept = Pick<LedgerDesk, 'problem' | 'held'>;

export function ledgerGauges(usage: Pick<LedgerDesk, keyof Kept | 'foldedHere'> | undefined): MetricValues[] {
  if (!usage) return [];
  return [
    metricOf('version_gateway_ledger_up', [{ labels: {}, value: usage.problem === undefined ? 1 : 0 }]),
    metricOf('version_gateway_ledger_held_rows', [{ labels: {}, value: usage.held }]),
    // Added to what the processes have counted so before the ledger has seen it.
    metricOf('version_gateway_usage_folded_requests_total', [{ labels: {}, value: usage.foldedHere }]),
  ];
}

/** What `/api/status` says of it; null: none is kept. */
export function ledgerStatus(usage: Kept | undefined): object | null {
  return usage ? { problem: usage.problem ?? null, held_rows: usage.held } : null;
}
