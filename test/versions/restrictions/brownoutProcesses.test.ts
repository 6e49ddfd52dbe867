import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BrownoutStatus } from '../../../gateway/versions/lifecycle/brownouts.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { startFleetGateway, writeMountedRoutes } from '../../operate/fleet/fleetGateway.ts';
import { query } from '../../operate/fleet/startMember.ts';
import { runIn } from '../../process/cli/io.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { coverTenDays, day } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask, get } from '../../support/rawClient.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const brownout = { unnamed: '100%', max_share: '100%', spare: ['friend'], notice: 'off' };

/** A brownout that begins in a few seconds, on a whole second. */
function soon(): { readonly at: number; readonly brownouts: readonly object[] } {
  const at = Math.ceil(Date.now() / 1000 + 3) * 1000;
  return { at, brownouts: [{ at: new Date(at).toISOString(), for: '15m' }] };
}

interface Answered {
  readonly sent: number;
  readonly received: number;
  readonly status: number;
  readonly client: string;
}

/** Asks about 200 times per second for each of two clients, each time on a new connection, so that all workers get requests. */
function askAll(port: number): { readonly seen: Answered[]; stop(): Promise<void> } {
  const seen: Answered[] = [];
  let isOver = false;
  const loop = async (client: string): Promise<void> => {
    while (!isOver) {
      const sent = Date.now();
      const { status } = await ask(port, get('/v1/x', `X-Client-Id: ${client}`));
      seen.push({ sent, received: Date.now(), status, client });
      await sleep(5);
    }
  };
  const loops = Promise.all(['shop', 'friend'].map(loop));
  return {
    seen,
    stop: async () => {
      isOver = true;
      await loops;
    },
  };
}

async function statesOf(admin: string): Promise<string[]> {
  const { stdout } = await runIn('.', ['brownout', 'status', '--admin', admin, '--format', 'json']);
  return (JSON.parse(stdout) as { brownouts: BrownoutStatus[] }).brownouts.map(({ state }) => state);
}

it('begins in the same second in all workers, continues over a reload and SIGUSR2, and stays stopped', async () => {
  const backend = await startBackend(okAnswer);
  const dates = { deprecation: '2026-01-01' };
  const routes = { '/v1': { upstream: backend.url, ...dates }, '/v2': backend.url };
  const store = join(temporaryFolder(), 'usage.db');
  coverTenDays(store);
  const gateway = await startWorkers(2, routes, { brownout, usage: { store } });
  const admin = gateway.admin.replace('http://', '');
  const asking = askAll(gateway.port);
  const { at, brownouts } = soon();
  const announced = { ...routes, '/v1': { upstream: backend.url, ...dates, brownouts } };
  gateway.edit(announced);
  await eventually(async () => expect(await statesOf(admin)).toEqual(['running']));
  // Both workers usually get the approval before the status has it. After a second of refusals both certainly have it.
  const refusedSince = (since: number) =>
    asking.seen.filter(({ sent, client }) => sent >= since && client === 'shop').map(({ status }) => status);
  const running = Date.now();
  await eventually(() => expect(refusedSince(running).filter((status) => status === 503).length).toBeGreaterThan(20));
  const sure = Date.now();

  gateway.edit(announced, { log: { access: 'off' } });
  await gateway.printed(/reloaded/);
  const before = await gateway.pids();
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  expect((await gateway.pids()).filter((pid) => before.includes(pid))).toEqual([]);
  await eventually(async () => expect(refusedSince(Date.now() - 500).length).toBeGreaterThan(5));
  expect(new Set(refusedSince(sure))).toEqual(new Set([503]));

  const stopped = await runIn('.', ['brownout', 'stop', '/v1', '--admin', admin]);
  expect([stopped.code, stopped.stdout]).toEqual([
    0,
    expect.stringMatching(/\n\n\/v1: the brownout of .* is stopped\n$/),
  ]);
  const stoppedAt = Date.now();
  expect(await runIn('.', ['brownout', 'stop', '/v1', '--admin', admin])).toMatchObject({ code: 2 });
  gateway.child.kill('SIGUSR2');
  await eventually(() => expect(gateway.output().match(/rolling restart done/g)).toHaveLength(2));
  const calendar = async () => (await ask(gateway.port, get('/lifecycle.ics'))).body;
  // Each is a new connection, so that both workers answer.
  for (let n = 0; n < 10; n += 1) expect(await calendar()).toContain('STATUS:CANCELLED');
  const late = Date.now();
  await eventually(() => expect(refusedSince(late).length).toBeGreaterThan(20));
  await asking.stop();
  expect(await statesOf(admin)).toEqual(['stopped']);
  // The command returns when all workers know of the stop.
  expect(new Set(refusedSince(stoppedAt))).toEqual(new Set([200]));
  const early = asking.seen.filter(({ received, status }) => received < at - 1000 && status !== 200);
  expect(early).toEqual([]);
  const friends = asking.seen.filter(({ client }) => client === 'friend');
  expect(friends.length).toBeGreaterThan(50);
  expect(friends.filter(({ status }) => status !== 200)).toEqual([]);
});

