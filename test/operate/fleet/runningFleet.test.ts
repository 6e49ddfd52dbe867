import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import {
  ask,
  type FleetGateway,
  quick,
  readyz,
  type ServingGateway,
  startFleetGateway,
  startProcess,
  writeMountedRoutes,
} from './fleetGateway.ts';
import { type GatewayHere, startGatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const upstream = 'http://127.0.0.1:1';
const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' };
const served = { '/v1': ended, '/v2': 'http://127.0.0.1:2' };
const retired = { ...served, '/v1': { ...ended, retired: true } };
const third = { ...served, '/v3': upstream };
// Longer than a busy machine needs to start a process.
const slow = 120_000;

/** Waits until each gateway of a new fleet is heard. */
async function allHeard(one: ServingGateway, ...names: readonly string[]): Promise<void> {
  await eventually(async () => expect(await statesSeenBy(one)).toEqual(names.map((name) => `${name} heard`)));
}

/** gw-1, once the store has its configuration. A gateway is ready a moment before that. */
async function startAccepted(store: string, routes: Readonly<Record<string, unknown>>): Promise<GatewayHere> {
  const one = await startGatewayHere({ store, name: 'gw-1', routes });
  await eventually(async () =>
    expect(await query(store, 'SELECT gateway FROM version_gateway.accepted')).toEqual([{ gateway: 'gw-1' }]),
  );
  return one;
}

async function fleetOf(gateway: ServingGateway) {
  return JSON.parse((await ask(gateway, 'fleet', '--format', 'json')).stdout);
}

async function statesSeenBy(gateway: ServingGateway): Promise<string[]> {
  const { gateways } = await fleetOf(gateway);
  return gateways.map((one: { name: string; state: string }) => `${one.name} ${one.state}`);
}

function edit(gateway: ServingGateway, name: string, store: string, routes: Readonly<Record<string, unknown>>): void {
  // Nothing listens at some of the targets.
  writeMountedRoutes(gateway.folder, { store, name, routes, settings: { guard: { trial: 'off' } } });
}

async function outcomeOfEdit(gateway: ServingGateway): Promise<{ kind: string; refusals?: { message: string }[] }> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  const response = await fetch(`http://${gateway.admin}/api/reload`, init);
  return (await response.json()) as { kind: string };
}

async function exitOf(gateway: FleetGateway): Promise<void> {
  const { child } = gateway;
  await eventually(() => expect(child.exitCode ?? child.signalCode).not.toBeNull());
}

