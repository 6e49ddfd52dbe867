import { type MetricValues, metricOf } from '../observability/exposition.ts';
import type { LedgerDesk } from './reading/questions.ts';

/** How the ledger itself is. */
type Kept = Pick<LedgerDesk, 'problem' | 'incident' | 'held'>;

// An operator who looks the next morning is to see it.
const recentMs = 24 * 3_600_000;

export function ledgerGauges(usage: Pick<LedgerDesk, keyof Kept | 'foldedHere'> | undefined): MetricValues[] {
  if (!usage) return [];
  return [
    metricOf('version_gateway_ledger_up', [{ labels: {}, value: usage.problem === undefined ? 1 : 0 }]),
    metricOf(
      'version_gateway_ledger_last_incident_timestamp_seconds',
      usage.incident ? [{ labels: {}, value: usage.incident.at / 1000 }] : [],
    ),
    metricOf('version_gateway_ledger_held_rows', [{ labels: {}, value: usage.held }]),
    // Added to what the processes have counted so before the ledger has seen it.
    metricOf('version_gateway_usage_folded_requests_total', [{ labels: {}, value: usage.foldedHere }]),
  ];
}

/** What `/api/status` says of it; null: none is kept. */
export function ledgerStatus(usage: Kept | undefined, now: number): object | null {
  if (!usage) return null;
  const { problem, incident, held } = usage;
  const recent = incident && Math.abs(now - incident.at) < recentMs ? incident.text : null;
  return { problem: problem ?? recent, held_rows: held };
}
