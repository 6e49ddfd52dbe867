import { AggregatorRegistry, collectDefaultMetrics, prometheusContentType, Registry } from 'prom-client';
import { type MetricKind, type MetricName, metricTable } from './metricTable.ts';

/** One metric with its values, as plain data that can be sent between processes. */
export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly MetricSample[];
}

export interface MetricSample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Name of a histogram's `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

export const metricsType = prometheusContentType;

/** A metric of the table. Values of several processes are added. */
export function metricOf(name: MetricName, values: readonly MetricSample[]): MetricValues {
  const { type, help }: MetricKind = metricTable[name];
  return { name, help, type, aggregator: 'sum', values };
}

/** The metrics of several processes, aggregated, in the Prometheus text format. */
export function exposition(parts: readonly (readonly MetricValues[])[]): Promise<string> {
  return AggregatorRegistry.aggregate([...parts]).metrics();
}

/** The same as plain data. */
export function aggregated(parts: readonly (readonly MetricValues[])[]): Promise<readonly MetricValues[]> {
  return plain(AggregatorRegistry.aggregate([...parts]));
}

let processRegistry: Registry | undefined;

/** CPU, memory, event loop and garbage collector of this process, collected from the first call on. */
export function processMetrics(): Promise<readonly MetricValues[]> {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return plain(processRegistry);
}

async function plain(registry: Registry): Promise<readonly MetricValues[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, aggregator, values }) => ({
    name,
    help,
    type: String(type),
    aggregator,
    values: values as MetricSample[],
  }));
}