it('the others see that a gateway hangs, was killed, was forgotten or has left', async () => {
  const store = await server.database();
  const one = await startGatewayHere({ store, name: 'gw-1', routes: served });
  const two = await startGatewayHere({ store, name: 'gw-2', routes: served });
  const three = await startFleetGateway({ store, name: 'gw-3', routes: served });
  await allHeard(one, 'gw-1', 'gw-2', 'gw-3');
  expect(await ask(one, 'fleet', 'forget', 'gw-3', '--reason', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Gateway gw-3 is heard.  Stop it first.'),
  });

  three.child.kill('SIGSTOP');
  const since = performance.now();
  await eventually(async () => expect(await statesSeenBy(one)).toContain('gw-3 silent'));
  expect(await ask(one, 'can-retire', '/v1')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /not yet\n\n(?:.*\n)*? +Gateway gw-3 has not been heard for \d+ s; its calls are missing from this ledger\./,
    ),
  });
  expect(performance.now() - since).toBeGreaterThan(3_000);
  expect((await ask(one, 'fleet', 'forget', 'gw-4', '--reason', 'x')).stderr).toContain(
    'The fleet has no gateway gw-4.  These gateways are silent: gw-3.',
  );

  // It was marked too early: once it is heard again, it is no longer gone.
  expect(await ask(one, 'fleet', 'forget', 'gw-3', '--reason', 'its machine is broken')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\n\ngw-3 is marked as gone\n$/),
  });
  await eventually(async () => expect(await statesSeenBy(two)).toContain('gw-3 gone'));
  await eventually(async () =>
    expect((await ask(one, 'can-retire', '/v1')).stdout).toMatch(
      /Gateway gw-3 is gone \(its machine is broken\)\. It was last heard at \S+Z and was marked as gone at \S+Z: its calls of this time \(\d+ s\) are not known\./,
    ),
  );
  three.child.kill('SIGCONT');
  await eventually(async () => expect(await statesSeenBy(two)).toContain('gw-3 heard'));

  await two.stop();
  await eventually(async () => expect(await statesSeenBy(one)).toContain('gw-2 left'));
  three.child.kill('SIGKILL');
  await eventually(async () => expect(await statesSeenBy(one)).toEqual(['gw-1 heard', 'gw-2 left', 'gw-3 silent']));
  const metrics = await (await fetch(`http://${one.admin}/metrics`)).text();
  for (const [state, count] of Object.entries({ heard: 1, silent: 1, left: 1, gone: 0 }))
    expect(metrics).toContain(`version_gateway_fleet_instances{state="${state}"} ${count}\n`);

  // With their ledgers they are the same gateways as before.
  for (const [name, { folder }] of Object.entries({ 'gw-2': two, 'gw-3': three }))
    await startGatewayHere({ store, name, routes: served, folder });
  await allHeard(one, 'gw-1', 'gw-2', 'gw-3');
});

it('a version is safe to stop once all gateways have retired it and were heard since', async () => {
  const store = await server.store();
  const one = await startGatewayHere({ store, name: 'gw-1', routes: served });
  const two = await startFleetGateway({ store, name: 'gw-2', routes: served });
  const three = await startGatewayHere({ store, name: 'gw-3', routes: served });
  await allHeard(one, 'gw-1', 'gw-2', 'gw-3');
  const wait = (timeout: string) => ask(one, 'status', '--wait', '/v1', '--timeout', timeout);

  edit(one, 'gw-1', store, retired);
  edit(three, 'gw-3', store, retired);
  // The guard refuses the edit until the ledger covers guard.quiet.
  for (const gateway of [one, three])
    await eventually(async () => expect((await outcomeOfEdit(gateway)).kind).toMatch(/^(?:reloaded|unchanged)$/));
  expect(await wait('1s')).toMatchObject({ code: 1, stderr: expect.stringContaining('gw-2 still serves it') });
  await eventually(async () => expect((await fleetOf(one)).config_skew).toBe(1));
  expect((await ask(one, 'fleet')).stdout).toMatch(
    /gw-2 announces other versions, dates or successors than most gateways/,
  );
  expect(await (await fetch(`http://${one.admin}/metrics`)).text()).toContain('version_gateway_fleet_config_skew 1\n');

  edit(two, 'gw-2', store, retired);
  expect(await wait('30s')).toMatchObject({ code: 0, stdout: '/v1: 0 requests in flight, safe to stop\n' });
  expect((await fleetOf(three)).config_skew).toBe(0);

  two.child.kill('SIGSTOP');
  await eventually(async () => expect(await statesSeenBy(one)).toContain('gw-2 silent'));
  expect(await wait('1s')).toMatchObject({ code: 3, stderr: expect.stringMatching(/gw-2 not heard for \d+ s/) });
  two.child.kill('SIGCONT');
  expect((await wait('30s')).code).toBe(0);
  two.child.kill('SIGTERM');
  await exitOf(two);
  expect((await wait('30s')).code).toBe(0);
});

