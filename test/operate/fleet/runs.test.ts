import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Membership, markGone, readGateways } from '../../../gateway/operate/fleet/membership.ts';
import type { Sql } from '../../../gateway/operate/fleet/postgres.ts';
import { startStore } from '../../support/postgres.ts';
import { addBatch } from './batches.ts';
import { gatewayState, identity } from './gatewayRow.ts';

let sql: Sql;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ sql, close } = await startStore());
});
afterAll(() => close());
beforeEach(() =>
  sql.query(
    `TRUNCATE version_gateway.gateways, version_gateway.runs, version_gateway.writers, version_gateway.lost_counts`,
  ),
);

const losses = () =>
  sql.query<{ version: string; began: number; ended: number; reason: string }>('SELECT * FROM version_gateway.losses');
const runs = () =>
  sql.query<{ epoch: number; closed: number }>('SELECT epoch, closed FROM version_gateway.runs ORDER BY epoch');

/** The state of a gateway whose counts are in the store up to `at`. */
const counted = (at: number) => gatewayState({ counted: { at, unsent: {} } });

async function acknowledge(instance: string, epoch: number, seq: number): Promise<void> {
  const times = { began: Date.now(), seen: Date.now(), restarted: undefined };
  await addBatch(sql, { instance, epoch, seq, ...times, salt: 'salt', rows: '[]' });
}

describe('a run', () => {
  it('is open while its gateway runs, and closed once it has left', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    expect(await membership.writeHeartbeat(gatewayState())).toBeUndefined();
    await membership.writeHeartbeat(gatewayState());
    expect(await runs()).toEqual([{ epoch: 1, closed: 0 }]);
    expect(await losses()).toEqual([]);
    await membership.leave();
    expect(await runs()).toEqual([{ epoch: 1, closed: 1 }]);
    expect(await losses()).toEqual([]);
  });

  it('that did not end cleanly is unknown from its last report until the next start', async () => {
    const instance = randomUUID();
    const reported = Date.now() - 21_000;
    const first = new Membership(sql, identity('gw-1', { instance }));
    await first.writeHeartbeat(counted(reported));
    const previous = { epoch: 1, closed: false, until: reported - 60_000 };
    await new Membership(sql, identity('gw-1', { instance, epoch: 2, previous })).writeHeartbeat(gatewayState());
    expect(await runs()).toEqual([
      { epoch: 1, closed: 0 },
      { epoch: 2, closed: 0 },
    ]);
    const [loss] = await losses();
    expect(loss).toMatchObject({ version: '', began: reported });
    expect(loss?.reason).toMatch(
      /^Gateway gw-1 ended without sending its last counts: its calls until 20\S+Z are not known\.$/,
    );
    expect(loss?.ended).toBeGreaterThan(reported + 20_000);
    // A later clean run does not change what is known of the first one.
    const third = identity('gw-1', { instance, epoch: 3, previous: { epoch: 2, closed: true, until: 0 } });
    await new Membership(sql, third).writeHeartbeat(gatewayState());
    expect(await losses()).toEqual([loss]);
  });

  it('that wrote all its counts to its disk is closed by the next start', async () => {
    const instance = randomUUID();
    await new Membership(sql, identity('gw-1', { instance })).writeHeartbeat(gatewayState());
    const previous = { epoch: 1, closed: true, until: Date.now() };
    await new Membership(sql, identity('gw-1', { instance, epoch: 2, previous })).writeHeartbeat(gatewayState());
    expect(await losses()).toEqual([]);
  });

  it('that never reached the store is unknown, even if its counts arrive later', async () => {
    const instance = randomUUID();
    const until = Date.now() - 60_000;
    await acknowledge(instance, 1, 1);
    const previous = { epoch: 1, closed: false, until };
    await new Membership(sql, identity('gw-1', { instance, epoch: 2, previous })).writeHeartbeat(gatewayState());
    expect(await losses()).toHaveLength(1);
  });

  it('of a gateway with a wrong clock stays unknown after it has left', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await sql.query(`UPDATE version_gateway.gateways SET worst_skew_ms = $1`, [-40 * 86_400_000]);
    await membership.leave();
    expect(await losses()).toMatchObject([
      { reason: expect.stringMatching(/^Gateway gw-1 ran with a wrong clock: the times of its calls until/) },
    ]);
    expect((await readGateways(sql)).mistimedRuns).toMatchObject([{ name: 'gw-1', skewMs: -40 * 86_400_000 }]);
  });

  it('of a gateway that is gone is unknown until it was marked, and no longer once it is heard again', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(counted(Date.now() - 3_000));
    const { rows, now } = await readGateways(sql);
    await markGone(sql, rows, 'its node is lost');
    const [loss] = await losses();
    expect(loss?.reason).toMatch(/^Gateway gw-1 is gone: its calls until/);
    expect(loss?.ended).toBeGreaterThanOrEqual(now);
    await membership.writeHeartbeat(gatewayState());
    expect(await losses()).toEqual([]);
  });

  it('of an earlier release counts as closed', async () => {
    const instance = randomUUID();
    await acknowledge(instance, 1, 1);
    await new Membership(sql, identity('gw-1', { instance, epoch: 2 })).writeHeartbeat(gatewayState());
    expect(await runs()).toEqual([
      { epoch: 1, closed: 1 },
      { epoch: 2, closed: 0 },
    ]);
    expect(await losses()).toEqual([]);
  });
});

