import { afterAll, beforeAll, expect, it } from 'vitest';
import { countInFleet } from '../fleet/exactCounting.ts';
import { startFleetGateway, writeMountedRoutes } from '../fleet/fleetGateway.ts';
import { load } from '../runtime/startWorkers.ts';
import { startService } from '../runtime/workerCounting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

it('200,000 requests to three gateways are counted exactly in their store', { timeout: 600_000 }, async () => {
  await countInFleet(server, 200_000);
  console.log('soak: 200,000 requests of 500 clients to 3 gateways with 2 workers each, all in the store');
});

it('50 changes of routes.yaml, one gateway after the other, lose no request', { timeout: 600_000 }, async () => {
  const store = await server.database();
  const upstream = await startService();
  const options = (name: string, change: number) => ({
    store,
    name,
    routes: { '/v1': { upstream, deprecation: `20${26 + change}-01-01` }, '/v2': upstream },
    settings: { log: { access: 'off' } },
  });
  const names = ['gw-1', 'gw-2', 'gw-3'];
  const gateways = await Promise.all(names.map((name) => startFleetGateway(options(name, 0))));
  const loads = gateways.map(({ port }) => load(port, 8, '/v1/things'));
  const start = performance.now();
  for (let change = 1; change <= 50; change += 1) {
    for (const [index, gateway] of gateways.entries()) {
      writeMountedRoutes(gateway.folder, options(names[index] as string, change));
      await gateway.printed(new RegExp(`deprecation.*20${26 + change}-01-01`));
    }
  }
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(loads.map((one) => one.stop()));
  const requests = loads.reduce((sum, { seen }) => sum + (seen.get('200') ?? 0), 0);
  for (const { seen, unaccepted } of loads) {
    expect([...seen.keys()]).toEqual(['200']);
    expect(unaccepted).toEqual([]);
  }
  console.log(
    `soak: 150 reloads with ${(requests / seconds).toFixed(0)} requests/s; all ${requests} were answered 200`,
  );
});
