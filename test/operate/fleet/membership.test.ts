import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  deleteFormerGateways,
  type GatewayState,
  Membership,
  markGone,
  ownAddresses,
  readGateways,
} from '../../../gateway/operate/fleet/membership.ts';
import type { Sql } from '../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { type PostgresServer, startStore } from '../../support/postgres.ts';
import { gatewayState, identity } from './gatewayRow.ts';

let server: PostgresServer;
let sql: Sql;
beforeAll(async () => {
  const opened = await startStore();
  ({ server, sql } = opened);
  return opened.close;
});
afterEach(() => sql.query(`TRUNCATE ${schemaName}.gateways`));

const busy = { stage: 'retired', in_flight: 2, waiting: 1 } as const;
const idle = { stage: 'retired', in_flight: 0, waiting: 0 } as const;
const v1 = (load: GatewayState['versions'][string]): GatewayState => gatewayState({ versions: { v1: load } });

async function rowOf(membership: Membership) {
  const { rows, now } = await membership.read();
  const row = rows.find(({ instance }) => instance === membership.instance);
  if (row === undefined) throw new Error('no such row');
  return { ...row, now };
}

describe('a heartbeat', () => {
  it('fails without the store, and works again after it came back', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await server.crash();
    try {
      await expect(membership.writeHeartbeat(gatewayState())).rejects.toMatchObject({ name: 'StoreError' });
    } finally {
      await server.start();
    }
    await membership.writeHeartbeat(gatewayState());
    expect(await rowOf(membership)).toMatchObject({ name: 'gw-1' });
  });

  it('shows two gateways that run with copies of one ledger as two, and says so', async () => {
    const instance = '00000000-0000-4000-8000-000000000001';
    const earlier = new Membership(sql, identity('gw-1', { instance, epoch: 10 }));
    const later = new Membership(sql, identity('gw-2', { instance, epoch: 11 }));
    await earlier.writeHeartbeat(gatewayState());
    await later.writeHeartbeat(gatewayState());
    await earlier.writeHeartbeat(gatewayState({ problem: 'It drains.' }));
    await later.writeHeartbeat(gatewayState());
    const { rows } = await readGateways(sql);
    expect(rows.map(({ name, problem }) => [name, problem])).toEqual([
      [
        'gw-1',
        'It drains.  Another gateway runs with a copy of the usage ledger of this one.  Give each gateway a file of its own.',
      ],
      ['gw-2', undefined],
    ]);
    expect(new Set(rows.map((row) => row.instance)).size).toBe(2);
  });

  it('writes what the gateway reports, with the time of the database', async () => {
    const membership = new Membership(sql, identity('gw-1', { addresses: ['10.0.0.1', 'fd00::1'] }));
    await membership.writeHeartbeat({
      ...v1(busy),
      config: '0123456789ab',
      ready: false,
      problem: 'It starts.',
      spooled: 3,
      spooledSince: 5_000_000_000_000,
      counted: { at: 5, answers: { other: { id: 3, at: 2 } }, unsent: { v1: 4 } },
      questionId: 6,
    });
    const row = await rowOf(membership);
    expect(row).toMatchObject({
      release: '1.0.0',
      addresses: ['10.0.0.1', 'fd00::1'],
      versions: { v1: { ...busy, idle_since: null } },
      config: '0123456789ab',
      ready: false,
      problem: 'It starts.',
      spooled: 3,
      spooledSince: 5_000_000_000_000,
      counted: { at: 5, answers: { other: { id: 3, at: 2 } }, unsent: { v1: 4 } },
      questionId: 6,
      leftAt: undefined,
      goneAt: undefined,
    });
    expect(row.heard).toBe(row.started);
    expect(row.now - row.heard).toBeGreaterThanOrEqual(0);
  });

  it('keeps the time of the first heartbeat at which a retired version was idle', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(v1(busy));
    expect((await rowOf(membership)).versions['v1']?.idle_since).toBeNull();
    await membership.writeHeartbeat(v1(idle));
    const first = await rowOf(membership);
    expect(first.versions['v1']?.idle_since).toBe(first.heard);
    await membership.writeHeartbeat(v1(idle));
    const second = await rowOf(membership);
    expect(second.versions['v1']?.idle_since).toBe(first.heard);
    expect(second.heard).toBeGreaterThan(first.heard);
  });

  it.each([
    ['that is busy again', busy],
    ['that is served again', { stage: 'deprecated', in_flight: 0, waiting: 0 } as const],
    ['whose worker does not answer', { ...idle, incomplete: true }],
  ])('forgets that time for a version %s', async (_name, load) => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(v1(idle));
    const first = await rowOf(membership);
    await membership.writeHeartbeat(v1(load));
    expect((await rowOf(membership)).versions['v1']?.idle_since).toBeNull();
    await membership.writeHeartbeat(v1(idle));
    expect((await rowOf(membership)).versions['v1']?.idle_since).toBeGreaterThan(first.heard);
  });

  it('dates a changed configuration, and a new run', async () => {
    const membership = new Membership(sql, identity('gw-1', { instance: '00000000-0000-4000-8000-000000000002' }));
    await membership.writeHeartbeat(gatewayState({ config: 'aaaa' }));
    const first = await rowOf(membership);
    await membership.writeHeartbeat(gatewayState({ config: 'aaaa' }));
    expect((await rowOf(membership)).configSince).toBe(first.configSince);
    await membership.writeHeartbeat(gatewayState({ config: 'bbbb' }));
    const changed = await rowOf(membership);
    expect(changed.configSince).toBe(changed.heard);
    expect(changed.started).toBe(first.started);
    const next = new Membership(sql, identity('gw-1', { instance: changed.instance, epoch: 2 }));
    await next.writeHeartbeat(gatewayState({ config: 'bbbb' }));
    const restarted = await rowOf(next);
    expect(restarted.started).toBe(restarted.heard);
    expect(restarted.configSince).toBe(changed.configSince);
  });

  it('reports how far the clock of the gateway is ahead, from the second heartbeat on', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await membership.read();
    await membership.writeHeartbeat(gatewayState());
    // Both clocks are of this machine.
    expect(Math.abs((await rowOf(membership)).skewMs)).toBeLessThan(5_000);
  });
});

