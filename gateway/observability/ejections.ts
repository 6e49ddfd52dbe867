import { type MetricValues, metricOf } from './exposition.ts';
import type { ServingReport } from './report.ts';

/** Counted by each process with what else it counts, so that they outlive it. */
export function ejectionsIn({ versions }: ServingReport): MetricValues[] {
  const samples = versions.flatMap(({ name, targets }) =>
    targets.map(({ url, ejections = 0 }) => ({ labels: { version: name, target: url }, value: ejections })),
  );
  return [metricOf('version_gateway_target_ejections_total', samples)];
}
