import { expect, it } from 'vitest';
import type { EditWatchStatus } from '../../../gateway/versions/editWatch/watchStatus.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { counted } from '../../versions/editWatch/watchedGateway.ts';
import { type StartedGateway, startWorkers } from './startWorkers.ts';

async function send({ port }: StartedGateway, path: string, times: number): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let sent = 0; sent < times; sent += 1) {
    // Each request has a connection of its own, so both workers get some.
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    await response.arrayBuffer();
    statuses.add(response.status);
  }
  return statuses;
}

async function reload({ admin }: StartedGateway): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${admin}/api/reload`, { method: 'POST', headers, body: '{}' });
  // The file watcher may have been faster.
  expect(['reloaded', 'unchanged']).toContain(((await response.json()) as { kind: string }).kind);
}

async function watchesOf({ admin }: StartedGateway, version: string): Promise<EditWatchStatus[]> {
  const status = (await (await fetch(`${admin}/api/status`)).json()) as { edit_watch: EditWatchStatus[] };
  return status.edit_watch.filter((one) => one.version === version);
}

/** Ends the workers without a last report, and waits until others serve in their place. */
async function killWorkers(gateway: StartedGateway, pids: readonly number[], total: number): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await eventually(async () => {
    const now = await gateway.pids();
    expect(now.filter((pid) => !pids.includes(pid))).toHaveLength(total);
  });
}

it('adds the answers of all workers, and of workers that were replaced', async () => {
  const backend = await startBackend();
  const guard = { trial: 'off' };
  const gateway = await startWorkers(2, { '/v2': backend.url }, { guard });
  expect(await send(gateway, '/v2/drinks', 60)).toEqual(new Set([200]));
  await counted(gateway.admin, 60);
  gateway.edit({ '/v2': await refusedUrl() });
  await reload(gateway);
  await eventually(async () =>
    expect(await watchesOf(gateway, 'v2')).toMatchObject([{ before: { requests: 60, lost: 0 } }]),
  );
  expect(await send(gateway, '/v2/drinks', 20)).toEqual(new Set([502]));
  const [first = 0] = await gateway.pids();
  await killWorkers(gateway, [first], 1);
  expect(await send(gateway, '/v2/drinks', 20)).toEqual(new Set([502]));
  await eventually(async () => {
    const [watch] = await watchesOf(gateway, 'v2');
    expect(watch).toMatchObject({ jumped: 'yes' });
    expect(watch?.after.lost).toBeGreaterThanOrEqual(20);
  });
  expect(gateway.output()).toMatch(/\/v2 loses requests since the edit of .+ against 0 of 60 in the/);
});

it('knows former paths in workers that start after the edit', async () => {
  const backend = await startBackend();
  const gateway = await startWorkers(2, { '/v2': backend.url }, { guard: { trial: 'off' } });
  expect(await send(gateway, '/v2/drinks', 40)).toEqual(new Set([200]));
  await counted(gateway.admin, 40);
  const guard = { trial: 'off', force: { '/v2': 'it moves' } };
  const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 2, drain: '5s' };
  gateway.edit({ '/v2': backend.url }, { guard, gateway: { ...listeners, base_path: '/api' } });
  await reload(gateway);
  await eventually(async () => expect(await watchesOf(gateway, 'v2')).toHaveLength(1));
  await killWorkers(gateway, await gateway.pids(), 2);
  expect(await send(gateway, '/v2/drinks', 20)).toEqual(new Set([404]));
  await eventually(async () =>
    expect(await watchesOf(gateway, 'v2')).toMatchObject([{ jumped: 'yes', after: { statuses: { 404: 20 } } }]),
  );
});
