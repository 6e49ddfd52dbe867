import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { refusedUrl } from '../../support/gateway.ts';
import { parseMetrics } from '../../usage/observability/parseMetrics.ts';
import { startWorkers } from './startWorkers.ts';
import { ask, startCounted, startService } from './workerCounting.ts';

async function scrape(admin: string) {
  return parseMetrics(await (await fetch(`${admin}/metrics`)).text());
}

const v1 = { version: 'v1' };
const wellServed = { ...v1, stage: 'active', method: 'GET', class: '2xx' };

it('counts since the last scrape are kept after a worker ends', async () => {
  const { gateway } = await startCounted(await startService());
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const total = 600;
  let sent = 0;
  const loops = Array.from({ length: 8 }, async () => {
    while (sent < total) {
      sent += 1;
      // No scrape yet, so only the first workers have these counts.
      if (sent === total / 2) gateway.child.kill('SIGUSR2');
      await ask(gateway.port, '/v1/x', 'steady', agent);
    }
  });
  await Promise.all(loops);
  await gateway.printed(/rolling restart done/);
  agent.destroy();
  const first = await scrape(gateway.admin);
  expect(first.value('version_gateway_requests_total', wellServed)).toBe(total);
  expect(first.value('version_gateway_request_duration_seconds_count', v1)).toBe(total);

  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done[\s\S]*rolling restart done/);
  const second = await scrape(gateway.admin);
  expect(second.value('version_gateway_requests_total', wellServed)).toBe(total);
  expect(second.value('version_gateway_upgrades_open', v1) ?? 0).toBe(0);
  const cpu = 'process_cpu_seconds_total';
  expect(second.value(cpu, {})).toBeGreaterThan(first.value(cpu, {}) ?? 0);
});

it('ejections are kept after the worker that counted them ends', async () => {
  const [dead, alive] = [await refusedUrl(), await startService()];
  const gateway = await startWorkers(2, { '/v1': { upstream: [dead, alive], health: { eject: '1h' } } });
  const agent = new Agent({ keepAlive: true });
  for (let count = 0; count < 20; count += 1) await ask(gateway.port, '/v1/x', 'steady', agent);
  agent.destroy();
  const ejections = async () =>
    (await scrape(gateway.admin)).value('version_gateway_target_ejections_total', { ...v1, target: dead });
  const before = await ejections();
  expect(before).toBeGreaterThan(0);
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  expect(await ejections()).toBe(before);
});
