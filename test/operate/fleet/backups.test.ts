import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import {
  behindProxy,
  call,
  createFleet,
  dump,
  expectNoYes,
  expectYes,
  type Fleet,
  setBack,
  waitForState,
} from './coveredFleet.ts';
import { query } from './startMember.ts';

// What docs/backup.md says about the store of a fleet, with real servers and gateways. Before each event, all places say yes.

const movedUnseen = /The shared store was moved, restored or promoted while no gateway was running/;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function startServer(options?: Parameters<typeof startPostgres>[0]): Promise<PostgresServer> {
  const started = await startPostgres(options);
  onTestFinished(() => started.stop());
  return started;
}

/** Two gateways that reach the server through a proxy, as through the address of a cluster. */
async function startBehindProxy(primary: PostgresServer) {
  const fleet = await createFleet(primary);
  const { proxy, store } = await behindProxy(primary, fleet);
  const [one, two] = [await fleet.startHere('gw-1', { store }), await fleet.startHere('gw-2', { store })];
  await expectYes(one, fleet);
  return { fleet, proxy, store, one, two };
}

/** Waits until the standby has everything that the primary has written. */
async function caughtUp(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const ask = async (port: number, sql: string): Promise<unknown> =>
    (await query<{ lsn: unknown }>(`postgres://gateway@127.0.0.1:${port}/postgres`, sql))[0]?.lsn;
  const written = await ask(primary.port, 'SELECT pg_current_wal_lsn()::text AS lsn');
  await eventually(async () =>
    expect(await ask(standby.port, `SELECT pg_last_wal_replay_lsn() >= '${written}' AS lsn`)).toBe(true),
  );
}

/** A fleet without gateways, whose store was restored from a dump. A call came after the dump, and its ledger file is lost, too. */
async function restoreWithoutLastCall(): Promise<Fleet> {
  const fleet = await createFleet(server);
  const one = await fleet.startHere('gw-1');
  await expectYes(one, fleet);
  await one.stop();
  await waitForState(fleet.store, 'gw-1', 'left_at IS NOT NULL');
  const restore = await dump(fleet.store, { recreate: true });
  const two = await fleet.startHere('gw-1', { folder: one.folder });
  await call(two);
  await two.stop();
  await waitForState(fleet.store, 'gw-1', 'left_at IS NOT NULL');
  await restore();
  return fleet;
}

async function startStandby(primary: PostgresServer) {
  const link = await startTcpProxy(primary.port);
  const standby = await startServer({
    backup: await primary.backUp(),
    signal: 'standby',
    settings: [`primary_conninfo=host=127.0.0.1 port=${link.port} user=gateway`],
  });
  await caughtUp(primary, standby);
  return { link, standby };
}