it('no version is safe to stop while the store does not tell which gateways run: one may have started', async () => {
  const store = await server.store();
  const proxy = await startTcpProxy(server.port);
  // So long that no silence is the reason.
  const fleet = { silent_after: '1h' };
  const one = await startGatewayHere({
    store: store.replace(`:${server.port}/`, `:${proxy.port}/`),
    name: 'gw-1',
    routes: retired,
    fleet,
  });
  const wait = () => ask(one, 'status', '--wait', '/v1', '--timeout', '1ms');
  await eventually(async () => expect((await wait()).code).toBe(0));
  proxy.blackHole();
  // It serves /v1.
  await startGatewayHere({ store, name: 'gw-2', routes: served, fleet });
  expect(await wait()).toMatchObject({ code: 3, stderr: expect.stringContaining('which gateways run now') });
  proxy.restore();
  await eventually(async () =>
    expect(await wait()).toMatchObject({ code: 1, stderr: expect.stringContaining('gw-2 still serves it') }),
  );
});

it('an edit that ends a version is refused while a gateway is silent or the store is down', async () => {
  const store = await server.store();
  const one = await startGatewayHere({ store, name: 'gw-1', routes: served });
  const two = await startFleetGateway({ store, name: 'gw-2', routes: served });
  await allHeard(one, 'gw-1', 'gw-2');
  two.child.kill('SIGSTOP');
  await eventually(async () => expect(await statesSeenBy(one)).toContain('gw-2 silent'));
  edit(one, 'gw-1', store, retired);
  expect(await outcomeOfEdit(one)).toMatchObject({
    kind: 'refused',
    refusals: [
      {
        message: expect.stringMatching(
          /^\/v1 is retired, but calls in the last 1 s \(guard\.quiet\) may be missing\. (?:.+\. )?Gateway gw-2 has not been heard for \d+ s; its calls are missing from this ledger\.$/,
        ),
      },
    ],
  });
  edit(one, 'gw-1', store, third);
  expect(await outcomeOfEdit(one)).toMatchObject({ kind: 'reloaded' });

  two.child.kill('SIGCONT');
  await eventually(async () => expect(await statesSeenBy(one)).toContain('gw-2 heard'));
  await server.crash();
  await eventually(async () => expect((await fleetOf(one)).problem).toContain('ECONNREFUSED'));
  expect((await ask(one, 'can-retire', '/v1')).code).toBe(1);
  const fourth = { ...third, '/v4': upstream };
  edit(one, 'gw-1', store, { ...fourth, '/v1': { ...ended, retired: true } });
  expect(await outcomeOfEdit(one)).toMatchObject({
    kind: 'refused',
    refusals: [{ message: expect.stringContaining('The shared ledger cannot be reached: ') }],
  });
  edit(one, 'gw-1', store, fourth);
  expect(await outcomeOfEdit(one)).toMatchObject({ kind: 'reloaded' });
  expect((await readyz(one)).status).toBe(200);
  await server.start();
  await eventually(async () => expect((await fleetOf(one)).problem).toBeNull());
  // The edit that was accepted meanwhile is what later starts are compared with.
  await eventually(async () => {
    const three = await startedReason(store, third);
    expect(three).toContain('/v4 is removed');
  });
});

async function startedReason(store: string, routes: Readonly<Record<string, unknown>>): Promise<string> {
  const gateway = await startGatewayHere({ store, name: 'gw-9', routes });
  const { body } = await readyz(gateway);
  await gateway.stop();
  return body.reason ?? '';
}

