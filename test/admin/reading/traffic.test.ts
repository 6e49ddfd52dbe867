import { Agent, get as httpGet } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { answerTo } from '../../../gateway/admin/reading/answers.ts';
import { startGateway } from '../../../gateway/assemble.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startBackend } from '../../support/backend.ts';
import { crowded } from './crowd.ts';

const now = Date.now();
const clients = 50_000;

const questions = [
  '/api/usage?by=client&version=v1',
  '/api/usage?by=migration&version=v1',
  '/api/versions/v1/retirement',
];

it('traffic goes on while somebody asks a ledger of 50,000 clients', { timeout: 60_000 }, async () => {
  const backend = await startBackend();
  const { ledger } = crowded(clients, now);
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream: backend.url, deprecation: '2026-01-01' }, '/v2': backend.url },
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
  });
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(() => gateway.close());
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const ask = async () => {
    for (const path of questions) {
      const response = await fetch(admin + path);
      expect(response.status).toBe(200);
      await response.body?.cancel();
    }
  };
  // What it would cost if it were asked here, as a yardstick of this machine at this moment.
  const begun = performance.now();
  for (const by of ['client', 'migration']) {
    answerTo('usage', ledger, snapshot, { query: { by, version: 'v1' }, format: 'json', now });
  }
  const here = performance.now() - begun;
  await ask();

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const longest = async (until: Promise<unknown>): Promise<number> => {
    let over = false;
    const end = until.finally(() => (over = true));
    let most = 0;
    while (!over) most = Math.max(most, await timed(gateway.port, agent));
    await end;
    return most;
  };
  const idle = await longest(new Promise((resolve) => setTimeout(resolve, 500)));
  const busy = await longest(ask());
  expect(busy, `idle ${idle} ms, the same in one thread ${here} ms`).toBeLessThan(idle + Math.max(150, here / 3));
});

function timed(port: number, agent: Agent): Promise<number> {
  const begun = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  httpGet({ port, agent, path: '/v1/x' }, (response) => {
    response.resume().on('end', () => resolve(performance.now() - begun));
  }).on('error', reject);
  return promise;
}