describe('the end of a gateway', () => {
  it('leaves nothing in flight, until it is heard again', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat({ ...v1(busy), spooled: 4, spooledSince: 1 });
    await membership.leave();
    const row = await rowOf(membership);
    expect(row).toMatchObject({ versions: {}, ready: false, spooled: 0, spooledSince: undefined, leftAt: row.heard });
    await membership.writeHeartbeat(v1(busy));
    expect((await rowOf(membership)).leftAt).toBeUndefined();
  });

  it('of an earlier run does not end a later one', async () => {
    const one = identity('gw-1');
    const [earlier, later] = [new Membership(sql, one), new Membership(sql, { ...one, epoch: 2 })];
    await earlier.writeHeartbeat(gatewayState());
    await later.writeHeartbeat(gatewayState());
    await earlier.leave();
    expect((await rowOf(later)).leftAt).toBeUndefined();
  });

  it('does not mark a gateway as gone that was heard meanwhile, has left, or is gone already', async () => {
    const [heard, left, gone] = ['a', 'b', 'c'].map((name) => new Membership(sql, identity(name)));
    if (!heard || !left || !gone) throw new Error('three gateways');
    for (const one of [heard, left, gone]) await one.writeHeartbeat(gatewayState());
    await left.leave();
    await sql.query(`UPDATE ${schemaName}.gateways SET heard = heard - interval '1 minute'`);
    const rows = await Promise.all([heard, left, gone].map(rowOf));
    expect(await markGone(sql, rows.slice(2), 'first')).toEqual([gone.instance]);
    await heard.writeHeartbeat(gatewayState());
    expect(await markGone(sql, rows, 'second')).toEqual([]);
    expect(await rowOf(gone)).toMatchObject({ goneReason: 'first' });
  });

  it('is revoked when a gateway that was gone is heard again', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await markGone(sql, [await rowOf(membership)], 'forgotten');
    expect(await rowOf(membership)).toMatchObject({ goneReason: 'forgotten' });
    await membership.writeHeartbeat(gatewayState());
    expect(await rowOf(membership)).toMatchObject({ goneAt: undefined, goneReason: undefined });
  });

  it('is forgotten after the retention, but not a silent gateway', async () => {
    const gateways = ['left', 'gone', 'silent', 'left lately'].map((name) => new Membership(sql, identity(name)));
    for (const one of gateways) await one.writeHeartbeat(gatewayState());
    const [left, gone, , lately] = gateways;
    if (!left || !gone || !lately) throw new Error('four gateways');
    await left.leave();
    await markGone(sql, [await rowOf(gone)], 'forgotten');
    await sql.query(
      `UPDATE ${schemaName}.gateways SET heard = heard - interval '2 days', left_at = left_at - interval '2 days',
        gone_at = gone_at - interval '2 days'`,
    );
    await lately.leave();
    await deleteFormerGateways(sql, 86_400_000);
    expect((await readGateways(sql)).rows.map(({ name }) => name)).toEqual(['left lately', 'silent']);
  });
});

describe('the rows', () => {
  it('are empty at first, but have the time of the database', async () => {
    const { rows, now } = await readGateways(sql);
    expect(rows).toEqual([]);
    expect(now).toBeGreaterThan(1_700_000_000_000);
  });
});

it('offers no address that other machines cannot reach', () => {
  for (const address of ownAddresses()) expect(address).not.toMatch(/^(?:127\.|::1$|fe80:|169\.254\.)/);
});
