import { expect, it, onTestFinished } from 'vitest';
import { answerTo } from '../../../gateway/admin/reading/answers.ts';
import { parseUsageQuery } from '../../../gateway/admin/usageQueryParams.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/runtime/gateway.ts';
import { startBackend } from '../../support/backend.ts';
import { crowded } from './crowd.ts';

const now = Date.now();
const clients = 50_000;

const questions = [
  '/api/usage?by=client&version=v1',
  '/api/usage?by=migration&version=v1',
  '/api/versions/v1/retirement',
];

it('a question about 50,000 clients is answered outside the serving thread', async () => {
  const backend = await startBackend();
  const { ledger, queries } = crowded(clients, now);
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
  // The CPU time of this thread; that of the reading thread does not count.
  const cpuOf = async (work: () => unknown): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    return process.threadCpuUsage(before).user / 1000;
  };
  const here = await cpuOf(() => {
    for (const by of ['client', 'migration'])
      answerTo('usage', queries, snapshot, { ...parseUsageQuery({ by, version: 'v1' }, now), format: 'json' });
  });
  await ask();
  expect(await cpuOf(ask), `ms of CPU, where the same answers cost ${here} ms in one thread`).toBeLessThan(here / 2);
});
