import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get } from '../../support/rawClient.ts';
import { runIn } from '../cli/io.ts';
import { type StartedGateway, startWorkers } from './startWorkers.ts';

interface Status {
  readonly workers: readonly { readonly pid: number; readonly unresponsive_since: string | null }[];
  readonly versions: readonly {
    readonly version: string;
    readonly in_flight: number;
    readonly safe_to_stop: boolean;
  }[];
}

async function statusOf({ admin }: StartedGateway): Promise<Status> {
  return (await (await fetch(`${admin}/api/status`)).json()) as Status;
}

/** Polls until `isSo` returns true. */
function statusWhen(gateway: StartedGateway, isSo: (status: Status) => boolean): Promise<Status> {
  const check = async (): Promise<Status> => {
    const status = await statusOf(gateway);
    expect(isSo(status)).toBe(true);
    return status;
  };
  return eventually(check);
}

/** Stops one worker with SIGSTOP, as a debugger does, and waits until the gateway has noticed. */
async function freezeOne(gateway: StartedGateway): Promise<number> {
  const [pid] = (await gateway.pids()) as [number];
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => void isThere(pid, 'SIGCONT'));
  await statusWhen(gateway, ({ workers }) => workers.some((one) => one.pid === pid && one.unresponsive_since !== null));
  return pid;
}

function isThere(pid: number, signal: NodeJS.Signals | 0 = 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

it('while a worker does not answer, no version is safe to stop and no reload is complete', async () => {
  const backend = await startBackend(() => undefined);
  const [{ url: v2 }, { url: v3 }] = [await startBackend(), await startBackend()];
  const routes = { '/v1': backend.url, '/v2': v2, '/v3': v3 };
  const gateway = await startWorkers(2, routes, { gateway: { worker_timeout: 'off', drain: '1s' } });
  const clients = await Promise.all(Array.from({ length: 20 }, () => connectTo(gateway.port)));
  for (const client of clients) client.send(get('/v1/x'));
  await eventually(() => expect(backend.requests).toHaveLength(20));
  await statusWhen(gateway, ({ versions }) => versions[0]?.in_flight === 20);
  const pid = await freezeOne(gateway);
  expect((await statusOf(gateway)).versions[0]).toMatchObject({ in_flight: 20 });

  const retired = { retired: true, successor: '/v3' };
  const guard = { force: { '/v1': 'a test', '/v2': 'a test' } };
  gateway.edit({ '/v1': retired, '/v2': retired, '/v3': v3 }, { guard });
  const { status, outcome } = await reload(gateway);
  if (outcome.kind === 'unchanged')
    await gateway.printed(/reload \(file\): the new configuration is active, but not everywhere yet/);
  else expect([status, outcome.kind]).toEqual([202, 'incomplete']);
  // It was never called, so only the worker keeps it from being safe to stop.
  expect((await statusOf(gateway)).versions[1]).toMatchObject({ stage: 'retired', in_flight: 0, safe_to_stop: false });
  const { host } = new URL(gateway.admin);
  const waited = await runIn('.', ['status', '--wait', '/v2', '--timeout', '1s', '--admin', host]);
  expect(waited).toMatchObject({ code: 3, stdout: '' });
  expect(waited.stderr).toContain(`worker ${pid} has not answered since`);

  process.kill(pid, 'SIGCONT');
  await gateway.printed(new RegExp(`worker ${pid} answers again`));
  await statusWhen(gateway, ({ versions }) => versions.every((one) => one.version === 'v3' || one.safe_to_stop));
  expect(await gateway.pids()).toContain(pid);
});

it('no version may be retired while a worker does not answer, because it may have counted calls', async () => {
  const backend = await startBackend(() => okAnswer);
  const dates = { deprecation: '2024-01-01', sunset: '2024-06-30' };
  const routes = { '/v1': { upstream: backend.url, ...dates }, '/v2': backend.url };
  const settings = { gateway: { worker_timeout: 'off', drain: '1s' }, retire: { quiet: '8s' } };
  const gateway = await startWorkers(2, routes, settings);
  const canRetire = async () => runIn('.', ['can-retire', '/v1', '--admin', new URL(gateway.admin).host]);
  await eventually(async () => expect((await canRetire()).stdout).toContain('Can /v1 be retired?  yes'));
  expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(200);
  const pids = await gateway.pids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await statusWhen(gateway, ({ workers }) => workers.every((one) => one.unresponsive_since !== null));
  const { code, stdout } = await canRetire();
  expect([code, stdout]).toEqual([1, expect.stringContaining('Can /v1 be retired?  not yet')]);
  expect(stdout).toContain('A worker has not answered');
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  await eventually(async () => expect((await canRetire()).stdout).toMatch(/retired\? {2}(?:no|yes)/));
});

it('a worker that missed several edits serves the last one, also if an earlier one takes longer to apply', async () => {
  const { url } = await startBackend(okAnswer);
  const gateway = await startWorkers(2, { '/v1': url }, { gateway: { worker_timeout: 'off', drain: '1s' } });
  const operation = { get: { responses: { 200: { description: 'ok' } } } };
  const paths = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`/p${at}/{id}`, operation]));
  const contract = { openapi: '3.1.0', info: { title: 'large', version: '1' }, paths };
  writeFileSync(join(gateway.folder, 'large.json'), JSON.stringify(contract));
  const pid = await freezeOne(gateway);
  for (const version of [{ contract: 'large.json', deprecation: '2026-01-01' }, { deprecation: '2026-02-01' }]) {
    gateway.edit({ '/v1': { upstream: url, ...version } });
    await gateway.printed(new RegExp(`deprecation ${version.deprecation}`));
  }
  process.kill(pid, 'SIGCONT');
  await gateway.printed(new RegExp(`worker ${pid} answers again`));
  const expected = `@${Date.parse('2026-02-01') / 1000}`;
  const deprecation = async () =>
    (await fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } })).headers.get(
      'deprecation',
    );
  await eventually(async () => {
    for (let count = 0; count < 50; count += 1) expect(await deprecation()).toBe(expected);
  });
  // The first edit would be applied by now.
  await sleep(2_000);
  for (let count = 0; count < 50; count += 1) expect(await deprecation()).toBe(expected);
});

