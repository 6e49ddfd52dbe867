import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { Membership } from '../../../gateway/operate/fleet/membership.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { createFleet, settings } from './coveredFleet.ts';
import { activeLoad, gatewayState, identity } from './gatewayRow.ts';
import { query } from './startMember.ts';

// Commands that read the store of a fleet without a gateway. evidence.test.ts has `plan --retire` with real gateways.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** A store without gateways, and functions that add one and run a command. */
async function covered() {
  const { store, routes } = await createFleet(server);
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  onTestFinished(() => postgres.close());
  const member = new Membership(postgres, identity('gw-2'));
  const fileOf = (candidate: object): string => {
    const file = join(temporaryFolder(), 'routes.yaml');
    writeFileSync(file, stringify({ routes: candidate, ...settings }));
    return file;
  };
  const beat = async (inFlight = 0) => {
    const versions = { v1: { ...activeLoad, in_flight: inFlight }, v2: activeLoad };
    await member.writeHeartbeat(gatewayState({ versions, counted: { at: Date.now() + 60_000, unsent: {} } }));
  };
  return {
    store,
    routes,
    fileOf,
    beat,
    /** Answers while the gateway is heard. */
    whileHeard: async (inFlight: number, answer: () => ReturnType<typeof runIn>) => {
      await beat(inFlight);
      let isOver = false;
      const result = answer().finally(() => {
        isOver = true;
      });
      while (!isOver) {
        await beat(inFlight);
        await sleep(50);
      }
      return result;
    },
    silence: () => postgres.query(`UPDATE ${schemaName}.gateways SET heard = now() - interval '1 minute'`),
    run: (...args: string[]) => runIn('.', [...args, '--store', store]),
  };
}

it('plan knows no answer while a gateway of the fleet has an open request', async () => {
  const { routes, fileOf, whileHeard, run } = await covered();
  const plan = () => run('plan', '--retire', '/v1', '--config', fileOf(routes));
  expect(await whileHeard(0, plan)).toMatchObject({ code: 0 });
  expect(await whileHeard(2, plan)).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('/v1 has 2 open requests'),
  });
});

it('plan of a file without a version names a silent gateway that serves it', async () => {
  const { routes, fileOf, beat, silence, run } = await covered();
  const plan = () => run('plan', fileOf({ '/v2': routes['/v2'] }));
  const silent = 'Gateway gw-2 has not been heard for 1 min';
  expect((await plan()).stdout).not.toContain(silent);
  await beat();
  await silence();
  expect(await plan()).toMatchObject({ code: 3, stdout: expect.stringContaining(silent) });
});

it('plan and digest know no answer if the last gateway left long ago: clients may have called in vain', async () => {
  const { store, routes, fileOf, run } = await covered();
  const plan = () => run('plan', '--retire', '/v1', '--config', fileOf(routes));
  expect(await plan()).toMatchObject({ code: 0 });
  const written = (ago: number) => query(store, `UPDATE ${schemaName}.runs SET seen = ${Date.now() - ago}`);
  // A tenth of the period of an hour is tolerated.
  await written(5 * 60_000);
  expect(await plan()).toMatchObject({ code: 0 });
  await written(20 * 60_000);
  expect(await plan()).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('No gateway has written this ledger'),
  });
  const digest = await run('digest', '--config', fileOf(routes));
  expect(digest.stdout).not.toContain('Nothing in the ledger blocks its retirement.');
  await written(-20 * 60_000);
  expect(await plan()).toMatchObject({ code: 3, stdout: expect.stringContaining('which is in the future') });
});

it.each([
  ['serve' as const, 'Gateway gw-2 has fleet.start: serve: '],
  [undefined, 'Gateway gw-2 has an earlier release, which does not report fleet.start: '],
])('plan knows no answer if a gateway may serve before the store knows it: %s', async (start, expected) => {
  const { routes, fileOf, store, run } = await covered();
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  onTestFinished(() => postgres.close());
  const member = new Membership(postgres, identity('gw-2', { start }));
  await member.writeHeartbeat(gatewayState());
  const plan = () => run('plan', '--retire', '/v1', '--config', fileOf(routes));
  expect(await plan()).toMatchObject({ code: 3, stdout: expect.stringContaining(expected) });
  // It stays unknown after the last of them has left.
  await member.leave();
  expect(await plan()).toMatchObject({ code: 3, stdout: expect.stringContaining(expected) });
  await new Membership(postgres, identity('gw-3')).writeHeartbeat(gatewayState());
  expect((await plan()).stdout).not.toContain('fleet.start');
});

it('plan and digest know no answer if gateways may serve before the store knows them', async () => {
  const { routes, run } = await covered();
  const file = join(temporaryFolder(), 'routes.yaml');
  const members = 'dns://gateways.internal:9901';
  const fleet = { store: 'postgres://127.0.0.1:1/x', name: 'gw-1', start: 'serve', members };
  writeFileSync(file, stringify({ routes, ...settings, usage: { store: 'usage.db' }, fleet }));
  const expected = expect.stringContaining('fleet.members cannot be used: only a running gateway compares them');
  expect(await run('plan', '--retire', '/v1', '--config', file)).toMatchObject({ code: 3, stdout: expected });
  expect((await run('digest', '--config', file)).stdout).toEqual(expected);
});

it('digest names a silent gateway, and does not say that nothing blocks the retirement', async () => {
  const { routes, fileOf, beat, silence, run } = await covered();
  const digest = async () => (await run('digest', '--config', fileOf(routes))).stdout;
  expect(await digest()).toContain('Nothing in the ledger blocks its retirement.');
  await beat();
  await silence();
  const text = await digest();
  expect(text).toContain('Gateway gw-2 has not been heard for 1 min');
  expect(text).not.toContain('Nothing in the ledger blocks its retirement.');
});
