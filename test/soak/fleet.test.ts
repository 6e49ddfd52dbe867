import { afterAll, beforeAll, expect, it } from 'vitest';
import { countInFleet } from '../operate/fleet/exactCounting.ts';
import { startFleetGateway, writeMountedRoutes } from '../operate/fleet/fleetGateway.ts';
import { sumsIn } from '../operate/fleet/startMember.ts';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { generationOf } from './support/generations.ts';
import { startLoad } from './support/load.ts';
import { startPlainBackend } from './support/plainBackend.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

it('200,000 requests to three gateways are counted exactly in their store', { timeout: 600_000 }, async () => {
  await countInFleet(server, 200_000);
  console.log('soak: 200,000 requests of 500 clients to 3 gateways with 2 workers each, all in the store');
});

it('50 changes of routes.yaml, one gateway after the other, lose no request and no count', {
  timeout: 600_000,
}, async () => {
  const store = await server.database();
  const targets = [await startPlainBackend('0'), await startPlainBackend('1')] as const;
  const options = (name: string, change: number) => ({
    store,
    name,
    routes: { '/v1': { ...generationOf(change), upstream: targets[change % 2] }, '/v2': targets[0] },
    settings: { log: { access: 'off' } },
  });
  const names = ['gw-1', 'gw-2', 'gw-3'];
  const gateways = await Promise.all(names.map((name) => startFleetGateway(options(name, 0))));
  const stops = await Promise.all(gateways.map(({ port }) => startLoad(port, 8)));
  for (let change = 1; change <= 50; change += 1) {
    for (const [index, gateway] of gateways.entries()) {
      const next = options(names[index] as string, change);
      writeMountedRoutes(gateway.folder, next);
      await gateway.printed(new RegExp(`deprecation ${next.routes['/v1'].deprecation}`));
    }
  }
  const reports = await Promise.all(stops.map((stop) => stop()));
  const served = reports.reduce((sum, one) => sum + one.served, 0);
  const rate = reports.reduce((sum, one) => sum + one.served / one.seconds, 0);
  console.log(`soak: 150 reloads with ${rate.toFixed(0)} requests/s; all ${served} were answered 200`);
  expect(reports.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(reports.map(({ generations }) => generations)).toEqual([51, 51, 51]);
  await eventually(async () => {
    const counts = Object.values(await sumsIn(store));
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(served);
  });
});
