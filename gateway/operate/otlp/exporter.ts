import type { Snapshot } from '../../config/snapshot.ts';
import { OutageNotices } from '../../shared/outage.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import { SupervisedThread, type ThreadEnd } from '../../shared/supervisedThread.ts';
import { type MetricValues, unlabelled } from '../../usage/observability/exposition.ts';
import { shownPartsOf } from '../../usage/observability/logLine.ts';
import type { ExportCommand, ExportReport, ExportSettings, ExportStart, OtlpBatch, SpanRow } from './batch.ts';
import { spanCount } from './batch.ts';

/** Spans that wait for the collector, about a kilobyte each. */
const defaultMaxWaiting = 8_192;
/** How long the last spans may take when the gateway stops. */
const closeMs = 1_500;

export const installCommand =
  'npm install @opentelemetry/api@1.10.0 @opentelemetry/resources@3.1.0 @opentelemetry/exporter-trace-otlp-proto@0.301.0 @opentelemetry/exporter-metrics-otlp-proto@0.301.0';

/**
 * Exports the spans and durations of all serving processes, in a thread of the primary, or of the only process. While the
 * collector does not accept spans, a limited number of them waits. Further spans are dropped and counted. Never throws.
 */
export class OtlpExporter {
  readonly #notice: (line: string) => void;
  readonly #maxWaiting = Number(process.env['OTEL_BSP_MAX_QUEUE_SIZE']) || defaultMaxWaiting;
  /** Separate notices, because a collector may accept spans but no metrics. */
  readonly #outages: Readonly<Record<'spans' | 'metrics', OutageNotices>>;
  readonly #thread: SupervisedThread<ExportCommand, ExportReport>;
  #settings: ExportSettings | undefined;
  /** The collector in the last settings that had one. */
  #url = '';
  /** The number of spans that were sent to the thread, and whose export it has not reported yet. */
  #waiting = 0;
  #exported = 0;
  #dropped = 0;
  /** Whether the thread could not load a package. No thread is then started until the next `configure`: it would fail again. */
  #isUnusable = false;

  constructor(notice: (line: string) => void) {
    this.#notice = (line) => notice(`telemetry: ${line}`);
    this.#outages = { spans: new OutageNotices(this.#notice), metrics: new OutageNotices(this.#notice) };
    this.#thread = new SupervisedThread<ExportCommand, ExportReport>({
      file: threadFile('operate/otlp/thread'),
      task: 'exports spans',
      workerData: () => ({ settings: this.#settings, startedAt: Date.now() }) as ExportStart,
      closeMs,
      onReport: (report) => this.#onReport(report),
      onEnd: (end) => this.#onEnd(end),
      // `#onEnd` has told why it is unusable.
      notice: (line) => this.#isUnusable || this.#notice(line),
    });
  }

  /** Applies the settings of a snapshot. Without `telemetry` the thread ends. */
  async configure({ telemetry, log }: Snapshot): Promise<void> {
    // Spans show as much of an exchange as the access log.
    this.#settings = telemetry && { ...telemetry, shownParts: shownPartsOf(log) };
    this.#isUnusable = false;
    this.#url = telemetry?.otlp ?? this.#url;
    if (this.#settings === undefined) await this.close();
    else if (!this.#thread.send({ kind: 'configure', settings: this.#settings })) this.#thread.start();
  }

  take(batch: OtlpBatch): void {
    this.#dropped += batch.dropped;
    const isExporting = this.#settings !== undefined && !this.#isUnusable && this.#thread.start();
    const acceptedRows: SpanRow[] = [];
    let acceptedSpans = 0;
    for (const row of batch.spans) {
      const count = spanCount(row);
      if (isExporting && this.#waiting + acceptedSpans + count <= this.#maxWaiting) {
        acceptedRows.push(row);
        acceptedSpans += count;
      } else this.#dropped += count;
    }
    this.#waiting += acceptedSpans;
    this.#thread.send({ kind: 'export', batch: { ...batch, spans: acceptedRows } });
  }

  metrics(): readonly MetricValues[] {
    return [
      unlabelled('version_gateway_otlp_exported_spans_total', this.#exported),
      unlabelled('version_gateway_otlp_dropped_spans_total', this.#dropped),
    ];
  }

  /** Exports the waiting spans and the metrics, for a limited time. */
  async close(): Promise<void> {
    this.#settings = undefined;
    await this.#thread.end({ kind: 'close' });
  }

  #onReport(report: ExportReport): void {
    if (report.kind === 'notice') {
      this.#notice(report.line);
      return;
    }
    const { signal, spans, reason } = report;
    this.#waiting -= spans;
    if (reason !== undefined) {
      this.#dropped += spans;
      this.#outages[signal].failed(`${this.#url} does not accept ${signal}: ${reason}.`);
      return;
    }
    this.#exported += spans;
    this.#outages[signal].recovered(`${signal} are exported again; ${this.#dropped} spans were dropped so far.`);
  }

  #onEnd(end: ThreadEnd | undefined): void {
    const lost = this.#waiting;
    this.#dropped += lost;
    this.#waiting = 0;
    this.#isUnusable = end?.code === 'ERR_MODULE_NOT_FOUND';
    if (this.#isUnusable)
      this.#outages.spans.failed(
        `nothing is exported: ${end?.reason.split(' imported from')[0]}.  Run ${installCommand}`,
      );
    else if (end === undefined && lost > 0) this.#notice(`${lost} spans were not exported in time.`);
  }
}
