import { afterAll, beforeAll, expect, it } from 'vitest';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask, startFleetGateway } from './fleetGateway.ts';
import { query } from './startMember.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const routes = { '/v1': 'http://127.0.0.1:1' };
// Longer than a busy machine needs to start a process.

it.each([
  ['to a time before its start', `DELETE FROM ${schemaName}.gateways WHERE name = 'gw-3'`],
  [
    'to a time at which it was gone',
    `UPDATE ${schemaName}.gateways SET heard = heard - interval '1 day', gone_at = heard - interval '1 day',
      gone_reason = 'sold' WHERE name = 'gw-3'`,
  ],
  [
    'to a time at which it ran',
    `UPDATE ${schemaName}.gateways SET heard = heard - interval '1 day' WHERE name = 'gw-3'`,
  ],
])('a dead gateway is forgotten by all others after the store was set back %s', async (_name, setBack) => {
  const store = await server.database();
  const [one, two, three] = await Promise.all(
    ['gw-1', 'gw-2', 'gw-3'].map((name) => startFleetGateway({ store, name, routes })),
  );
  if (!one || !two || !three) throw new Error('three gateways');
  const stateSeenBy = async (gateway: { admin: string }): Promise<string> => {
    const { gateways } = JSON.parse((await ask(gateway, 'fleet', '--format', 'json')).stdout);
    return gateways.find(({ name }: { name: string }) => name === 'gw-3')?.state;
  };
  for (const gateway of [one, two]) await eventually(async () => expect(await stateSeenBy(gateway)).toBe('heard'));
  three.child.kill('SIGKILL');
  await eventually(() => expect(three.child.signalCode).toBe('SIGKILL'));
  await query(store, setBack);
  for (const gateway of [one, two]) await eventually(async () => expect(await stateSeenBy(gateway)).toBe('silent'));
  // It may still serve clients without the store, so no gateway may forget it by itself.
  expect((await ask(two, 'can-retire', '/v1')).stdout).toContain('Gateway gw-3 has not been heard');

  expect(await ask(one, 'fleet', 'forget', 'gw-3', '--reason', 'its machine is broken')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\n\ngw-3 is marked as gone\n$/),
  });
  for (const gateway of [one, two]) await eventually(async () => expect(await stateSeenBy(gateway)).toBe('gone'));
  expect((await ask(two, 'fleet')).stdout).toContain('gw-3 is gone: its machine is broken');
});
