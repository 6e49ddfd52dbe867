import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { Plan } from '../../../gateway/versions/plan/plan.ts';
import { type FleetGateway, startFleetGateway, writeMountedRoutes } from '../../operate/fleet/fleetGateway.ts';
import { query } from '../../operate/fleet/startMember.ts';
import { runIn } from '../../process/cli/io.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { day } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask, get } from '../../support/rawClient.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const call = async ({ port }: FleetGateway, key: string) =>
  (await ask(port, get('/v1/drinks', `X-Client-Id: ${key}`))).status;

it('plans with the clients of both gateways, and freezes a version for the new clients of either', async () => {
  const backend = await startBackend(okAnswer);
  const store = await server.database();
  const routesWith = (v1: object) => ({
    '/v1': { upstream: backend.url, deprecation: '2026-01-01', ...v1 },
    '/v2': backend.url,
  });
  const settings = { retire: { quiet: '1h' }, guard: { quiet: 'off', notice: 'off' } };
  const names = ['gw-1', 'gw-2'];
  const [one, two] = await Promise.all(
    names.map((name) => startFleetGateway({ store, name, routes: routesWith({}), settings })),
  );
  if (!one || !two) throw new Error('no gateway');
  // The two gateways have just started. The ledger of a third gateway has covered the time before.
  const run = `'${randomUUID()}', 1, ${Date.now() - 10 * day}, ${Date.now()}`;
  await query(store, `INSERT INTO version_gateway.runs VALUES (${run})`);
  expect([await call(one, 'first'), await call(two, 'second'), await call(two, 'second')]).toEqual([200, 200, 200]);

  const candidate = join(one.folder, 'candidate.yaml');
  writeFileSync(candidate, stringify({ routes: routesWith({ retired: true, sunset: '2026-02-01' }), ...settings }));
  const losers = async (...target: string[]) => {
    const { code, stdout, stderr } = await runIn('.', ['plan', candidate, '--format', 'json', ...target]);
    expect([code, stderr]).toEqual([1, '']);
    return (JSON.parse(stdout) as Plan).clients.map(({ client, lost }) => `${client} ${lost}`);
  };
  const both = ['x-client-id:second 2', 'x-client-id:first 1'];
  for (const { admin } of [one, two])
    await eventually(async () => expect(await losers('--admin', admin)).toEqual(both));
  expect(await losers('--store', store)).toEqual(both);

  // The ledger names each client that called before this second.
  const from = new Date(Math.ceil(Date.now() / 1000 + 1) * 1000).toISOString();
  for (const [index, { folder }] of [one, two].entries()) {
    const routes = routesWith({ freeze: { from, mode: 'refuse' } });
    writeMountedRoutes(folder, { store, name: names[index] ?? '', routes, settings });
  }
  await Promise.all([one, two].map((gateway) => gateway.printed(/\/v1 is frozen: 2 clients known/)));
  for (const gateway of [one, two]) {
    await eventually(async () => expect(await call(gateway, 'third')).toBe(403));
    expect([await call(gateway, 'first'), await call(gateway, 'second')]).toEqual([200, 200]);
  }
});
