import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { acceptedRecord, configHash } from '../../../gateway/config/acceptedConfig.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { FleetSettings } from '../../../gateway/config/snapshot.ts';
import { Heartbeats } from '../../../gateway/operate/fleet/heartbeats.ts';
import { Membership, readGateways } from '../../../gateway/operate/fleet/membership.ts';
import { Postgres, type Sql, type Transactions } from '../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import type { MembershipReport } from '../../../gateway/operate/fleet/workerMessages.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { type PostgresServer, startStore } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { gatewayState, identity } from './gatewayRow.ts';

let server: PostgresServer;
let store: string;
let sql: Sql & Transactions;
beforeAll(async () => {
  const opened = await startStore();
  ({ server, store, sql } = opened);
  return opened.close;
});
afterEach(() => sql.query(`TRUNCATE ${schemaName}.gateways, ${schemaName}.accepted`));

/** The report of a gateway that has no unsent counts. */
const nothing = { rows: 0, since: undefined };
const snapshot = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } });
const me = identity('gw-1', { addresses: ['127.0.0.1', '::1'] });
const busy = gatewayState({ versions: { v1: { stage: 'active', in_flight: 3, waiting: 0 } }, spooled: 2 });

/** Heartbeats, and what they report. `connection`: to the store. `onReport`: called with each report. */
function beating(
  settings: Partial<FleetSettings> = {},
  { connection = sql, onReport = (_one: MembershipReport): void => {} } = {},
) {
  const defaults = {
    store: '',
    passwordFile: undefined,
    name: 'gw-1',
    heartbeat: 100,
    silentAfter: 1_000,
    start: 'wait',
    spool: 1,
  } as const;
  const reports: MembershipReport[] = [];
  const report = (one: MembershipReport): void => {
    reports.push(one);
    onReport(one);
  };
  const heartbeats = new Heartbeats(connection, { members: undefined, ...defaults, ...settings }, report, () => {});
  const beat = (state = busy, who = me): void =>
    heartbeats.onCommand({ kind: 'heartbeat', identity: who, state, acknowledged: undefined });
  const last = () => reports.findLast(({ kind }) => kind === 'gateways') as MembershipReport & { kind: 'gateways' };
  return { heartbeats, reports, beat, last };
}

async function states() {
  const { rows } = await readGateways(sql);
  return rows.map(({ name, spooled, leftAt, goneReason }) => ({
    name,
    spooled,
    hasLeft: leftAt !== undefined,
    goneReason,
  }));
}

describe('while the store does not answer', () => {
  it('the reason is reported, and every question is answered with it', async () => {
    const { heartbeats, reports, beat } = beating();
    await server.crash();
    try {
      // The first statements may still find the connections of before.
      await eventually(() => {
        beat();
        expect(reports.at(-1)).toEqual({ kind: 'heartbeatFailed', reason: expect.stringContaining('ECONNREFUSED') });
      });
      heartbeats.onCommand({ kind: 'readConfig', id: 7 });
      heartbeats.onCommand({
        kind: 'forget',
        id: 8,
        name: 'gw-2',
        reason: 'sold',
        endedAt: undefined,
        lastKnownRows: [],
      });
      const failure = { failure: expect.stringContaining('ECONNREFUSED') };
      await eventually(() => {
        expect(reports).toContainEqual({ kind: 'answer', id: 7, answer: failure });
        expect(reports).toContainEqual({ kind: 'answer', id: 8, answer: failure });
      });
    } finally {
      await server.start();
    }
    beat();
    await eventually(() => expect(reports.at(-1)).toMatchObject({ kind: 'gateways', self: me.instance }));
    await heartbeats.end(nothing);
  });
});

describe('at the end', () => {
  it('a gateway whose counts are all in the store has left', async () => {
    const { heartbeats, beat, last } = beating();
    beat();
    await eventually(() => expect(last()).toBeDefined());
    await heartbeats.end(nothing);
    expect(await states()).toEqual([{ name: 'gw-1', spooled: 0, hasLeft: true, goneReason: undefined }]);
  });

  it('a gateway has left, too, if only batches without counts wait', async () => {
    const { heartbeats, beat } = beating();
    beat();
    await heartbeats.end({ rows: 0, since: 1 });
    expect(await states()).toMatchObject([{ hasLeft: true }]);
  });

  it('a gateway with counts on its disk stays, with their number and nothing in flight', async () => {
    const { heartbeats, beat } = beating();
    beat();
    await heartbeats.end({ rows: 12, since: 5 });
    const [row] = (await readGateways(sql)).rows;
    expect(row).toMatchObject({ spooled: 12, spooledSince: 5, versions: {}, ready: false, leftAt: undefined });
  });

  it('nothing is written for a gateway that never reached the store', async () => {
    await beating().heartbeats.end({ rows: 12, since: 5 });
    expect(await states()).toEqual([]);
  });
});

it('the rows are read between two heartbeats, and nothing is written', async () => {
  const { heartbeats, reports, beat, last } = beating();
  heartbeats.onCommand({ kind: 'read' });
  beat();
  await eventually(() => expect(last()).toBeDefined());
  const { heard } = last().gateways.rows[0] ?? {};
  await new Membership(sql, identity('gw-2')).writeHeartbeat(gatewayState({ questionId: 5 }));
  const before = reports.length;
  heartbeats.onCommand({ kind: 'read' });
  await eventually(() => expect(reports.length).toBeGreaterThan(before));
  expect(last().gateways.rows).toMatchObject([
    { name: 'gw-1', heard },
    { name: 'gw-2', questionId: 5 },
  ]);
  await heartbeats.end(nothing);
});

