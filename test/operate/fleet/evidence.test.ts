import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { eventually } from '../../support/eventually.ts';
import { day } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import {
  answersOf,
  behindProxy,
  call,
  createFleet,
  dump,
  expectNoYes,
  expectYes,
  kill,
  setBack,
  settings,
  waitForState,
} from './coveredFleet.ts';
import { ask, type ServingGateway, startProcess, writeMountedRoutes } from './fleetGateway.ts';
import { startGatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

// The situations of a fleet in which calls of /v1 cannot be known. In each of them, no command and no guard may say yes. Before each of
// them, all say yes.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

it('usage names another gateway that has a worker that does not answer', async () => {
  const fleet = await createFleet(server);
  const one = await fleet.startHere('gw-1');
  const workers = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', workers: 2, worker_timeout: '10m' },
  };
  const two = await fleet.start('gw-2', { settings: { ...settings, ...workers } });
  const usage = async () => (await runIn('.', ['usage', '/v1', '--admin', one.admin])).stdout;
  expect(await usage()).not.toContain('gw-2');
  const pids = readFileSync(`/proc/${two.child.pid}/task/${two.child.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
  await call(two);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  const missing =
    'Gateway gw-2 has a worker that does not answer: calls that the worker has counted may be missing in this ledger.';
  await eventually(async () => expect(await usage()).toContain(missing), 1_000);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  await eventually(async () => expect(await usage()).not.toContain(missing), 1_000);
});

describe('no yes', () => {
  it('while the clock of a gateway is 20 s ahead and v1 is called through it', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.startHere('gw-1');
    // More than the 20 s of the name, because the answers take some seconds on a busy machine.
    const two = await fleet.start('gw-2', { clockOffset: 120_000 });
    await expectYes(one, fleet);
    await call(one);
    await call(two);
    await eventually(async () => expectNoYes(one, fleet, /Can \/v1 be retired\? {2}no/));
    // The call through the other gateway is in the future, and must not hide the calls of all others. It may arrive after them.
    await eventually(async () =>
      expect((await answersOf(one, fleet)).guard.stdout).toMatch(/\/v1 is retired, and was last called just now/),
    );
  });

  it('after all gateways stopped, the store was restored from a dump of some seconds ago, and all started', async () => {
    const fleet = await createFleet(server);
    const [one, two] = [await fleet.startHere('gw-1'), await fleet.startHere('gw-2')];
    await expectYes(one, fleet);
    const restore = await dump(fleet.store);
    await call(two);
    await Promise.all([one, two].map((gateway) => gateway.stop()));
    await restore();
    const again = await fleet.startHere('gw-1', { folder: one.folder });
    await fleet.startHere('gw-2', { folder: two.folder });
    await expectNoYes(again, fleet, setBack);
    await call(again, 'v2');
    await expectNoYes(again, fleet, setBack);
    // A second restore from the same dump during this repair.
    await restore();
    await expectNoYes(again, fleet, setBack);
  });

  it('after the same with new gateways, and fleet forget of the old ones', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.startHere('gw-1');
    await expectYes(one, fleet);
    const restore = await dump(fleet.store);
    await call(one);
    await one.stop();
    await restore();
    const two = await fleet.startHere('gw-2');
    await waitForState(fleet.store, 'gw-1', `heard < now() - interval '5 s'`);
    expect(await ask(two, 'fleet', 'forget', 'gw-1', '--reason', 'replaced')).toMatchObject({ code: 0 });
    await expectNoYes(two, fleet, /Gateway gw-1 is gone/);
  });

  it('at any time after the store was set back while gateways run and are idle', async () => {
    const fleet = await createFleet(server);
    const [one, two] = [await fleet.startHere('gw-1'), await fleet.startHere('gw-2')];
    await expectYes(one, fleet);
    const restore = await dump(fleet.store);
    await call(two);
    await eventually(async () => expectNoYes(one, fleet, /Can \/v1 be retired\? {2}no/));
    await restore();
    for (let time = 0; time < 5; time++) await expectNoYes(one, fleet, setBack);
  });

  it.each([
    ['and was marked as gone', undefined],
    ['and was ended by fleet forget', 'fleet forget'],
  ])('after a gateway served v1 without the store, died with its disk %s', async (_end, command) => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const one = await fleet.startHere('gw-1');
    const two = await fleet.start('gw-2', { store });
    await expectYes(one, fleet);
    proxy.cut();
    await call(two);
    await kill(two, 'SIGKILL');
    await waitForState(fleet.store, 'gw-2', `heard < now() - interval '5 s'`);
    if (command) expect(await ask(one, 'fleet', 'forget', 'gw-2', '--reason', 'dead')).toMatchObject({ code: 0 });
    // As a check of fleet.members does.
    else await query(fleet.store, `UPDATE ${schemaName}.gateways SET gone_at = now() WHERE name = 'gw-2'`);
    await waitForState(fleet.store, 'gw-2', 'gone_at IS NOT NULL');
    await eventually(() => expectNoYes(one, fleet, /Gateway gw-2 is gone/));
    expect((await ask(one, 'can-retire', '/v1')).stdout).toMatch(/its calls of this time \(\d+ s\) are not known/);
    // The time at which it ended cannot be before its last heartbeat, or in the future.
    const forget = (time: string) => ask(one, 'fleet', 'forget', 'gw-2', '--reason', 'dead', '--ended-at', time);
    expect(await forget('2026-01-01T00:00:00Z')).toMatchObject({ code: 2 });
    expect(await forget('2999-01-01T00:00:00Z')).toMatchObject({ code: 2, stderr: expect.stringContaining('future') });
    const [{ heard } = { heard: '' }] = await query<{ heard: string }>(
      fleet.store,
      `SELECT to_char(heard AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS heard FROM ${schemaName}.gateways WHERE name = 'gw-2'`,
    );
    expect(await forget(heard)).toMatchObject({ code: 0 });
    await eventually(() =>
      expectNoYes(one, fleet, new RegExp(`ended at ${heard}, as reported: its calls of this time`)),
    );
  });

  it.each([
    ['that left and starts again', true],
    ['that has never reached the store', false],
  ])('because a gateway %s while it cannot reach the store serves nobody', async (_name, left) => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const one = await fleet.startHere('gw-1');
    let folder = temporaryFolder();
    if (left) {
      const two = await fleet.startHere('gw-2', { store });
      ({ folder } = two);
      await two.stop();
      await waitForState(fleet.store, 'gw-2', 'left_at IS NOT NULL');
    }
    proxy.cut();
    writeMountedRoutes(folder, { ...fleet, store, name: 'gw-2', settings });
    const two = startProcess(folder);
    await two.printed(/This gateway serves no clients before it has reached the shared store/);
    await expectYes(one, fleet);
    expect(two.output()).not.toContain('listens on');
    proxy.restore();
    await two.printed(/listens on/);
    await expectYes(one, fleet);
  });

  it('with fleet.start: serve and without fleet.members', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.startHere('gw-1', { fleet: { start: 'serve' } });
    await expectNoYes(one, fleet, /With fleet\.start: serve, .*fleet\.members is not set/);
  });

  it('after a gateway whose clock is 40 days behind has left', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.startHere('gw-1');
    await expectYes(one, fleet);
    const two = await fleet.start('gw-2', { clockOffset: -40 * day });
    await call(two);
    await eventually(() =>
      expectNoYes(one, fleet, /The clock of gateway gw-2 is \d+ days behind|ran with a wrong clock/),
    );
    await kill(two, 'SIGTERM');
    await waitForState(fleet.store, 'gw-2', 'left_at IS NOT NULL');
    await eventually(() => expectNoYes(one, fleet, /Gateway gw-2 ran with a wrong clock/));
    // Its next start, with a right clock, changes nothing.
    await fleet.startHere('gw-2', { folder: two.folder });
    await expectNoYes(one, fleet, /Gateway gw-2 ran with a wrong clock|The usage ledger begins at/);
  });

  it('after kill -9 of a gateway whose disk was full, and a restart with space', async () => {
    const fleet = await createFleet(server);
    const [one, two] = [await fleet.startHere('gw-1'), await fleet.start('gw-2')];
    await expectYes(one, fleet);
    // Nothing can be written to the ledger file.
    const lock = new DatabaseSync(join(two.folder, 'usage.db'));
    onTestFinished(() => {
      if (lock.isOpen) lock.close();
    });
    lock.exec('BEGIN IMMEDIATE');
    await call(two);
    await two.printed(/cannot be written/);
    await kill(two, 'SIGKILL');
    lock.close();
    await fleet.startHere('gw-2', { folder: two.folder });
    await eventually(() => expectNoYes(one, fleet, /Gateway gw-2 ended without sending its last counts/));
  });

  it('after one call, kill -9 and a restart', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.start('gw-1');
    await expectYes(one, fleet);
    await call(one);
    await kill(one, 'SIGKILL');
    const again = await fleet.startHere('gw-1', { folder: one.folder });
    await expectNoYes(again, fleet, /Gateway gw-1 ended without sending its last counts/);
    // A restart that ends cleanly does not make it known.
    await again.stop();
    const third = await fleet.startHere('gw-1', { folder: one.folder });
    await expectNoYes(third, fleet, /Gateway gw-1 ended without sending its last counts/);
  });

  it('after one call, and the end of the worker that should have counted it', async () => {
    const fleet = await createFleet(server);
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', workers: 2 };
    const one = await fleet.start('gw-1', { settings: { ...settings, gateway } });
    const two = await fleet.startHere('gw-2');
    await expectYes(two, fleet);
    const losses = () => query(fleet.store, `SELECT version, reason FROM ${schemaName}.losses`);
    // A worker that has just passed on its counts loses nothing.
    while ((await losses()).length === 0) {
      await eventually(() => call(one));
      const { workers } = JSON.parse((await ask(one, 'status', '--format', 'json')).stdout);
      for (const { pid } of workers) process.kill(pid, 'SIGKILL');
      for (let waited = 0; waited < 50 && (await losses()).length === 0; waited += 1) await sleep(100);
    }
    const reason = 'Calls of /v1 may be missing: a worker ended before it had counted them (gateway gw-1).';
    // The coverage of other versions is not restarted.
    expect(await losses()).toEqual([{ version: 'v1', reason }]);
    await expectNoYes(two, fleet, /Can \/v1 be retired\? {2}not yet[\s\S]*a worker ended before it had counted them/);
  });

  it('while a gateway is silent with unsent calls of v1, and usage names it', async () => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const one = await fleet.startHere('gw-1');
    const two = await fleet.start('gw-2', { store });
    const usage = async (...where: string[]) => (await runIn('.', ['usage', '/v1', '--since', '1h', ...where])).stdout;
    await expectYes(one, fleet);
    expect(await usage('--admin', one.admin)).toMatch(/\nusage of \/v1 in the last .*, since .*\n\n {2}no requests\n$/);
    proxy.cut();
    await call(two);
    await waitForState(fleet.store, 'gw-2', `heard < now() - interval '5 s'`);
    await eventually(() => expectNoYes(one, fleet, /Gateway gw-2 has not been heard/));
    await kill(two, 'SIGKILL');
    const missing =
      /Gateway gw-2 has not been heard for .*; its calls are missing from this ledger\.\n\n {2}no requests\n$/;
    for (const where of [
      ['--admin', one.admin],
      ['--store', fleet.store],
    ])
      expect(await usage(...where)).toMatch(missing);
  });
});

it('a version is not safe to stop while another gateway serves other versions from its backend', async () => {
  const { store, upstream, routes } = await createFleet(server);
  const retired = { ...routes, '/v1': { ...(routes['/v1'] as object), retired: true }, '/v2': 'http://127.0.0.1:1' };
  const one = await startGatewayHere({ store, name: 'gw-1', routes: retired, settings });
  const three = await startGatewayHere({
    store,
    name: 'gw-3',
    routes: { '/v2': upstream, '/v3': upstream },
    settings,
  });
  const wait = () => ask(one, 'status', '--wait', '/v1', '--timeout', '1s');
  const address = new URL(upstream).host;
  await eventually(async () =>
    expect(await wait()).toMatchObject({ code: 1, stderr: expect.stringContaining(`gw-3 uses ${address} for /v2`) }),
  );
  await three.stop();
  await eventually(async () => expect(await wait()).toMatchObject({ code: 0 }));
});

it('a version is not safe to stop with fleet.start: serve and without fleet.members', async () => {
  const { store, routes } = await createFleet(server);
  const retired = { ...routes, '/v1': { ...(routes['/v1'] as object), retired: true } };
  const wait = (gateway: ServingGateway) => ask(gateway, 'status', '--wait', '/v1', '--timeout', '1s');
  const one = await startGatewayHere({
    store,
    name: 'gw-1',
    routes: { ...retired, '/v2': 'http://127.0.0.1:1' },
    settings,
  });
  await eventually(async () => expect(await wait(one)).toMatchObject({ code: 0 }));
  await one.stop();
  const { folder } = one;
  const options = { store, name: 'gw-1', routes: { ...retired, '/v2': 'http://127.0.0.1:1' }, settings, folder };
  const again = await startGatewayHere({ ...options, fleet: { start: 'serve' } });
  const expected = {
    code: 3,
    stderr: expect.stringMatching(/: gateways that are not known \(fleet.start is serve,[^,]*$/),
  };
  await eventually(async () => expect(await wait(again)).toMatchObject(expected));
});

describe('still a yes', () => {
  it('for a tombstone that an ignored client calls', async () => {
    const fleet = await createFleet(server);
    const routes = { ...fleet.routes, '/v1': { ...(fleet.routes['/v1'] as object), retired: true } };
    const ignoring = { ...settings, retire: { ...settings.retire, ignore_clients: ['probe'] } };
    const one = await fleet.startHere('gw-1', { routes, settings: ignoring });
    await fleet.startHere('gw-2', { routes, settings: ignoring });
    await waitForState(fleet.store, 'gw-2', 'ready');
    const knock = async (client: string) => {
      const init = { headers: { 'x-client-id': client } };
      expect((await fetch(`http://127.0.0.1:${one.port}/v1/drinks`, init)).status).toBe(410);
      const { code, stdout } = await ask(one, 'can-retire', '/v1');
      return [code, /removed\? {2}(.*)/.exec(stdout)?.[1]];
    };
    await eventually(async () => expect(await knock('probe')).toEqual([0, 'yes']));
    expect(await knock('shop')).toEqual([1, 'no']);
  });

  it('after all gateways were stopped by a signal and started again, also during an outage of the store', async () => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const one = await fleet.start('gw-1', { store });
    const two = await fleet.start('gw-2', { store });
    await expectYes(one, fleet);
    await kill(two, 'SIGTERM');
    proxy.cut();
    await call(one, 'v2');
    await kill(one, 'SIGTERM');
    proxy.restore();
    const again = await fleet.startHere('gw-1', { store, folder: one.folder });
    await fleet.startHere('gw-2', { store, folder: two.folder });
    await expectYes(again, fleet);
  });
});
