import { once } from 'node:events';
import { Agent } from 'node:http';
import { expect } from 'vitest';
import { ask, startService } from '../../process/runtime/workerCounting.ts';
import { eventually } from '../../support/eventually.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { type FleetGateway, startFleetGateway, writeMountedRoutes } from './fleetGateway.ts';
import { sumsIn } from './startMember.ts';

const clients = 500;
const versions = ['v1', 'v2', 'v3'];
const paths = ['/things', '/orders', '/people', '/places'];

/**
 * Sends `total` requests of 500 clients to three versions and four routes of three gateways with two workers each. Meanwhile
 * their configuration is replaced, a gateway restarts its workers, another one is stopped and started again, the database
 * crashes twice, and every fifth reply of the store is lost after its commit. Compares the store by version, client and route.
 */
export async function countInFleet(server: PostgresServer, total: number): Promise<void> {
  const service = await startService();
  const routes = { '/v1': service, '/v2': service, '/v3': service };
  const direct = await server.database();
  const proxy = await startTcpProxy(server.port);
  proxy.dropReplies(5, 'version_gateway.write_batch_2(');
  const store = direct.replace(`:${server.port}/`, `:${proxy.port}/`);
  const settings = {
    log: { access: 'off' },
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '5s', workers: 2 },
  };
  const gateways: FleetGateway[] = [];
  for (const name of ['gw-1', 'gw-2', 'gw-3'])
    gateways.push(await startFleetGateway({ store, name, routes, settings }));

  // As a load balancer sees them: open requests by gateway, and the gateway that gets no new ones.
  const open = new Map<FleetGateway, number>();
  let leaving: FleetGateway | undefined;
  const replace = async (): Promise<void> => {
    const gateway = gateways[2] as FleetGateway;
    leaving = gateway;
    await eventually(() => expect(open.get(gateway)).toBe(0));
    const exit = once(gateway.child, 'exit');
    gateway.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    gateways[2] = await startFleetGateway({ store, name: 'gw-3', routes, settings, folder: gateway.folder });
  };
  const crash = async (): Promise<void> => {
    await server.crash();
    await server.start();
  };
  const restart = async (): Promise<void> => {
    gateways[0]?.child.kill('SIGUSR2');
    await gateways[0]?.printed(/rolling restart done/);
  };
  const reload = async (): Promise<void> => {
    const next = { ...routes, '/v1': { upstream: service, deprecation: '2026-01-01' } };
    for (const [index, { folder }] of gateways.entries())
      writeMountedRoutes(folder, { store, name: `gw-${index + 1}`, routes: next, settings });
    await Promise.all(gateways.map(({ printed }) => printed(/active → deprecated/)));
  };
  const events = new Map(
    [crash, restart, reload, replace, crash].map((event, index) => [Math.floor((total * (index + 1)) / 6), event]),
  );

  const sent: Record<string, number> = {};
  // A worker that stops closes its idle connections, and a request may be on its way over one of them.
  const agent = new Agent({ keepAlive: false, maxSockets: 24 });
  let happening = Promise.resolve();
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < total) {
      const number = next++;
      // Coprime strides: every client calls every version and route of every gateway, with different frequency.
      const client = `client-${(number * 7 + (number % 11)) % clients}`;
      const [version = '', path = ''] = [versions[number % 3], paths[(number + Math.floor(number / 9)) % 4]];
      const key = `${version} x-client-id:${client} GET ${path}`;
      sent[key] = (sent[key] ?? 0) + 1;
      const event = events.get(number);
      if (event) happening = happening.then(event);
      const available = gateways.filter((one) => one !== leaving);
      const gateway = available[Math.floor(number / 3) % available.length] as FleetGateway;
      open.set(gateway, (open.get(gateway) ?? 0) + 1);
      await ask(gateway.port, `/${version}${path}`, client, agent);
      open.set(gateway, (open.get(gateway) ?? 0) - 1);
    }
  };
  await Promise.all(Array.from({ length: 24 }, loop));
  await happening;
  agent.destroy();
  await eventually(async () => expect(await sumsIn(direct)).toEqual(sent));
  expect(Object.values(sent).reduce((sum, one) => sum + one, 0)).toBe(total);
  expect(proxy.dropped).toBeGreaterThan(0);
}
