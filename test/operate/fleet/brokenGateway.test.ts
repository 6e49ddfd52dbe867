import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask, startFleetGateway, writeMountedRoutes } from './fleetGateway.ts';
import { startGatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

// One gateway of a fleet fails. Another one must not report then that a version may be retired or stopped.

// Longer than a busy machine needs to start a process.
const ended = { upstream: 'http://127.0.0.1:1', deprecation: '2026-01-01', sunset: '2026-02-01' };

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function startTwo(routes: Readonly<Record<string, unknown>>) {
  const store = await server.database();
  const one = await startGatewayHere({ store, name: 'gw-1', routes });
  const two = await startFleetGateway({ store, name: 'gw-2', routes });
  await eventually(async () => expect((await ask(one, 'fleet')).stdout).toMatch(/gw-2 +heard/));
  return { store, one, two };
}

it('a gateway that the store has lost and that cannot reach the store still serves', async () => {
  const { store, one, two } = await startTwo({ '/v1': ended, '/v2': ended.upstream });
  writeMountedRoutes(one.folder, {
    store,
    name: 'gw-1',
    routes: { '/v1': { ...ended, retired: true }, '/v2': ended.upstream },
    settings: { guard: { quiet: 'off' } },
  });
  await one.printed(/→ retired/);
  two.child.kill('SIGSTOP');
  // As after a backup from before its start.
  await query(store, `DELETE FROM version_gateway.gateways WHERE name = 'gw-2'`);
  const wait = await ask(one, 'status', '--wait', '/v1', '--timeout', '8s');
  expect(wait).toMatchObject({ code: 1, stderr: expect.stringContaining('gw-2 not heard for') });
  two.child.kill('SIGCONT');
  await eventually(async () => expect((await ask(one, 'fleet')).stdout).toMatch(/gw-2 +heard/));
});
