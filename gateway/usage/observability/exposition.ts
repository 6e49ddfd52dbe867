import type { Registry } from 'prom-client';
import { namedApiOf } from '../../config/api.ts';
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
  /** For a histogram: its name with `_bucket`, `_sum` or `_count` at the end. */
  readonly metricName?: string;
}

/** Not loaded at the start: prom-client has many modules, and nothing needs it before metrics are read. */
const promClient = () => import('prom-client');

/** The media type of the text format. */
export async function metricsType(): Promise<string> {
  return (await promClient()).prometheusContentType;
}

/** A metric of the table. Values of several processes are added. A version of an API below the root gets the label `api`, too. */
export function metricOf(name: MetricName, values: readonly MetricSample[]): MetricValues {
  const { type, help }: MetricKind = metricTable[name];
  return { name, help, type, aggregator: 'sum', values: values.map(withApi) };
}

function withApi(sample: MetricSample): MetricSample {
  const version = sample.labels['version'];
  const api = namedApiOf(String(version ?? ''));
  return api === undefined ? sample : { ...sample, labels: { ...sample.labels, api } };
}

/** A metric of the table without labels. */
export function unlabelled(name: MetricName, value: number): MetricValues {
  return metricOf(name, [{ labels: {}, value }]);
}

/** The metrics of several processes, aggregated, in the Prometheus text format. */
export async function exposition(metricsOfProcesses: readonly (readonly MetricValues[])[]): Promise<string> {
  return (await promClient()).AggregatorRegistry.aggregate([...metricsOfProcesses]).metrics();
}

/** The metrics of several processes, aggregated, as plain data. */
export async function aggregated(
  metricsOfProcesses: readonly (readonly MetricValues[])[],
): Promise<readonly MetricValues[]> {
  return asPlainData((await promClient()).AggregatorRegistry.aggregate([...metricsOfProcesses]));
}

let processRegistry: Promise<Registry> | undefined;

/** CPU, memory, event loop and garbage collector of this process, collected from the first call on. */
export async function processMetrics(): Promise<readonly MetricValues[]> {
  processRegistry ??= createProcessRegistry();
  return asPlainData(await processRegistry);
}

async function createProcessRegistry(): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await promClient();
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

async function asPlainData(registry: Registry): Promise<readonly MetricValues[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, aggregator, values }) => ({
    name,
    help,
    type: String(type),
    aggregator,
    values: values as MetricSample[],
  }));
}
