import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startLoadedBackend } from '../load/support.ts';
import { connectTo, get, type RawClient } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startGateway } from './support/gateway.ts';

const capacity = 100;
const workMs = 50;

it('twice the load that fits: the surplus is told to come back, and the rest does not suffer', async () => {
  const backend = await startLoadedBackend((_req, res) => setTimeout(() => res.end('ok'), workMs));
  const limits = { in_flight: capacity, queue: 'off' };
  const gateway = await startGateway(JSON.stringify({ routes: { '/v1': { upstream: backend.url, limits } } }));
  await offer(gateway.port, capacity / 2, 500); // compilers warm up
  const fitting = await offer(gateway.port, capacity, 3_000);
  const flood = offer(gateway.port, 2 * capacity, 4_000);
  const admin: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    await sleep(300);
    const startedAt = performance.now();
    await (await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`)).arrayBuffer();
    admin.push(performance.now() - startedAt);
  }
  const over = await flood;
  const median = admin.sort((a, b) => a - b)[4] ?? 0;
  console.log(
    `soak: overload: ${over.accepted.length} accepted, ${over.refused} refused; p99 ${p99(over.accepted)} ms, ` +
      `before ${p99(fitting.accepted)} ms; status of the admin listener ${Math.round(median)} ms`,
  );
  expect(fitting.refused).toBe(0);
  expect(over.refused).toBeGreaterThan(0);
  expect([...fitting.wrong, ...over.wrong]).toEqual([]);
  expect(p99(over.accepted), 'p99 of those accepted').toBeLessThanOrEqual(3 * p99(fitting.accepted));
  expect(median, 'median of the admin listener').toBeLessThan(200);
});

/** `clients`, each busy for `ms`; who is refused tries again a moment later. */
async function offer(port: number, clients: number, ms: number) {
  const seen = { accepted: [] as number[], refused: 0, wrong: [] as string[] };
  const until = performance.now() + ms;
  const drive = async (client: RawClient): Promise<void> => {
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
  const open = await Promise.all(Array.from({ length: clients }, () => connectTo(port)));
  await Promise.all(open.map(drive));
  return seen;
}

function p99(times: readonly number[]): number {
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0);
}
