import { histogramOf } from './buckets.ts';
import type { ExchangeRecord, Recorder } from './exchangeRecord.ts';
import { type MetricValues, metricOf, processMetrics, type Sample } from './exposition.ts';
import type { MetricName } from './metricTable.ts';
import { VersionCounts } from './versionCounts.ts';

// A version has a digit behind its v, so no version is called that.
const unknown = 'unknown';

/** What one process counts of its exchanges. */
export class Metrics implements Recorder {
  readonly #counts = new Map<string, VersionCounts>();

  record(facts: ExchangeRecord): void {
    this.#of(facts.version).add(facts);
  }

  switched(version: string): void {
    this.#of(version).upgrades += 1;
  }

  /** All of this process as plain data, its memory and event loop included. */
  async json(): Promise<readonly MetricValues[]> {
    return [...this.#own(), ...(await processMetrics())];
  }

  #own(): MetricValues[] {
    const rows = [...this.#counts].map(([version, counts]) => ({ version, counts }));
    const each = (name: MetricName, value: (counts: VersionCounts) => number): MetricValues =>
      metricOf(
        name,
        rows.map(({ version, counts }) => ({ labels: { version }, value: value(counts) })),
      );
    return [
      metricOf(
        'version_gateway_requests_total',
        rows.flatMap(({ version, counts }) => counts.requests(version)),
      ),
      histogramOf(
        'version_gateway_request_duration_seconds',
        rows.map(({ version, counts }) => [{ version }, counts.duration]),
      ),
      histogramOf(
        'version_gateway_upstream_duration_seconds',
        rows.map(({ version, counts }) => [{ version }, counts.upstream]),
      ),
      each('version_gateway_request_bytes_total', ({ bytesIn }) => bytesIn),
      each('version_gateway_response_bytes_total', ({ bytesOut }) => bytesOut),
      each('version_gateway_retries_total', ({ retries }) => retries),
      metricOf(
        'version_gateway_failures_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'fault', Object.entries(counts.failures))),
      ),
      metricOf(
        'version_gateway_problems_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'code', counts.problems)),
      ),
      each('version_gateway_upgrades_open', ({ upgrades }) => upgrades),
    ];
  }

  #of(version: string): VersionCounts {
    const name = version === '' ? unknown : version;
    let counts = this.#counts.get(name);
    if (counts === undefined) {
      counts = new VersionCounts();
      this.#counts.set(name, counts);
    }
    return counts;
  }
}

function labelled(version: string, label: string, values: Iterable<readonly [string, number]>): Sample[] {
  return [...values].map(([text, value]) => ({ labels: { version, [label]: text }, value }));
}