it('ends in the same second in all workers, without a message', async () => {
  const backend = await startBackend(okAnswer);
  const store = join(temporaryFolder(), 'usage.db');
  coverTenDays(store);
  const dates = { deprecation: '2026-01-01' };
  const routes = { '/v1': { upstream: backend.url, ...dates }, '/v2': backend.url };
  const gateway = await startWorkers(2, routes, { brownout, usage: { store } });
  const asking = askAll(gateway.port);
  const shops = () => asking.seen.filter(({ client }) => client === 'shop');
  const refused = () => shops().filter(({ status }) => status === 503);
  let end = 0;
  // A busy machine may take longer to apply the edit than the rest of the brownout lasts.
  for (let rest = 3_000; rest < 60_000 && refused().length < 20; rest *= 2) {
    end = Math.ceil((Date.now() + rest) / 1000) * 1000;
    const brownouts = [{ at: new Date(end - 15 * 60_000).toISOString(), for: '15m' }];
    gateway.edit({ ...routes, '/v1': { upstream: backend.url, ...dates, brownouts } });
    await eventually(() => expect(refused().length >= 20 || Date.now() > end).toBe(true));
  }
  await eventually(() => expect(shops().filter(({ sent }) => sent >= end).length).toBeGreaterThan(40));
  await asking.stop();
  expect(refused().length).toBeGreaterThanOrEqual(20);
  expect(shops().filter(({ sent, status }) => sent >= end && status !== 200)).toEqual([]);
  expect(asking.seen.filter(({ client, status }) => client === 'friend' && status !== 200)).toEqual([]);
});

it('is stopped without waiting for a worker that is starting', async () => {
  const backend = await startBackend(okAnswer);
  const store = join(temporaryFolder(), 'usage.db');
  coverTenDays(store);
  const { brownouts } = soon();
  const routes = { '/v1': { upstream: backend.url, deprecation: '2026-01-01', brownouts }, '/v2': backend.url };
  const gateway = await startWorkers(2, routes, { brownout, usage: { store } });
  const admin = gateway.admin.replace('http://', '');
  await eventually(async () => expect(await statesOf(admin)).toEqual(['running']));
  const primary = gateway.child.pid ?? 0;
  const proc = (path: string) => readFileSync(`/proc/${path}`, 'utf8');
  const children = () => proc(`${primary}/task/${primary}/children`).trim().split(' ').map(Number);
  const before = children();
  let starting = 0;
  gateway.child.kill('SIGUSR2');
  await eventually(() => {
    starting = children().find((pid) => !before.includes(pid)) ?? 0;
    expect(starting).not.toBe(0);
    // The primary waits for the worker until the worker runs its own program.
    expect(proc(`${starting}/environ`)).toContain('NODE_UNIQUE_ID=');
  });
  process.kill(starting, 'SIGSTOP');
  const begun = performance.now();
  const stopped = await runIn('.', ['brownout', 'stop', '/v1', '--admin', admin]).finally(() =>
    process.kill(starting, 'SIGCONT'),
  );
  expect(stopped).toMatchObject({ code: 0 });
  // The worker has a minute to start.
  expect(performance.now() - begun).toBeLessThan(45_000);
  await gateway.printed(/rolling restart done/);
  for (let n = 0; n < 20; n += 1) expect((await ask(gateway.port, get('/v1/x', 'X-Client-Id: shop'))).status).toBe(200);
});

it('is decided once for a fleet, and is stopped in all its gateways', async () => {
  const backend = await startBackend(okAnswer);
  const store = await server.database();
  const routesWith = (more: object) => ({
    '/v1': { upstream: backend.url, deprecation: '2026-01-01', ...more },
    '/v2': backend.url,
  });
  const settings = { brownout };
  const [one, two] = await Promise.all(
    ['gw-1', 'gw-2'].map((name) => startFleetGateway({ store, name, routes: routesWith({}), settings })),
  );
  if (!one || !two) throw new Error('no gateway');
  // The two gateways have just started. The ledger of a third gateway has covered the last week.
  const run = `'${randomUUID()}', 1, ${Date.now() - 10 * day}, ${Date.now()}`;
  await query(store, `INSERT INTO version_gateway.runs VALUES (${run})`);
  const { brownouts } = soon();
  for (const [name, { folder }] of Object.entries({ 'gw-1': one, 'gw-2': two }))
    writeMountedRoutes(folder, { store, name, routes: routesWith({ brownouts }), settings });
  for (const { admin } of [one, two]) await eventually(async () => expect(await statesOf(admin)).toEqual(['running']));
  const asking = [askAll(one.port), askAll(two.port)];
  const shops = (since: number, index: number) =>
    (asking[index]?.seen ?? []).filter(({ sent, client }) => sent >= since && client === 'shop');
  for (const index of [0, 1])
    await eventually(() => expect(shops(0, index).filter(({ status }) => status === 503).length).toBeGreaterThan(5));
  expect(await runIn('.', ['brownout', 'stop', '/v1', '--admin', one.admin])).toMatchObject({ code: 0 });
  // Two seconds suffice on a machine that is not busy.
  const stopped = Date.now() + 5_000;
  await eventually(() => expect(shops(stopped, 1).length).toBeGreaterThan(20));
  await Promise.all(asking.map(({ stop }) => stop()));
  for (const index of [0, 1])
    expect(new Set(shops(stopped, index).map(({ status }) => status))).toEqual(new Set([200]));
  expect(await statesOf(two.admin)).toEqual(['stopped']);
  expect(two.output()).toContain('is stopped: stopped by an operator');
});
