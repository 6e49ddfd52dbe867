import { afterEach, describe, expect, it, vi } from 'vitest';
import { bucketBounds, DurationCounts, DurationTotals } from '../../../gateway/operate/otlp/durations.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { successfulExchange } from '../../usage/observability/recorded.ts';
import { startCollector } from './collector.ts';
import { startExporting } from './exporting.ts';

const attributes = {
  'http.request.method': 'GET',
  'url.scheme': 'http',
  'http.response.status_code': 200,
  'http.route': '/v1/x',
  'version_gateway.version': 'v1',
  'version_gateway.stage': 'active',
};

/** A gateway that exports its durations every 0.3 s, and a function that makes it hand them to its exporter. */
async function startMeasuring(more: Readonly<Record<string, unknown>> = {}) {
  vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', '300');
  const collector = await startCollector();
  const backend = await startBackend(({ target }) => answer(target === '/y' ? 500 : 200, 'ok'));
  const telemetry = { otlp: collector.url, sample: '0%', metrics: true };
  const gateway = await startExporting({ '/v1': backend.url, ...more }, telemetry);
  let reloads = 0;
  const handOver = async (): Promise<void> => {
    reloads += 1;
    await gateway.reload({ ...telemetry, sample: `0.0000000${reloads}%` });
  };
  return { collector, gateway, handOver };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('http.server.request.duration', () => {
  it('has the requests of each route, status and version, sampled or not', async () => {
    const begun = BigInt(Date.now()) * 1_000_000n;
    const { collector, gateway, handOver } = await startMeasuring({ '/v2': { retired: true } });
    for (const path of ['/v1/x', '/v1/x', '/v1/y', '/v2/x', '/nothing']) await ask(gateway.port, get(path));
    const ended = BigInt(Date.now()) * 1_000_000n;
    await handOver();
    await eventually(() => expect(collector.points.length).toBeGreaterThan(0));
    const points = collector.points.slice(0, 4);
    expect(collector.spans).toEqual([]);
    expect(points.map((point) => [point.attributes, point.count])).toEqual([
      [attributes, 2],
      [{ ...attributes, 'http.route': '/v1/y', 'http.response.status_code': 500, 'error.type': '500' }, 1],
      [
        {
          ...attributes,
          'http.route': '/v2/x',
          'http.response.status_code': 410,
          'version_gateway.version': 'v2',
          'version_gateway.stage': 'retired',
        },
        1,
      ],
      [{ 'http.request.method': 'GET', 'url.scheme': 'http', 'http.response.status_code': 404 }, 1],
    ]);
    for (const point of points) {
      expect(point).toMatchObject({ name: 'http.server.request.duration', unit: 's', bounds: bucketBounds });
      expect(point.bucketCounts.reduce((sum, count) => sum + count)).toBe(point.count);
      expect(point.sum).toBeGreaterThan(0);
      expect(point.temporality).toBe('AGGREGATION_TEMPORALITY_CUMULATIVE');
      expect(point.start).toBeGreaterThanOrEqual(begun);
      expect(point.start).toBeLessThan(ended);
    }
  });

  it('grows from export to export', async () => {
    const { collector, gateway, handOver } = await startMeasuring();
    for (const count of [1, 2]) {
      await ask(gateway.port, get('/v1/x'));
      await handOver();
      await eventually(() => expect(collector.points.at(-1)?.count).toBe(count));
    }
    expect(collector.points.at(-1)?.start).toBe(collector.points[0]?.start);
  });

  it('starts again with each export if deltas are preferred', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta');
    const { collector, gateway, handOver } = await startMeasuring();
    for (const requests of [1, 2]) {
      await ask(gateway.port, get('/v1/x'));
      await handOver();
      await eventually(() => expect(collector.points).toHaveLength(requests));
    }
    expect(collector.points.map(({ count }) => count)).toEqual([1, 1]);
    expect(collector.points[0]?.temporality).toBe('AGGREGATION_TEMPORALITY_DELTA');
    expect(collector.points[1]?.start).toBeGreaterThan(collector.points[0]?.start ?? 0n);
  });
});

describe('counting', () => {
  const route = '/v1/x';

  it('puts each duration into the first bucket that is not below it', () => {
    const counts = new DurationCounts();
    for (const duration of [0, 5, 5.1, 10_000, 10_001]) counts.add({ ...successfulExchange, duration }, route);
    const [row, ...more] = counts.take();
    expect(more).toEqual([]);
    expect(row).toEqual({
      attributes,
      bucketCounts: [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
      count: 5,
      sum: expect.closeTo(20.0111),
      min: 0,
      max: 10.001,
    });
    expect(counts.take()).toEqual([]);
  });

  it.each([
    ['a tunnel', { status: 101 }],
    ['an event stream', { streamed: true }],
    ['bytes that are no request', { method: '' }],
  ])('leaves out %s', (_name, one) => {
    const counts = new DurationCounts();
    counts.add({ ...successfulExchange, ...one }, route);
    expect(counts.take()).toEqual([]);
  });

  it('adds up what exceeds the limit of attribute sets', () => {
    const counts = new DurationCounts();
    for (let index = 0; index < 2_100; index += 1) counts.add(successfulExchange, `/v1/${index}`);
    const rows = counts.take();
    expect(rows).toHaveLength(2_001);
    expect(rows.at(-1)).toMatchObject({ attributes: { 'otel.metric.overflow': true }, count: 100 });
    const totals = new DurationTotals();
    totals.add(structuredClone(rows));
    const others = structuredClone(rows).map((row, index) => ({
      ...row,
      attributes: { 'http.route': `/v2/${index}` },
    }));
    totals.add(others);
    expect(totals.rows.length).toBeLessThanOrEqual(2_001);
    expect(totals.rows.reduce((sum, { count }) => sum + count, 0)).toBe(4_200);
  });

  it.each([
    ['a problem of the gateway', { status: 502, problem: 'TARGET_FAILED', fault: 'target' }, 'TARGET_FAILED'],
    ['a response that breaks off', { status: 200, fault: 'target' }, 'incomplete_response'],
    ['a client that leaves', { status: 499, fault: 'client' }, 'client_disconnected'],
    ['a bad request', { status: 400, problem: 'BAD_REQUEST', fault: 'client' }, undefined],
  ] as const)('names the error of %s', (_name, one, error) => {
    const counts = new DurationCounts();
    counts.add({ ...successfulExchange, ...one }, route);
    expect(counts.take()[0]?.attributes['error.type']).toBe(error);
  });
});
