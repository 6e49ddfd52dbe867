import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { createAdmin } from '../../../gateway/operate/admin/app.ts';
import { closeListener, listen, portOf } from '../../../gateway/proxy/pipeline/clientListener.ts';
import { Metrics } from '../../../gateway/usage/observability/metrics.ts';
import { idleOperations } from '../../support/idleOperations.ts';
import { ask, message } from '../../support/rawClient.ts';
import { singleValueOf } from '../../support/response.ts';
import { parseMetrics } from '../../usage/observability/parseMetrics.ts';
import { successfulExchange } from '../../usage/observability/recorded.ts';

async function start(): Promise<number> {
  const metrics = new Metrics();
  metrics.record(successfulExchange);
  const snapshot = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:3001' },
    gateway: { admin: '127.0.0.1:0', admin_token: 'correct-horse' },
  });
  const config = {
    fingerprint: '',
    generation: 1,
    loadedAt: 0,
    trigger: 'start',
    forced: [],
    lastFailure: undefined,
  } as const;
  const report = async () => ({ versions: [], workers: [{ pid: 1, since: 0, metrics: await metrics.json() }] });
  const asked = idleOperations({ configuration: { status: config }, live: { report }, clock: { now: () => 0 } });
  const admin = createServer(createAdmin({ current: snapshot }, { ready: () => true }, asked));
  await listen(admin, snapshot.gateway.admin);
  onTestFinished(() => closeListener(admin));
  return portOf(admin);
}

it('shows the counts of the processes and the state of the gateway', async () => {
  const response = await ask(
    await start(),
    message('GET /metrics HTTP/1.1', 'Host: localhost', 'Authorization: Bearer correct-horse'),
  );
  expect(singleValueOf(response, 'content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const { value } = parseMetrics(Buffer.from(response.body, 'latin1').toString());
  expect(value('version_gateway_retries_total', { version: 'v1' })).toBe(0);
  expect(value('version_gateway_config_generation', {})).toBe(1);
  expect(value('process_cpu_seconds_total', {})).toBeGreaterThan(0);
});

it.each([
  ['without a token', [], 403],
  ['with another', ['Authorization: Bearer horse'], 403],
  ['with the token', ['Authorization: Bearer correct-horse'], 200],
])('%s requests from elsewhere get %s', async (_name, fields, status) => {
  const response = await ask(await start(), message('GET /metrics HTTP/1.1', 'Host: gateway.example', ...fields));
  expect(response.status).toBe(status);
});
