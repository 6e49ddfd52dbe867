import { AggregatorRegistry, collectDefaultMetrics, prometheusContentType, Registry } from 'prom-client';
import { type MetricKind, type MetricName, metricTable } from './metricTable.ts';

/** One metric with its values, as plain data: it can travel between processes. */
export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** `_bucket`, `_sum` and `_count` of a histogram have names of their own. */
  readonly metricName?: string;
}

export const metricsType = prometheusContentType;

/** A metric of the table. What several processes say of it is added up. */
export function metricOf(name: MetricName, values: readonly Sample[]): MetricValues {
  const { type, help }: MetricKind = metricTable[name];
  return { name, help, type, aggregator: 'sum', values };
}

/** The text format, of what several processes say. */
export function exposition(parts: readonly (readonly MetricValues[])[]): Promise<string> {
  return AggregatorRegistry.aggregate([...parts]).metrics();
}

/** What there is to count on of several processes: their counters and histograms, added up. */
export function addedUp(parts: readonly (readonly MetricValues[])[]): Promise<readonly MetricValues[]> {
  return plain(AggregatorRegistry.aggregate([...parts]));
}

let ofProcess: Registry | undefined;

/** CPU, memory, event loop and garbage collector of this process, watched from the first call on. */
export function processMetrics(): Promise<readonly MetricValues[]> {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return plain(ofProcess);
}

async function plain(registry: Registry): Promise<readonly MetricValues[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, aggregator, values }) => ({
    name,
    help,
    type: String(type),
    aggregator,
    values: values as Sample[],
  }));
}
