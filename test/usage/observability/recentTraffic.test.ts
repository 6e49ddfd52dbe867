import { expect, it } from 'vitest';
import { Metrics } from '../../../gateway/usage/observability/metrics.ts';
import { TrafficSamples } from '../../../gateway/usage/observability/recentTraffic.ts';
import type { ServingReport } from '../../../gateway/usage/observability/report.ts';
import { successfulExchange } from './recorded.ts';

async function reportOf(...processes: Metrics[]): Promise<ServingReport> {
  const metrics = await Promise.all(processes.map((one) => one.json()));
  return { versions: [], workers: metrics.map((values, pid) => ({ pid, since: 0, metrics: values })) };
}

function record(metrics: Metrics, times: number, facts: Partial<typeof successfulExchange>): void {
  for (let at = 0; at < times; at += 1) metrics.record({ ...successfulExchange, ...facts });
}

it('aggregates rates and latencies of all workers since the start', async () => {
  let now = 5_000;
  const samples = new TrafficSamples(() => now);
  expect(samples.recent).toBeUndefined();
  const [one, other] = [new Metrics(), new Metrics()];
  record(one, 60, { duration: 3 });
  record(one, 30, { duration: 200 });
  record(other, 9, { duration: 3 });
  record(other, 1, { duration: 90_000, status: 503 });
  record(other, 5, { version: 'v2', status: 404, duration: 3 });
  now += 20_000;
  expect(samples.isDue).toBe(true);
  samples.add(await reportOf(one, other));
  const { spanMs, versions } = samples.recent ?? { spanMs: 0, versions: [] };
  expect(spanMs).toBe(20_000);
  const [v1, v2] = versions;
  expect(v1).toMatchObject({ version: 'v1', requestsPerSecond: 5, errorShare: 0.01 });
  expect(v1?.p50).toBeGreaterThan(2.5);
  expect(v1?.p50).toBeLessThanOrEqual(5);
  expect(v1?.p99).toBeGreaterThan(100);
  expect(v1?.p99).toBeLessThanOrEqual(250);
  expect(v2).toMatchObject({ version: 'v2', requestsPerSecond: 0.25, errorShare: 0 });
});

it('covers the last minute and reports the span', async () => {
  let now = 0;
  const samples = new TrafficSamples(() => now);
  const metrics = new Metrics();
  record(metrics, 1_000, { duration: 30_000 });
  for (let second = 5; second <= 200; second += 5) {
    now = second * 1_000;
    if (second > 140) record(metrics, 10, { duration: 3 });
    samples.add(await reportOf(metrics));
  }
  expect(samples.recent).toMatchObject({ spanMs: 60_000, versions: [{ requestsPerSecond: 2, errorShare: 0 }] });
  expect(samples.recent?.versions[0]?.p99).toBeLessThanOrEqual(5);
  // No status request for an hour.
  now += 3_600_000;
  expect(samples.isDue).toBe(true);
  samples.add(await reportOf(metrics));
  expect(samples.recent).toMatchObject({
    spanMs: 3_600_000,
    versions: [{ requestsPerSecond: 0, errorShare: undefined }],
  });
  expect(samples.isDue).toBe(false);
  for (const step of [5_000, 5_000]) {
    now += step;
    samples.add(await reportOf(metrics));
  }
  expect(samples.recent?.spanMs).toBe(10_000);
});

it('shows the highest bound for slower requests, and starts again when counts are missing', async () => {
  let now = 0;
  const samples = new TrafficSamples(() => now);
  const [one, other] = [new Metrics(), new Metrics()];
  record(one, 10, { duration: 90_000 });
  record(other, 10, { duration: 90_000 });
  now = 10_000;
  samples.add(await reportOf(one, other));
  expect(samples.recent?.versions[0]).toMatchObject({ p50: 60_000, p99: 60_000 });
  now = 20_000;
  samples.add(await reportOf(one));
  expect(samples.recent).toBeUndefined();
});
