import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { acceptedRecord, configHash } from '../../../gateway/config/acceptedConfig.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { Fleet } from '../../../gateway/operate/fleet/fleet.ts';
import type { ServingGateway } from '../../../gateway/operate/fleet/fleetMember.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { writeSharedConfig } from '../../../gateway/operate/fleet/sharedConfig.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { query, startMember } from './startMember.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const waits = 'This gateway serves no clients before it has reached the shared store of its fleet';

it('starts while the store is down, and reports the loss and the return of the store once', async () => {
  const store = await server.database();
  await server.crash();
  const { fleet, notices } = await startMember(store);
  await eventually(() => expect(fleet.storeProblem).toContain('ECONNREFUSED'));
  expect(fleet.isStoreUp).toBe(false);
  await server.start();
  await eventually(() => expect(fleet.isStoreUp).toBe(true));
  expect(fleet.storeProblem).toBeUndefined();
  expect(notices).toEqual([
    expect.stringContaining('The shared store of the fleet cannot be used: connect ECONNREFUSED'),
    expect.stringContaining(waits),
    'The shared store of the fleet answers again.',
  ]);
});

/** A gateway without requests. */
function servingGateway(current: Snapshot): ServingGateway {
  return {
    source: { current },
    readUsage: async () => ({ calls: () => undefined }),
    onAccepted: () => {},
    clock: { now: Date.now },
    ready: () => true,
    report: async () => ({ versions: [], workers: [] }),
    flush: async () => true,
  };
}

it('starts another thread if the thread ends', async () => {
  const { fleet, notices } = await startMember(await server.database(), {
    worker: new URL('./endingFleetWorker.ts', import.meta.url),
  });
  await eventually(() =>
    expect(notices.filter((line) => !line.includes(waits))).toEqual([
      expect.stringContaining('the thread that talks to it ended: the test ends the thread'),
      'The shared store of the fleet answers again.',
    ]),
  );
  expect(fleet.isStoreUp).toBe(true);
});

it('a new thread is given a heartbeat at once', async () => {
  const { fleet, notices } = await startMember(await server.database(), {
    worker: new URL('./endingLaterWorker.ts', import.meta.url),
    heartbeat: '10m',
  });
  await eventually(() => expect(fleet.member.memory).toBeDefined());
  await fleet.member.join(servingGateway(snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } })));
  fleet.configure();
  await eventually(() => expect(notices).toContainEqual(expect.stringContaining('the test ends the thread')));
  await eventually(() => expect(fleet.member.view.problem).toBeUndefined());
});

it('stops if the thread fails at the end', async () => {
  const { fleet } = await startMember(await server.database(), {
    worker: new URL('./failingStopWorker.ts', import.meta.url),
  });
  await eventually(() => expect(fleet.isStoreUp).toBe(true));
  await expect(fleet.stop(1_000)).resolves.toBeUndefined();
});

it('reports counts that its ledger cannot write as missing in the store, and has not left when it stops', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'kept'), 'in the way');
  const store = await server.database();
  const { fleet, ledger } = await startMember(store, { usage: join(folder, 'kept', 'usage.db') });
  const { member } = fleet;
  const snapshot = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } });
  const beat = () => member.register(snapshot, Date.now);
  await beat();
  const report = { versions: [], workers: [] };
  const gaps = () => member.facts('v1', 1, { report, ...member.createCountsQuestion() }).gaps;
  expect([member.status().gateways, gaps()[0]?.text]).toMatchObject([[{ state: 'heard', spooled: 0 }], undefined]);
  ledger.add([row('v1', 'x-client-id:ios', Date.now())]);
  await ledger.flush();
  // Heartbeats do not update it while the store does not answer.
  await eventually(() => expect(member.status().gateways).toMatchObject([{ spooled: 1 }]));
  await eventually(async () => {
    await beat();
    expect(gaps()[0]?.text).toMatch(
      /^Gateway gw-1 has 1 row of counts that are not in this ledger yet; the oldest is from \d+ s ago\.$/,
    );
  });
  await fleet.stop(1_000);
  expect(await query(store, 'SELECT spooled, left_at FROM version_gateway.gateways')).toEqual([
    { spooled: 1, left_at: null },
  ]);
});

