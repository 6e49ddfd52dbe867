import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { DiagLogLevel, diag, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { packageVersion } from '../../shared/packageFiles.ts';
import { lowerThreadPriority } from '../../shared/threadPriority.ts';
import {
  type ExportCommand,
  type ExportReport,
  type ExportSettings,
  type ExportStart,
  type SpanRow,
  spanCount,
} from './batch.ts';
import { bucketBounds, DurationTotals } from './durations.ts';
import { hrTime, readableSpans } from './spans.ts';

// The entry point of the thread that exports spans and metrics. Only this thread loads the OpenTelemetry packages.

/** Exchanges in one request to the collector. */
const batchSize = 256;
/** The pause after a request that failed in spite of the retries of the OTLP package. Each further failure doubles it. */
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;
const metricIntervalMs = Number(process.env['OTEL_METRIC_EXPORT_INTERVAL']) || 60_000;
const isDelta = /^(?:delta|lowmemory)$/i.test(process.env['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'] ?? '');

type Resource = ReturnType<typeof resourceFromAttributes>;
type ResourceMetrics = Parameters<OTLPMetricExporter['export']>[0];
type Exporter<Items> = {
  export(items: Items, done: (result: { readonly error?: Error; readonly code: number }) => void): void;
};

lowerThreadPriority();
reportWarnings();
const scope = { name: 'version-gateway', version: packageVersion() };
const resource: Resource = resourceFromAttributes({
  'service.name': 'version-gateway',
  'service.version': scope.version,
  'service.instance.id': randomUUID(),
}).merge(detectResources({ detectors: [envDetector] }));
const waiting: SpanRow[] = [];
const durations = new DurationTotals();
let { settings, startedAt: countedSince } = workerData as ExportStart;
let traceExporter = new OTLPTraceExporter({ url: `${settings.otlp}/v1/traces` });
let metricExporter = new OTLPMetricExporter({ url: `${settings.otlp}/v1/metrics` });
/** Resolves when all waiting spans are exported or dropped. Undefined: no span waits. */
let exporting: Promise<void> | undefined;
let pauseMs = firstPauseMs;
/** Ends the current pause when it is aborted. */
let pauseController = new AbortController();
let isClosing = false;

const timer = setInterval(() => void exportMetrics(), metricIntervalMs).unref();

parentPort?.on('message', (command: ExportCommand) => {
  if (command.kind === 'configure') configure(command.settings);
  else if (command.kind === 'close') void close();
  else {
    durations.add(command.batch.durations);
    waiting.push(...command.batch.spans);
    startExport();
  }
});

function configure(next: ExportSettings): void {
  const hasNewCollector = next.otlp !== settings.otlp;
  settings = next;
  if (!hasNewCollector) return;
  pauseMs = firstPauseMs;
  pauseController.abort();
  traceExporter = new OTLPTraceExporter({ url: `${next.otlp}/v1/traces` });
  metricExporter = new OTLPMetricExporter({ url: `${next.otlp}/v1/metrics` });
}

function startExport(): void {
  exporting ??= exportSpans().finally(() => {
    exporting = undefined;
  });
}

/** Sends one request at a time. `OtlpExporter` sends the spans to this thread, and limits how many of them wait here. */
async function exportSpans(): Promise<void> {
  while (waiting.length > 0) {
    const rows = waiting.splice(0, batchSize);
    const count = rows.reduce((sum, row) => sum + spanCount(row), 0);
    const spans = rows.flatMap((row) => readableSpans(row, settings.shownParts, { resource, scope }));
    const reason = await failureOf(traceExporter, spans);
    post({ kind: 'result', signal: 'spans', spans: count, reason });
    if (reason === undefined) pauseMs = firstPauseMs;
    else if (!isClosing) {
      pauseController = new AbortController();
      await sleep(pauseMs, undefined, { signal: pauseController.signal }).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  }
}

async function exportMetrics(): Promise<void> {
  const { rows } = durations;
  if (!settings.metrics || rows.length === 0) return;
  const now = Date.now();
  const startTime = hrTime(countedSince);
  const dataPoints = rows.map(({ attributes, bucketCounts, count, sum, min, max }) => {
    const value = { buckets: { boundaries: bucketBounds, counts: [...bucketCounts] }, count, sum, min, max };
    return { startTime, endTime: hrTime(now), attributes, value };
  });
  if (isDelta) {
    durations.clear();
    countedSince = now;
  }
  const histogram: ResourceMetrics['scopeMetrics'][number]['metrics'][number] = {
    descriptor: {
      name: 'http.server.request.duration',
      description: 'Duration of HTTP server requests.',
      unit: 's',
      valueType: ValueType.DOUBLE,
    },
    // The numbers are those of the enums in @opentelemetry/sdk-metrics: DELTA or CUMULATIVE, and HISTOGRAM.
    aggregationTemporality: isDelta ? 0 : 1,
    dataPointType: 0,
    dataPoints,
  };
  const reason = await failureOf(metricExporter, { resource, scopeMetrics: [{ scope, metrics: [histogram] }] });
  post({ kind: 'result', signal: 'metrics', spans: 0, reason });
}

/** Exports the waiting spans without pauses, then the metrics, and ends the thread. */
async function close(): Promise<void> {
  isClosing = true;
  pauseController.abort();
  clearInterval(timer);
  startExport();
  await exporting;
  await exportMetrics();
  parentPort?.close();
}

/** Undefined: the collector has accepted the items. */
function failureOf<Items>(exporter: Exporter<Items>, items: Items): Promise<string | undefined> {
  return new Promise((resolve) => {
    try {
      exporter.export(items, ({ code, error }) => resolve(code === 0 ? undefined : reasonOf(error)));
    } catch (error) {
      resolve(reasonOf(error));
    }
  });
}

function reasonOf(error: unknown): string {
  const { message = '', code } = (error ?? {}) as { readonly message?: string; readonly code?: unknown };
  const text = message === '' ? 'no reason given' : message;
  return typeof code === 'number' ? `status ${code}, ${text}` : text;
}

/** Passes on warnings of the packages, such as an invalid OTEL_* variable or spans that the collector has rejected. */
function reportWarnings(): void {
  const maxReportedWarnings = 100;
  const reported = new Set<string>();
  const warn = (...parts: unknown[]): void => {
    const line = parts.map(String).join(' ');
    if (reported.has(line) || reported.size >= maxReportedWarnings) return;
    reported.add(line);
    post({ kind: 'notice', line });
  };
  const ignore = (): void => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}

function post(report: ExportReport): void {
  parentPort?.postMessage(report);
}
