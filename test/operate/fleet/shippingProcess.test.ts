import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';
import { ask, startService } from '../../process/runtime/workerCounting.ts';
import { cases } from '../../support/cases.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { run } from '../../support/process.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcpProxy.ts';
import { countInFleet } from './exactCounting.ts';
import { type FleetGateway, type ServingGateway, startFleetGateway } from './fleetGateway.ts';
import { startGatewayHere } from './gatewayHere.ts';
import { query, sumsIn } from './startMember.ts';

let server: PostgresServer;
let routes: Record<string, string>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

interface Setup {
  readonly gateway: FleetGateway;
  readonly proxy: TcpProxy;
  /** The URL of the store without the proxy. */
  readonly direct: string;
  /** Starts the gateway again with its ledger, in this process: it costs less, and only its end needs a process. */
  restart(): Promise<ServingGateway>;
}

/** A gateway whose store is behind a proxy. */
async function setup(settings: Record<string, unknown> = {}): Promise<Setup> {
  const service = await startService();
  routes = { '/v1': service, '/v2': service };
  const direct = await server.store();
  const proxy = await startTcpProxy(server.port);
  const store = direct.replace(`:${server.port}/`, `:${proxy.port}/`);
  const options = { store, name: 'gw-1', routes, settings: { log: { access: 'off' }, ...settings } };
  const gateway = await startFleetGateway(options);
  const { folder } = gateway;
  return { gateway, proxy, direct, restart: () => startGatewayHere({ ...options, folder }) };
}

/** Sends `count` requests of ten clients to two versions and returns how many were sent by version and client. */
async function send({ port }: ServingGateway, count: number): Promise<Record<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const sent: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: count }, async (_one, index) => {
      const [version, client] = [`v${1 + (index % 2)}`, `client-${index % 10}`];
      await ask(port, `/${version}/things`, client, agent);
      const key = `${version} x-client-id:${client} GET /things`;
      sent[key] = (sent[key] ?? 0) + 1;
    }),
  );
  agent.destroy();
  return sent;
}

const total = (sums: Record<string, number>): number => Object.values(sums).reduce((sum, one) => sum + one, 0);

async function metric({ admin }: FleetGateway, name: string): Promise<number> {
  const text = await (await fetch(`http://${admin}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** The requests in the ledger of a gateway. */
function onDisk({ folder }: FleetGateway): number {
  const database = new DatabaseSync(join(folder, 'usage.db'), { readOnly: true });
  const { sum } = database.prepare('SELECT SUM(requests) AS sum FROM version_day').get() ?? {};
  database.close();
  return Number(sum);
}

it('serves while the store is away, brings every count when it is back, and reports both', async () => {
  const { gateway, proxy, direct } = await setup({
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', workers: 2 },
  });
  await eventually(async () => expect(await metric(gateway, 'version_gateway_fleet_store_up')).toBe(1));
  proxy.cut();
  const sent = await send(gateway, 400);
  await eventually(async () => {
    expect(await metric(gateway, 'version_gateway_fleet_store_up')).toBe(0);
    expect(await metric(gateway, 'version_gateway_fleet_spooled_rows')).toBeGreaterThan(0);
    expect(await metric(gateway, 'version_gateway_counts_waiting_seconds')).toBeGreaterThan(0);
    expect(await metric(gateway, 'version_gateway_fleet_spool_ratio')).toBeGreaterThan(0);
  });
  expect(gateway.output()).toContain('The shared store of the fleet cannot be used');
  proxy.restore();
  await eventually(async () => expect(await sumsIn(direct)).toEqual(sent));
  await gateway.printed(/The shared store of the fleet answers again/);
  await eventually(async () => expect(await metric(gateway, 'version_gateway_fleet_spooled_rows')).toBe(0));
  await eventually(async () => expect(await metric(gateway, 'version_gateway_counts_waiting_seconds')).toBe(0));
});

it('loses only the last seconds when it is killed, even if counts waited for the store', async () => {
  const { gateway, proxy, direct, restart } = await setup();
  const before = await send(gateway, 60);
  await eventually(async () => expect(await sumsIn(direct)).toEqual(before));
  proxy.cut();
  await send(gateway, 60);
  await eventually(() => expect(onDisk(gateway)).toBe(120));
  // These were not written yet.
  await send(gateway, 10);
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGKILL');
  await ended;
  proxy.restore();
  const again = await restart();
  const after = await send(again, 20);
  await eventually(async () => {
    const requests = total(await sumsIn(direct));
    expect(requests).toBeGreaterThanOrEqual(60 + 60 + total(after));
    expect(requests).toBeLessThanOrEqual(60 + 60 + 10 + total(after));
  });
  const runs = await query<{ runs: number; gateways: number }>(
    direct,
    'SELECT COUNT(*) AS runs, COUNT(DISTINCT instance) AS gateways FROM version_gateway.runs',
  );
  expect(runs).toEqual([{ runs: 2, gateways: 1 }]);
});

it('has sent every count when it has stopped, and has left the fleet', async () => {
  const { gateway, direct } = await setup();
  const sent = await send(gateway, 60);
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(await sumsIn(direct)).toEqual(sent);
  const rows = await query(direct, 'SELECT spooled FROM version_gateway.gateways WHERE left_at IS NOT NULL');
  expect(rows).toEqual([{ spooled: 0 }]);
});

it('is silent, and has not left, if it stops while counts wait', async () => {
  const { gateway, proxy, direct, restart } = await setup();
  await send(gateway, 20);
  proxy.cut();
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  proxy.restore();
  expect(await query(direct, 'SELECT name FROM version_gateway.gateways WHERE left_at IS NULL')).toHaveLength(1);
  await restart();
  await eventually(async () => expect(total(await sumsIn(direct))).toBe(20));
});

it('counts exactly over three gateways, with crashes, reloads, restarts and lost replies', () =>
  countInFleet(server, cases(3_000, 6_000)));

it('without fleet.store, loads no code of the fleet', async () => {
  const folder = temporaryFolder();
  const [hook, loaded, config] = ['hook.mjs', 'loaded', 'routes.yaml'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(
    hook,
    `import { appendFileSync } from 'node:fs'; import { registerHooks } from 'node:module';
     registerHooks({ load: (url, context, next) => { appendFileSync(${JSON.stringify(loaded)}, url + '\\n'); return next(url, context); } });`,
  );
  const modulesOf = async (settings: Record<string, unknown>): Promise<string[]> => {
    writeFileSync(loaded, '');
    writeFileSync(
      config,
      stringify({
        routes: { '/v1': 'http://127.0.0.1:1' },
        gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
        usage: { store: join(folder, 'usage.db') },
        ...settings,
      }),
    );
    const running = run(process.execPath, ['--import', hook, gatewayMain, 'start', '--config', config]);
    await running.printed(/Dashboard/);
    const ended = once(running.child, 'exit');
    running.child.kill('SIGTERM');
    await ended;
    return readFileSync(loaded, 'utf8').split('\n');
  };
  const ofFleet = (url: string): boolean => /\/gateway\/operate\/fleet\/|\/node_modules\/pg/.test(url);
  const alone = await modulesOf({});
  expect(alone.length).toBeGreaterThan(50);
  expect(alone.filter(ofFleet)).toEqual([]);
  const inFleet = await modulesOf({ fleet: { store: await server.database(), name: 'gw-1' } });
  expect(inFleet.filter(ofFleet).length).toBeGreaterThan(3);
});