describe('a store that was set back', () => {
  const setBack = /^The shared store was set back to an earlier time/;

  it('lacks the last heartbeat of a gateway that runs', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await sql.query('CREATE TABLE backup AS TABLE version_gateway.gateways');
    await membership.writeHeartbeat(gatewayState());
    await sql.query('TRUNCATE version_gateway.gateways; INSERT INTO version_gateway.gateways SELECT * FROM backup');
    expect(await membership.writeHeartbeat(gatewayState())).toMatch(setBack);
    expect(await losses()).toMatchObject([{ version: '', reason: expect.stringMatching(setBack) }]);
    // It is noticed once, and a second time if it happens again.
    expect(await membership.writeHeartbeat(gatewayState())).toBeUndefined();
    await sql.query(
      'TRUNCATE version_gateway.gateways; INSERT INTO version_gateway.gateways TABLE backup; DROP TABLE backup',
    );
    expect(await membership.writeHeartbeat(gatewayState())).toMatch(setBack);
    expect(await losses()).toHaveLength(2);
  });

  it('lacks the row of a gateway that runs', async () => {
    const membership = new Membership(sql, identity('gw-1'));
    await membership.writeHeartbeat(gatewayState());
    await sql.query('TRUNCATE version_gateway.gateways');
    expect(await membership.writeHeartbeat(gatewayState())).toMatch(setBack);
  });

  it('lacks a batch that it confirmed to a gateway before the gateway left', async () => {
    const instance = randomUUID();
    await acknowledge(instance, 1, 1);
    const next = () => new Membership(sql, identity('gw-1', { instance, epoch: 2 }));
    expect(await next().writeHeartbeat(gatewayState(), { epoch: 1, seq: 1 })).toBeUndefined();
    expect(await next().writeHeartbeat(gatewayState(), { epoch: 1, seq: 2 })).toMatch(setBack);
  });

  describe.each([
    ['moved to another server', 'server_system'],
    ['promoted, or restored with its log', 'server_timeline'],
    ['restored from a dump', 'server_tables'],
  ])('or %s', (_event, changedKey) => {
    const change = () => sql.query(`UPDATE version_gateway.meta SET value = 'another' WHERE key = '${changedKey}'`);

    it('is noticed by a gateway that remembers nothing, if no other gateway is heard', async () => {
      await new Membership(sql, identity('gw-1')).writeHeartbeat(gatewayState());
      expect(await sql.query(`SELECT key FROM version_gateway.meta WHERE key = '${changedKey}'`)).toHaveLength(1);
      await change();
      // gw-1 still runs, and will tell.
      const second = new Membership(sql, identity('gw-2'));
      await expect(second.writeHeartbeat(gatewayState())).rejects.toThrow('waits for one that knew it before');
      await sql.query(`UPDATE version_gateway.gateways SET heard = now() - interval '1 h'`);
      expect(await new Membership(sql, identity('gw-3')).writeHeartbeat(gatewayState())).toMatch(
        /^The shared store was moved, restored or promoted while no gateway was running that knew it before/,
      );
    });

    it('lets each gateway that has left compare itself, if the first one remembers an earlier run', async () => {
      const instance = randomUUID();
      await acknowledge(instance, 1, 1);
      for (const [name, id] of [
        ['gw-1', instance],
        ['gw-2', randomUUID()],
      ] as const) {
        const membership = new Membership(sql, identity(name, { instance: id }));
        await membership.writeHeartbeat(gatewayState());
        await membership.leave();
      }
      const left = () => sql.query('SELECT name FROM version_gateway.gateways WHERE left_at IS NOT NULL ORDER BY name');
      expect(await left()).toEqual([{ name: 'gw-1' }, { name: 'gw-2' }]);
      await change();
      const next = new Membership(sql, identity('gw-1', { instance, epoch: 2 }));
      expect(await next.writeHeartbeat(gatewayState(), { epoch: 1, seq: 1 })).toBeUndefined();
      expect(await left()).toEqual([]);
    });

    it('has lost nothing if a gateway finds everything that it remembers', async () => {
      const first = new Membership(sql, identity('gw-1'));
      await first.writeHeartbeat(gatewayState());
      await change();
      const isFromDump = changedKey === 'server_tables';
      expect(await first.writeHeartbeat(gatewayState())).toEqual(
        isFromDump ? expect.stringContaining('from a dump that was made while gateways ran') : undefined,
      );
      await sql.query(`UPDATE version_gateway.gateways SET heard = now() - interval '1 h'`);
      expect(await new Membership(sql, identity('gw-2')).writeHeartbeat(gatewayState())).toBeUndefined();
    });
  });
});
