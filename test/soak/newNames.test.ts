import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { connectTo, get } from '../support/rawClient.ts';
import { startGateway } from './support/gateway.ts';
import { startLoadProcess } from './support/load.ts';
import { startPlainBackend } from './support/plainBackend.ts';

const seconds = 20;

interface Report {
  readonly answered: number;
  readonly seconds: number;
}

it('15,000 new client names per second do not delay other requests', async () => {
  const upstream = await startPlainBackend('ok');
  const routes = { '/v1': { upstream, retired: true }, '/v2': upstream };
  const worst = new Map<string, number>();
  for (const [load, rate, names] of [
    ['500 names, 15,000 requests/s', 15_000, 500],
    ['1,000 new names/s', 1_000, 0],
    ['15,000 new names/s', 15_000, 0],
  ] as const) {
    const gateway = await startGateway(JSON.stringify({ routes, log: { access: 'off' } }), { heapMiB: 512 });
    const stop = await startLoadProcess<Report>('newNames.ts', gateway.port, rate, names);
    await sleep(1_000); // compilers warm up
    const times = await responseTimes(gateway.port, seconds * 1_000);
    const { answered, seconds: took } = await stop();
    const at = (share: number) => times[Math.floor((times.length - 1) * share)]?.toFixed(1);
    worst.set(load, times.at(-1) ?? 0);
    console.log(
      `soak: ${load}: ${Math.round(answered / took)} requests/s answered; another client's response took ` +
        `${at(0.5)} ms (median), ${at(0.99)} ms (p99), ${at(1)} ms (worst of ${times.length})`,
    );
  }
  expect(worst.get('15,000 new names/s'), 'worst response in ms').toBeLessThan(50);
});

/** Sends one request after another. Returns the response times in ms, shortest first. */
async function responseTimes(port: number, ms: number): Promise<number[]> {
  const times: number[] = [];
  const client = await connectTo(port);
  for (const until = performance.now() + ms; performance.now() < until; await sleep(2)) {
    const startedAt = performance.now();
    client.send(get('/v2/x'));
    await client.response();
    times.push(performance.now() - startedAt);
  }
  client.end();
  return times.sort((a, b) => a - b);
}
