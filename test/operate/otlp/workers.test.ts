import { expect, it, vi } from 'vitest';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { type Collector, startCollector } from './collector.ts';

const secret = 'k-1234567890';
const key = `X-API-Key: ${secret}`;

function servers({ spans }: Collector) {
  return spans.filter(({ kind }) => kind === 'SPAN_KIND_SERVER');
}

function text(collector: Collector): string {
  return JSON.stringify([collector.spans, collector.points], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

it.each([1, 2])('%i workers export as one service, with the client’s tag instead of its key', async (workers) => {
  vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', '200');
  const [collector, backend] = [await startCollector(), await startBackend()];
  const routes = { '/v1': backend.url };
  const telemetry = { otlp: collector.url, sample: '100%', metrics: true };
  const gateway = await startWorkers(workers, routes, { telemetry });
  vi.unstubAllEnvs();
  const requests = 20;
  // A connection each, so that both workers accept some.
  for (let sent = 0; sent < requests; sent += 1) await ask(gateway.port, get('/v1/x', key));
  await eventually(() => expect(servers(collector)).toHaveLength(requests));
  expect(collector.spans).toHaveLength(2 * requests);
  const clients = new Set(servers(collector).map(({ attributes }) => attributes['version_gateway.client']));
  expect([...clients]).toEqual([expect.stringMatching(/^x-api-key:#[\w-]+$/)]);
  const instances = new Set(collector.spans.map(({ resource }) => resource['service.instance.id']));
  expect(instances.size).toBe(1);

  if (workers > 1) {
    gateway.child.kill('SIGUSR2');
    await gateway.printed(/rolling restart done/);
    await ask(gateway.port, get('/v1/x', key));
    await eventually(() => expect(servers(collector)).toHaveLength(requests + 1));
  }
  // The last settings are applied by all workers, and everything before is passed on.
  gateway.edit(routes, { telemetry: { ...telemetry, sample: '0%' } });
  await gateway.printed(/: reloaded/);
  const total = servers(collector).length;
  await eventually(() => expect(collector.points.at(-1)?.count).toBe(total));
  await ask(gateway.port, get('/v1/x', key));
  gateway.child.kill('SIGTERM');
  await eventually(() => expect(gateway.child.exitCode).toBe(0));
  expect(servers(collector)).toHaveLength(total);
  expect(text(collector)).not.toContain(secret);
  expect(gateway.output()).not.toContain('telemetry:');
});