it('a start that breaks what the fleet has announced is not ready until it is corrected', async () => {
  const store = await server.store();
  const one = await startAccepted(store, third);
  expect((await readyz(one)).status).toBe(200);
  const two = await startFleetGateway({ store, name: 'gw-2', routes: served });
  const removed = '/v3 is removed, and no sunset was ever announced.';
  expect(await readyz(two)).toMatchObject({
    status: 503,
    body: { ready: false, reason: expect.stringContaining(removed) },
  });
  await two.printed(
    /routes\.yaml breaks what the fleet has announced with the configuration of gw-1\. {2}This gateway does not become ready:\n\/v3 is removed/,
  );
  expect((await ask(two, 'status')).stdout).toContain(removed);
  expect(await ask(two, 'ready')).toMatchObject({ code: 1, stderr: expect.stringContaining(removed) });
  expect(await (await fetch(`http://${two.admin}/metrics`)).text()).toContain(
    'version_gateway_fleet_config_refused 1\n',
  );
  await eventually(async () => expect((await ask(one, 'fleet')).stdout).toContain(`gw-2: ${removed}`));
  expect((await ask(one, 'fleet')).stdout).toContain('gw-2 is not ready');
  // It still serves clients that connect to it directly.
  expect((await fetch(`http://127.0.0.1:${two.port}/`)).status).toBe(200);

  edit(two, 'gw-2', store, { ...third, '/v4': upstream });
  await eventually(async () => expect((await readyz(two)).status).toBe(200));
  expect((await ask(two, 'status')).stdout).not.toContain(removed);

  // The same start again, forced.
  const settings = { guard: { force: { '/v3': 'was never called', '/v4': 'was never called' } } };
  const three = await startGatewayHere({ store, name: 'gw-3', routes: served, settings });
  expect((await readyz(three)).status).toBe(200);
});

it('a refused start becomes ready once another gateway has accepted its configuration', async () => {
  const store = await server.store();
  const one = await startAccepted(store, third);
  const two = await startGatewayHere({ store, name: 'gw-2', routes: served });
  expect((await readyz(two)).status).toBe(503);
  writeMountedRoutes(one.folder, {
    store,
    name: 'gw-1',
    routes: served,
    settings: { guard: { force: { '/v3': 'was never called' } } },
  });
  expect(await outcomeOfEdit(one)).toMatchObject({ kind: 'reloaded' });
  await two.printed(/The fleet accepts routes\.yaml now; this gateway is ready\./);
  expect((await readyz(two)).status).toBe(200);
});

it('a gateway that starts while the store is down serves no clients before it has reached it', async () => {
  const store = await server.database();
  await server.crash();
  const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const folder = temporaryFolder();
  writeMountedRoutes(folder, { store, name: 'gw-1', routes: served, settings: { gateway: { listen, admin } } });
  const one = startProcess(folder);
  await one.printed(/This gateway serves no clients before it has reached the shared store of its fleet/);
  await eventually(async () =>
    expect(await readyz({ admin })).toEqual({
      status: 503,
      body: {
        ready: false,
        reason: 'The gateway has not reached the shared store of its fleet since its start (fleet.start: wait).',
      },
    }),
  );
  expect(await (await fetch(`http://${admin}/healthz`)).text()).toBe('ok');
  expect((await fetch(`http://${admin}/api/status`)).status).toBe(503);
  await expect(fetch(`http://${listen}/v1/drinks`)).rejects.toThrow();
  await server.start();
  await one.printed(/listens on/);
  await eventually(async () => expect((await readyz({ admin })).status).toBe(200));
  expect((await fetch(`http://${listen}/`)).status).toBe(200);
});

it('with fleet.start: serve, a gateway that starts while the store is down is ready', async () => {
  const store = await server.store();
  await server.crash();
  const one = await startGatewayHere({ store, name: 'gw-1', routes: served, fleet: { ...quick, start: 'serve' } });
  expect((await readyz(one)).status).toBe(200);
  expect((await ask(one, 'status')).stdout).toContain('fleet: 0 of 0 gateways are heard; the store does not answer (');
  await server.start();
  await eventually(async () => expect(await statesSeenBy(one)).toEqual(['gw-1 heard']));
});

it('a gateway that could not compare its configuration at the start stays ready, and reports what it breaks', async () => {
  const store = await server.store();
  const one = await startAccepted(store, third);
  await server.crash();
  const two = await startGatewayHere({ store, name: 'gw-2', routes: served, fleet: { start: 'serve' } });
  expect((await readyz(two)).status).toBe(200);
  await server.start();
  await two.printed(
    /with the configuration of gw-1\. {2}It is served, because the store did not answer at the start:\n\/v3 is removed/,
  );
  expect((await readyz(two)).status).toBe(200);
  await eventually(async () => expect((await ask(one, 'fleet')).stdout).toContain('gw-2: /v3 is removed'));
});