async function reload({ admin }: StartedGateway): Promise<{ status: number; outcome: { kind: string } }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${admin}/api/reload`, { method: 'POST', headers, body: '{}' });
  return { status: response.status, outcome: (await response.json()) as { kind: string } };
}

it('despite an unresponsive worker, status and metrics are answered, no counter decreases, and a shutdown ends', async () => {
  const backend = await startBackend(() => okAnswer);
  const gateway = await startWorkers(2, { '/v1': backend.url }, { gateway: { worker_timeout: 'off', drain: '1s' } });
  for (let count = 0; count < 20; count += 1)
    await fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } });
  const counted = async (): Promise<number> => {
    const text = await (await fetch(`${gateway.admin}/metrics`)).text();
    return Number(/^version_gateway_requests_total\{version="v1".*\} (\d+)$/m.exec(text)?.[1]);
  };
  expect(await counted()).toBe(20);
  const pid = await freezeOne(gateway);
  // Waiting five seconds for each would take too long.
  for (let count = 0; count < 15; count += 1) {
    expect(await counted()).toBe(20);
    await statusOf(gateway);
  }

  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(isThere(pid)).toBe(false);
});

it('an unresponsive worker is replaced, and no request to the others fails', async () => {
  const backend = await startBackend(() => okAnswer);
  const gateway = await startWorkers(2, { '/v1': backend.url }, { gateway: { worker_timeout: '5s' } });
  const pid = await freezeOne(gateway);
  await gateway.printed(new RegExp(`worker ${pid} has not answered for \\d+ s and is replaced`));
  const { workers } = await statusWhen(gateway, ({ workers: all }) => all.every((one) => one.pid !== pid));
  expect(workers.map(({ unresponsive_since }) => unresponsive_since)).toEqual([null, null]);
  for (let count = 0; count < 20; count += 1) {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } });
    expect(response.status).toBe(200);
  }
  expect(isThere(pid)).toBe(false);
});

it('after the primary was suspended, no worker counts as unresponsive', async () => {
  const backend = await startBackend(() => okAnswer);
  const gateway = await startWorkers(2, { '/v1': backend.url }, { gateway: { worker_timeout: '2s' } });
  const before = await gateway.pids();
  gateway.child.kill('SIGSTOP');
  onTestFinished(() => void gateway.child.kill('SIGCONT'));
  // Longer than worker_timeout. Time in which the primary does not run must not count.
  const since = performance.now();
  await eventually(() => expect(performance.now() - since).toBeGreaterThan(2_500));
  gateway.child.kill('SIGCONT');
  expect((await gateway.pids()).sort()).toEqual(before.sort());
  expect(gateway.output()).not.toContain('unresponsive');
});

it('workers that end before they get the answers to questions of clients are replaced, and later questions are answered', async () => {
  const { url } = await startBackend(okAnswer);
  const usage = { identify: ['header:x-api-key'] };
  const gateway = await startWorkers(2, { '/v1': url }, { gateway: { self_service: 'on' }, usage });
  const ask = async (): Promise<number | undefined> => {
    const headers = { 'x-api-key': 'one', connection: 'close' };
    const response = await fetch(`http://127.0.0.1:${gateway.port}/versions/me`, { headers }).catch(() => undefined);
    return response?.status;
  };
  const pids = await gateway.pids();
  const questions = Array.from({ length: 20 }, ask);
  // The first question starts the thread that reads the ledger. The others wait in the primary.
  await Promise.race(questions);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await Promise.all(questions);
  await eventually(async () => expect(await ask()).toBe(403));
});