describe('no yes', () => {
  it('after the store was restored from a base backup while the gateways ran', async () => {
    const primary = await startServer();
    const { fleet, proxy, store, one, two } = await startBehindProxy(primary);
    const backup = await primary.backUp();
    await call(two);
    await eventually(async () => expectNoYes(one, fleet, /Can \/v1 be retired\? {2}no/));
    await primary.crash();
    await eventually(async () => expectNoYes(one, fleet, /The shared ledger cannot be reached/));
    const settings = ['restore_command=false', 'recovery_target=immediate', 'recovery_target_action=promote'];
    const restored = await startServer({ backup, signal: 'recovery', settings });
    proxy.redirect(restored.port);
    await eventually(() => expectNoYes(one, { ...fleet, store }, setBack));
    await one.printed(
      /The shared store was set back to an earlier time, or restored from a backup: .*Coverage restarts/,
    );
  });

  it('after a replica was promoted that lacks the last seconds', async () => {
    const primary = await startServer();
    const { fleet, proxy, store, one, two } = await startBehindProxy(primary);
    const { link, standby } = await startStandby(primary);
    link.cut();
    await call(two);
    await eventually(async () => expectNoYes(one, fleet, /Can \/v1 be retired\? {2}no/));
    await primary.crash();
    await standby.promote();
    proxy.redirect(standby.port);
    await eventually(() => expectNoYes(one, { ...fleet, store }, setBack));
  });

  it('after such a promotion, if the gateway that finds it was cut off while another one ran', async () => {
    const primary = await startServer();
    const { fleet, proxy, store, one, two } = await startBehindProxy(primary);
    const leave = async (gateway: typeof two) => {
      await gateway.stop();
      await waitForState(fleet.store, 'gw-2', 'left_at IS NOT NULL');
    };
    await leave(two);
    const { link, standby } = await startStandby(primary);
    proxy.cut();
    await caughtUp(primary, standby);
    link.cut();
    const again = await fleet.startHere('gw-2', { folder: two.folder });
    await call(again);
    await leave(again);
    await waitForState(fleet.store, 'gw-1', `heard < now() - interval '5 s'`);
    await primary.crash();
    await standby.promote();
    proxy.redirect(standby.port);
    proxy.restore();
    await eventually(() => expectNoYes(one, { ...fleet, store }, /gw-2 has not been heard/));
  });

  it('after the store was restored from a dump while the gateways ran', async () => {
    const { fleet, proxy, one, two } = await startBehindProxy(server);
    const restore = await dump(fleet.store, { recreate: true });
    await call(two);
    await eventually(async () => expectNoYes(one, fleet, /Can \/v1 be retired\? {2}no/));
    proxy.cut();
    await restore();
    proxy.restore();
    await eventually(() => expectNoYes(one, fleet, setBack));
  });

  it('after a restore from a dump that was made while no gateway ran, with new gateways', async () => {
    const fleet = await restoreWithoutLastCall();
    await expectNoYes(await fleet.startHere('gw-1'), fleet, movedUnseen);
  });

  it('after such a restore, if the first heartbeat of the new gateway is late', async () => {
    const fleet = await restoreWithoutLastCall();
    const writers = () => query(fleet.store, `SELECT 1 FROM ${schemaName}.writers`);
    const before = (await writers()).length;
    const heartbeats = new Client({ connectionString: fleet.store });
    await heartbeats.connect();
    await heartbeats.query(`BEGIN; LOCK TABLE ${schemaName}.gateways IN EXCLUSIVE MODE`);
    const gateway = await fleet.startHere('gw-1', { fleet: { start: 'serve', silent_after: '1m' } });
    await call(gateway, 'v2');
    const isSent = async () => (await writers()).length > before;
    // If the counts do not wait for the heartbeat, they usually arrive within one second.
    for (let tries = 0; tries < 30 && !(await isSent()); tries += 1) await sleep(100);
    // The connection of the first heartbeat is lost. The next one knows of these counts, but of none from before this run.
    await query(fleet.store, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
    await heartbeats.query('COMMIT');
    await heartbeats.end();
    await eventually(() => expectNoYes(gateway, fleet, movedUnseen));
    await eventually(async () => expect(await isSent()).toBe(true));
  });
});

describe('still a yes', () => {
  it('after a replica was promoted that has everything', async () => {
    const primary = await startServer();
    const { fleet, proxy, store, one } = await startBehindProxy(primary);
    const { standby } = await startStandby(primary);
    await call(one, 'v2');
    proxy.cut();
    await caughtUp(primary, standby);
    await primary.crash();
    await standby.promote();
    proxy.redirect(standby.port);
    proxy.restore();
    // The former address of the store answers no more.
    await expectYes(one, { ...fleet, store });
    expect(await lostCounts(standby, fleet)).toEqual([]);
  });

  it('after the store was moved by a dump while all gateways were stopped, with their files', async () => {
    const fleet = await createFleet(server);
    const [one, two] = [await fleet.startHere('gw-1'), await fleet.startHere('gw-2')];
    await expectYes(one, fleet);
    for (const gateway of [one, two]) await call(gateway, 'v2');
    for (const gateway of [one, two]) await gateway.stop();
    const restore = await dump(fleet.store, { recreate: true });
    await restore();
    const again = await fleet.startHere('gw-1', { folder: one.folder });
    await fleet.startHere('gw-2', { folder: two.folder });
    await expectYes(again, fleet);
    expect(await lostCounts(server, fleet)).toEqual([]);
  });
});

async function lostCounts({ port }: PostgresServer, { store }: Fleet): Promise<unknown[]> {
  const url = new URL(store);
  url.port = String(port);
  return query(url.href, `SELECT * FROM ${schemaName}.lost_counts`);
}
