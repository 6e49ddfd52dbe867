import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startLoadedBackend } from '../load/support.ts';
import { connectTo, get, type RawClient } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startGateway } from './support/gateway.ts';

const capacity = 100;
const workMs = 50;

it('at twice its capacity, refuses the excess with Retry-After and answers the other requests as fast as before', async () => {
  const backend = await startLoadedBackend((_req, res) => setTimeout(() => res.end('ok'), workMs));
  const limits = { in_flight: capacity, queue: 'off' };
  const gateway = await startGateway(JSON.stringify({ routes: { '/v1': { upstream: backend.url, limits } } }));
  await sendLoad(gateway.port, capacity / 2, 500); // compilers warm up
  const normal = await sendLoad(gateway.port, capacity, 3_000);
  const overload = sendLoad(gateway.port, 2 * capacity, 4_000);
  const admin: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    await sleep(300);
    const startedAt = performance.now();
    await (await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`)).arrayBuffer();
    admin.push(performance.now() - startedAt);
  }
  const overloaded = await overload;
  const median = admin.sort((a, b) => a - b)[4] ?? 0;
  console.log(
    `soak: overload: ${overloaded.accepted.length} accepted, ${overloaded.refused} refused; p99 ${p99(overloaded.accepted)} ms, ` +
      `before ${p99(normal.accepted)} ms; status of the admin listener ${Math.round(median)} ms`,
  );
  expect(normal.refused).toBe(0);
  expect(overloaded.refused).toBeGreaterThan(0);
  expect([...normal.wrong, ...overloaded.wrong]).toEqual([]);
  expect(p99(overloaded.accepted), 'p99 of accepted requests').toBeLessThanOrEqual(3 * p99(normal.accepted));
  expect(median, 'median of the admin listener').toBeLessThan(200);
});

/** `clients` send one request after another for `ms`. A refused client waits before the next request. */
async function sendLoad(port: number, clients: number, ms: number) {
  const seen = { accepted: [] as number[], refused: 0, wrong: [] as string[] };
  const until = performance.now() + ms;
  const sendRequests = async (client: RawClient): Promise<void> => {
    while (performance.now() < until) {
      const startedAt = performance.now();
      client.send(get('/v1/x'));
      const response = await client.response();
      const retryAfter = valuesOf(response, 'retry-after');
      if (response.status === 200) seen.accepted.push(performance.now() - startedAt);
      else if (response.status === 503 && retryAfter.length === 1) seen.refused += 1;
      else seen.wrong.push(`${response.status} ${response.body}`);
      if (response.status !== 200) await sleep(workMs);
    }
    client.end();
  };
  const connected = await Promise.all(Array.from({ length: clients }, () => connectTo(port)));
  await Promise.all(connected.map(sendRequests));
  return seen;
}

function p99(times: readonly number[]): number {
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0);
}