it('the calls and the requests in flight of one gateway count for all', async () => {
  const store = await server.store();
  const backend = await startBackend(({ target }) => (target === '/slow' ? undefined : okAnswer));
  const routes = { '/v1': { ...ended, upstream: backend.url }, '/v2': upstream };
  const one = await startGatewayHere({ store, name: 'gw-1', routes });
  const two = await startGatewayHere({ store, name: 'gw-2', routes });
  const aborted = new AbortController();
  const pending = fetch(`http://127.0.0.1:${two.port}/v1/slow`, { signal: aborted.signal }).catch(() => {});
  await eventually(async () =>
    expect(await ask(one, 'can-retire', '/v1')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/in flight +1 now\n/),
    }),
  );
  edit(one, 'gw-1', store, retired);
  const inUse = {
    kind: 'refused',
    refusals: [{ message: expect.stringContaining('/v1 is retired, and was last called') }],
  };
  expect(await outcomeOfEdit(one)).toMatchObject(inUse);
  aborted.abort();
  await pending;
  expect((await fetch(`http://127.0.0.1:${two.port}/v1/drinks`)).status).toBe(200);
  // The counts of gw-2 are in the store, so a start of another gateway knows them.
  await eventually(async () => expect((await ask(two, 'usage', '/v1')).stdout).toMatch(/GET|127\.0\.0\.1/));
  const three = await startGatewayHere({ store, name: 'gw-3', routes: retired, settings: { guard: { quiet: '1h' } } });
  expect(await readyz(three)).toMatchObject({
    status: 503,
    body: { reason: expect.stringMatching(/^\/v1 is retired, and was last called (?:just now|\d+ s ago)/) },
  });
});

it('an edit of a mounted ConfigMap becomes active in all gateways, and until then the difference is reported', async () => {
  const store = await server.store();
  const one = await startGatewayHere({ store, name: 'gw-1', routes: served });
  const two = await startFleetGateway({ store, name: 'gw-2', routes: served });
  const three = await startGatewayHere({ store, name: 'gw-3', routes: served });
  await allHeard(one, 'gw-1', 'gw-2', 'gw-3');
  const before = (await fleetOf(one)).gateways[0].config;
  for (const [at, gateway] of [one, two, three].entries()) edit(gateway, `gw-${at + 1}`, store, third);
  let unreported = 0;
  await eventually(async () => {
    const { gateways: rows, config_skew: skew } = await fleetOf(one);
    const configs = rows.map(({ config }: { config: string }) => config);
    if (new Set(configs).size > 1 && skew === 0) unreported += 1;
    expect(configs).not.toContain(before);
    expect(skew).toBe(0);
  });
  expect(unreported).toBe(0);
});

it('notes in the store that a reload changes the names of clients', async () => {
  const store = await server.store();
  const gateway = await startAccepted(store, served);
  const naming = async () => {
    const rows = await query<{ key: string; value: string }>(
      store,
      `SELECT key, value FROM version_gateway.meta WHERE key IN ('naming', 'named_since')`,
    );
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  };
  const before = await naming();
  expect(before).toEqual({ naming: expect.any(String) });
  const usage = { store: `${gateway.folder}/usage.db`, identify: ['header:x-tenant-id'] };
  writeMountedRoutes(gateway.folder, { store, name: 'gw-1', routes: served, settings: { usage } });
  await outcomeOfEdit(gateway);
  await eventually(async () => {
    const after = await naming();
    expect(after['naming']).not.toBe(before['naming']);
    expect(Number(after['named_since'])).toBeGreaterThan(Date.now() - slow);
  });
});