it('does not start if the system starts no thread for it', async () => {
  // Node refuses such a file as it refuses a thread too many: at once.
  const member = startMember('postgres://127.0.0.1:1/none', { worker: new URL('http://127.0.0.1/worker.js') });
  await expect(member).rejects.toThrow(
    /^the thread that talks to it cannot be started: The URL must be of scheme file$/,
  );
});

it('reports a store that cannot be migrated', async () => {
  const store = await server.database();
  await query(store, 'CREATE ROLE reader LOGIN');
  const { fleet, notices } = await startMember(store.replace('gateway@', 'reader@'));
  await eventually(() => expect(notices).toEqual([expect.stringContaining('permission denied for database')]));
  expect(fleet.isStoreUp).toBe(false);
});

it('reports once that a store cannot be maintained, and once that it can be again', async () => {
  const store = await server.database();
  const { stop } = await startMember(store);
  await stop();
  await query(store, 'ALTER TABLE version_gateway.version_day_instance RENAME TO lost');
  const { notices } = await startMember(store, { worker: new URL('./hastyWorker.ts', import.meta.url) });
  const reported = (): string[] => notices.filter((line) => line.includes('maintained'));
  const missing = 'cannot be maintained: relation "version_gateway.version_day_instance" does not exist.  ';
  await eventually(() => expect(reported()).toEqual([expect.stringContaining(missing)]));
  await query(store, 'ALTER TABLE version_gateway.lost RENAME TO version_day_instance');
  await eventually(() => expect(reported().slice(1)).toEqual(['The shared store of the fleet is maintained again.']));
});

it('reports once that it cannot compare its configuration with that of the fleet, and tries again', async () => {
  const store = await server.database();
  const { fleet, notices } = await startMember(store);
  const withSunset = (sunset: string) =>
    snapshotFrom({ routes: { '/v1': { upstream: 'http://127.0.0.1:1', deprecation: '2026-01-01', sunset } } });
  // Otherwise the comparison at the start may come too early for an answer of the store.
  await eventually(() => expect(fleet.member.memory).toBeDefined());
  const [announced, current] = [withSunset('2031-01-01'), withSunset('2030-01-01')];
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  await writeSharedConfig(postgres, {
    record: acceptedRecord(announced),
    hash: configHash(announced),
    gateway: 'gw-2',
    age: 0,
    answers: '{}',
  });
  await postgres.close();
  let questions = 0;
  // The comparison at the start succeeds, the next one fails.
  await fleet.member.join({
    ...servingGateway(current),
    readUsage: async () => {
      questions += 1;
      if (questions === 2) throw new Error('no worker answers');
      return { calls: () => undefined };
    },
  });
  const about = 'compared with the configuration of the fleet';
  await eventually(() =>
    expect(notices.filter((line) => line.includes(about))).toEqual([
      `routes.yaml cannot be ${about}: no worker answers.  This is tried again.`,
      `routes.yaml can be ${about} again.`,
    ]),
  );
});

it('reports once that fleet.members does not list it, and once that it does', async () => {
  const { fleet, notices } = await startMember(await server.database(), { members: 'dns://gateways.invalid:9901' });
  for (const problem of ['getaddrinfo ENOTFOUND', 'getaddrinfo EAI_AGAIN', undefined, undefined])
    fleet.member.onReport({ kind: 'membersCheck', problem });
  expect(notices.filter((line) => line.startsWith('fleet.members'))).toEqual([
    'fleet.members: gateways.invalid does not list this gateway: getaddrinfo ENOTFOUND.  Until then, no silent gateway counts as gone.',
    'fleet.members: gateways.invalid lists this gateway.',
  ]);
});

it('refuses to start if the password cannot be read', async () => {
  const usage = join(temporaryFolder(), 'usage.db');
  const snapshot = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    usage: { store: usage },
    fleet: { store: 'postgres://127.0.0.1:1/db', password_file: '/missing/password' },
  });
  const ledger = await ThreadedLedger.open(snapshot.usage);
  onTestFinished(() => ledger.close());
  if (snapshot.fleet === undefined) throw new Error('the snapshot has no fleet');
  await expect(Fleet.start(snapshot.fleet, { ledger })).rejects.toThrow(
    'fleet.password_file: /missing/password cannot be read: there is no such file',
  );
});