it('a gateway whose ledger could not be opened at first is not left behind as a second one', async () => {
  const { beat, last } = beating();
  const later = identity('gw-1');
  beat();
  await eventually(() => expect(last()?.self).toBe(me.instance));
  beat(busy, later);
  await eventually(() => expect(last().self).toBe(later.instance));
  expect((await states()).map(({ hasLeft }) => hasLeft)).toEqual([true, false]);
});

it.each([
  ['calls may be missing after the file of a ledger was removed', undefined, 1],
  ['no call is missing after a ledger was opened again', { epoch: 1, closed: false, until: Date.now() }, 0],
])('%s', async (_name, previous, missing) => {
  const { beat } = beating();
  const own = identity('gw-1');
  const runs = () => sql.query(`SELECT 1 FROM ${schemaName}.runs WHERE instance = '${own.instance}'`);
  beat(busy, own);
  await eventually(async () => expect(await runs()).toHaveLength(1));
  beat(busy, { ...own, epoch: 2, previous });
  await eventually(async () => expect(await runs()).toHaveLength(2));
  const losses = await sql.query(`SELECT * FROM ${schemaName}.losses WHERE reason LIKE 'Gateway gw-1 ended without%'`);
  expect(losses).toHaveLength(missing);
  await sql.query(`TRUNCATE ${schemaName}.runs`);
});

describe('with fleet.members', () => {
  const members = async () => ({ host: 'localhost', port: Number(new URL(await refusedUrl()).port) });

  it('a silent gateway that is not among them is marked as gone, in the store', async () => {
    await new Membership(sql, identity('gw-2', { addresses: ['192.0.2.1'] })).writeHeartbeat(
      gatewayState({ spooled: 4 }),
    );
    await sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '1 hour'`);
    const { beat, heartbeats } = beating({ members: await members() });
    await eventually(async () => {
      beat();
      expect(await states()).toContainEqual({
        name: 'gw-2',
        spooled: 4,
        hasLeft: false,
        goneReason: 'none of its addresses is in localhost, and its admin port does not answer',
      });
    });
    await heartbeats.end(nothing);
  });

  it('a silent gateway is marked even if fleet.silent_after of this gateway is longer than its own', async () => {
    const other = identity('gw-2', { addresses: ['192.0.2.1'], silentAfter: 1_000 });
    await new Membership(sql, other).writeHeartbeat(gatewayState());
    await sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '1 hour'`);
    const { beat, heartbeats } = beating({ members: await members(), silentAfter: 86_400_000 });
    await eventually(async () => {
      beat();
      expect(await states()).toContainEqual(expect.objectContaining({ name: 'gw-2', goneReason: expect.any(String) }));
    });
    await heartbeats.end(nothing);
  });

  it('a silent gateway is found again if the store could not be reached when it was to be marked', async () => {
    await new Membership(sql, identity('gw-2', { addresses: ['192.0.2.1'] })).writeHeartbeat(gatewayState());
    await sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '1 hour'`);
    const link = await startTcpProxy(server.port);
    const url = new URL(store);
    url.port = String(link.port);
    const connection = await Postgres.open({ store: url.href, passwordFile: undefined });
    onTestFinished(() => connection.close());
    let checks = 0;
    // A check reports its result before it writes to the store.
    const onReport = ({ kind }: MembershipReport): void => {
      if (kind !== 'membersCheck') return;
      checks += 1;
      if (checks === 1) link.cut();
    };
    const { beat, heartbeats, reports } = beating({ members: await members() }, { connection, onReport });
    const goneReason = async () => (await states()).find(({ name }) => name === 'gw-2')?.goneReason;
    await eventually(() => {
      beat();
      expect(checks).toBeGreaterThan(0);
      expect(reports.at(-1)?.kind).toBe('heartbeatFailed');
    });
    expect(await goneReason()).toBeUndefined();
    const checksBefore = checks;
    link.restore();
    await eventually(async () => {
      beat();
      expect(await goneReason()).toBeDefined();
    });
    expect(checks).toBeGreaterThan(checksBefore);
    await heartbeats.end(nothing);
  });

  it('an address without a gateway is reported', async () => {
    const { beat, heartbeats, last } = beating({ members: await members() });
    const elsewhere = identity('gw-1', { addresses: ['192.0.2.1'] });
    await eventually(() => {
      beat(busy, elsewhere);
      expect(last()?.gateways.unheardAddresses).toContain('127.0.0.1');
    });
    await heartbeats.end(nothing);
  });
});

it('an accepted configuration is stored and read', async () => {
  const { heartbeats, reports } = beating();
  const config = {
    record: acceptedRecord(snapshot),
    hash: configHash(snapshot),
    gateway: 'gw-1',
    age: 0,
    answers: '{}',
  };
  heartbeats.onCommand({ kind: 'readConfig', id: 1 });
  await eventually(() => expect(reports).toContainEqual({ kind: 'answer', id: 1, answer: { config: undefined } }));
  heartbeats.onCommand({ kind: 'writeConfig', id: 2, config });
  await eventually(() =>
    expect(reports).toContainEqual({
      kind: 'answer',
      id: 2,
      answer: { config: expect.objectContaining({ hash: config.hash, gateway: 'gw-1' }) },
    }),
  );
});
