import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import {
  answersOf,
  behindProxy,
  call,
  createFleet,
  dump,
  expectNoYes,
  expectYes,
  type Fleet,
  kill,
  waitForState,
} from './coveredFleet.ts';
import type { GatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

// A gateway proves only what it remembers itself. What other gateways have counted since then may be missing in a restored store.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function stop(gateway: GatewayHere, name: string, { store }: Fleet): Promise<void> {
  await gateway.stop();
  await waitForState(store, name, 'left_at IS NOT NULL');
}

/** A gateway that serves one call of /v1 and leaves. */
async function callOnce(fleet: Fleet, name: string, options?: Parameters<Fleet['startHere']>[1]): Promise<void> {
  const gateway = await fleet.startHere(name, options);
  await call(gateway);
  await stop(gateway, name, fleet);
}

async function expectNeverYes(gateway: GatewayHere, fleet: Fleet): Promise<void> {
  for (const [place, { code, stdout, stderr }] of Object.entries(await answersOf(gateway, fleet)))
    expect(code, `${place}: ${stdout}${stderr}`).not.toBe(0);
}

describe('no yes after a restore from a dump', () => {
  it('if only a gateway has started that did not run after the dump', async () => {
    const fleet = await createFleet(server);
    const [one, two] = [await fleet.startHere('gw-1'), await fleet.startHere('gw-2')];
    await expectYes(one, fleet);
    await stop(two, 'gw-2', fleet);
    await stop(one, 'gw-1', fleet);
    const restore = await dump(fleet.store, { recreate: true });
    await callOnce(fleet, 'gw-1', { folder: one.folder });
    await restore();
    const third = await fleet.startHere('gw-2', { folder: two.folder });
    await eventually(() => expectNoYes(third, fleet, /gw-1/));
    await fleet.startHere('gw-1', { folder: one.folder });
    await eventually(() => expectNoYes(third, fleet, /The shared store was set back/));
  });

  it('if a gateway was cut off from before the dump until after the restore', async () => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const one = await fleet.startHere('gw-1', { store });
    await expectYes(one, fleet);
    proxy.cut();
    const restore = await dump(fleet.store, { recreate: true });
    await callOnce(fleet, 'gw-3');
    await restore();
    proxy.restore();
    await eventually(() => expectNoYes(one, fleet, /restored from a dump that was made while gateways ran/));
  });

  it('before any gateway has compared the store', async () => {
    const fleet = await createFleet(server);
    const one = await fleet.startHere('gw-1');
    await expectYes(one, fleet);
    await stop(one, 'gw-1', fleet);
    const restore = await dump(fleet.store, { recreate: true });
    await callOnce(fleet, 'gw-1', { folder: one.folder });
    await restore();
    const config = join(one.folder, 'routes.yaml');
    const { code, stderr } = await runIn('.', ['plan', '--retire', '/v1', '--store', fleet.store, '--config', config]);
    expect(stderr).toContain('no gateway has compared it yet');
    expect(code).toBe(2);
  });

  it('if a new gateway starts while another one seems to run', async () => {
    const fleet = await createFleet(server);
    const { proxy, store } = await behindProxy(server, fleet);
    const slow = { fleet: { silent_after: '12s' } };
    const one = await fleet.startHere('gw-1', { store, ...slow });
    await expectYes(one, fleet);
    proxy.cut();
    await one.stop();
    const restore = await dump(fleet.store, { recreate: true });
    await callOnce(fleet, 'gw-3', slow);
    await restore();
    // It serves once the other one is silent.
    const four = await fleet.startHere('gw-4', slow);
    await expectNeverYes(four, fleet);
    await eventually(() => expectNoYes(four, fleet, /The shared store was moved, restored or promoted/));
    proxy.restore();
    await fleet.startHere('gw-1', { store, folder: one.folder, ...slow });
    await eventually(() => expectNoYes(four, fleet, /The shared store was moved, restored or promoted/));
  });
});

it('no yes if the store is lost while a gateway takes its lasting id', async () => {
  const fleet = await createFleet(server);
  const one = await fleet.startHere('gw-1');
  await expectYes(one, fleet);
  const folder = temporaryFolder();
  const lock = new DatabaseSync(join(folder, 'usage.db'));
  lock.exec('BEGIN EXCLUSIVE; CREATE TABLE other (one)');
  const { proxy, store } = await behindProxy(server, fleet);
  const two = await fleet.start('gw-2', { folder, store });
  await query(
    fleet.store,
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
      CREATE TRIGGER slow BEFORE INSERT ON ${schemaName}.gateways FOR EACH ROW WHEN (NEW.name = 'gw-2') EXECUTE FUNCTION slow()`,
  );
  lock.exec('ROLLBACK');
  lock.close();
  const sleeping = `FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`;
  await eventually(async () => expect(await query(fleet.store, `SELECT 1 ${sleeping}`)).not.toEqual([]));
  proxy.cut();
  await query(fleet.store, `SELECT pg_terminate_backend(pid) ${sleeping}`);
  await call(two);
  await expectNeverYes(one, fleet);
});

it('a gateway that stops directly after its ledger was opened leaves no silent gateway behind', async () => {
  const fleet = await createFleet(server);
  const folder = temporaryFolder();
  const lock = new DatabaseSync(join(folder, 'usage.db'));
  lock.exec('BEGIN EXCLUSIVE; CREATE TABLE other (one)');
  // So long that only the stop tells the store of the lasting id.
  const gateway = await fleet.start('gw-1', { folder, fleet: { heartbeat: '10m', silent_after: '1h' } });
  await call(gateway);
  await gateway.printed(/usage\.db cannot be written/);
  lock.exec('ROLLBACK');
  lock.close();
  await gateway.printed(/usage\.db can be written again/);
  await kill(gateway, 'SIGTERM');
  const rows = await query(fleet.store, `SELECT name, left_at IS NULL AS is_silent FROM ${schemaName}.gateways`);
  expect(rows).toEqual(Array(2).fill({ name: 'gw-1', is_silent: false }));
});
