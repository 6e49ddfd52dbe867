import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { FleetSettings } from '../../../gateway/config/snapshot.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { maxEventsPerGroup } from '../../../gateway/operate/notify/events.ts';
import { NotifyQueue } from '../../../gateway/operate/notify/queue.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { eventOf } from './receiver.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const minute = 60_000;
const sent = { isSent: true, result: '204', nextAt: undefined };

/** Two gateways with the same queue. */
async function pair(kind: 'file' | 'store'): Promise<readonly [NotifyQueue, NotifyQueue]> {
  const file = join(temporaryFolder(), 'queue.db');
  const store = kind === 'store' ? await server.store() : '';
  const fleet = { store, passwordFile: undefined } as FleetSettings;
  const open = async () => (kind === 'file' ? NotifyQueue.open(file) : NotifyQueue.inStore(fleet));
  const queues = await Promise.all([open(), open()]);
  onTestFinished(async () => {
    for (const queue of queues) await queue.close();
  });
  return [queues[0] as NotifyQueue, queues[1] as NotifyQueue];
}

describe.each(['file', 'store'] as const)('a queue in a %s', (kind) => {
  it('keeps one row per event and receiver', async () => {
    const [one, two] = await pair(kind);
    expect(await one.add(eventOf('a'), 'r1', 1)).toBeUndefined();
    expect(await two.add(eventOf('a'), 'r1', 2)).toBe('known');
    expect(await two.add(eventOf('a'), 'r2', 3)).toBeUndefined();
    expect((await one.recent(10, ['r1', 'r2'])).map(({ receiver }) => receiver).sort()).toEqual(['r1', 'r2']);
  });

  it('gives an event to one of two gateways that claim it at the same time', async () => {
    const [one, two] = await pair(kind);
    for (let index = 0; index < 20; index += 1) await one.add(eventOf(`e${index}`), 'r', index);
    const claimed: string[] = [];
    const claimAll = async (queue: NotifyQueue): Promise<void> => {
      // Both may look at the same row, and one of them then gets none although others are due.
      for (let misses = 0; misses < 40; ) {
        const found = await queue.claim('r', 100);
        if (!found) misses += 1;
        else {
          claimed.push(found.event.id);
          await queue.record(found, sent, 100);
        }
      }
    };
    await Promise.all([claimAll(one), claimAll(two)]);
    expect(claimed.toSorted()).toEqual([...new Set(claimed)].toSorted());
    expect(claimed.length).toBe(20);
  });

  it('gives an event to another gateway if the first one does not record a result', async () => {
    const [one, two] = await pair(kind);
    await one.add(eventOf('a'), 'r', 0);
    const lost = await one.claim('r', 0);
    expect(await two.claim('r', minute - 1)).toBeUndefined();
    expect(await two.nextDue(['r'])).toBe(minute);
    const again = await two.claim('r', minute);
    expect(again).toMatchObject({ attempt: 2, event: { id: 'a' } });
    // The first gateway was only slow: its result comes too late.
    if (lost) await one.record(lost, { isSent: false, result: '500', nextAt: 5 * minute }, minute);
    if (again) await two.record(again, sent, minute);
    expect(await two.recent(1, ['r'])).toMatchObject([{ state: 'sent', result: '204', attempts: 2, nextAt: null }]);
  });

  it('tries again when the next attempt is due', async () => {
    const [queue] = await pair(kind);
    await queue.add(eventOf('a'), 'r', 0);
    const first = await queue.claim('r', 0);
    if (first) await queue.record(first, { isSent: false, result: 'timeout', nextAt: 5_000 }, 10);
    expect(await queue.recent(1, ['r'])).toMatchObject([{ state: 'waiting', result: 'timeout', nextAt: 5_000 }]);
    expect([await queue.claim('r', 4_999), (await queue.claim('r', 5_000))?.attempt]).toEqual([undefined, 2]);
  });

  it('does not wait for years after the clock was set back', async () => {
    const [queue] = await pair(kind);
    const year = 31_536_000_000;
    await queue.add(eventOf('a'), 'r', year);
    const first = await queue.claim('r', year);
    expect(await queue.claim('r', year)).toBeUndefined();
    expect((await queue.claim('r', 0))?.attempt).toBe(2);
    if (first) await queue.record({ ...first, attempt: 2 }, { isSent: false, result: '500', nextAt: year }, year);
    expect((await queue.claim('r', 0))?.attempt).toBe(3);
  });

  it('gives an event to one gateway although the clock of another is 10 minutes behind', async () => {
    const [one, two] = await pair(kind);
    await one.add(eventOf('a'), 'r', 0);
    expect(await one.claim('r', 10 * minute)).toBeDefined();
    expect(await two.claim('r', minute)).toBeUndefined();
    expect(await two.claim('r', 0)).toBeUndefined();
  });

  it('forgets what waits for a receiver that was removed, unless other gateways may have it', async () => {
    const [queue] = await pair(kind);
    await queue.add(eventOf('a'), 'removed', 0);
    await queue.add(eventOf('a'), 'kept', 0);
    expect(await queue.maintain(['kept'], 0, 0)).toEqual([]);
    const left = (await queue.recent(10, ['kept', 'removed'])).map(({ receiver }) => receiver).sort();
    expect(left).toEqual(kind === 'file' ? ['kept'] : ['kept', 'removed']);
    await queue.maintain([], 0, 0);
    expect((await queue.recent(10, ['kept', 'removed'])).length).toBe(kind === 'file' ? 0 : 2);
  });

  it('lists the latest events of the receivers that are asked for', async () => {
    const [queue] = await pair(kind);
    await queue.add(eventOf('a'), 'r', 0);
    for (const [index, id] of ['b', 'c'].entries()) await queue.add(eventOf(id), 'removed', 1 + index);
    expect(await queue.recent(2, ['r', 'other'])).toMatchObject([{ title: 'Event a', receiver: 'r' }]);
    expect(await queue.recent(2, [])).toEqual([]);
  });

  it('keeps few events of a group, and at most 500 that wait for a receiver', async () => {
    const [queue] = await pair(kind);
    for (let index = 0; index < maxEventsPerGroup + 5; index += 1)
      await queue.add(eventOf(`g${index}`, { group: 'new-client v1 2026-11-18' }), 'r', 0);
    expect((await queue.recent(100, ['r'])).length).toBe(maxEventsPerGroup);
    for (let index = maxEventsPerGroup; index < 500; index += 1) await queue.add(eventOf(`e${index}`), 'r', 0);
    expect(await queue.add(eventOf('one more'), 'r', 0)).toBe('full');
    expect(await queue.add(eventOf('e400'), 'r', 0)).toBe('known');
    expect(await queue.add(eventOf('one more'), 'another', 0)).toBeUndefined();
  });

  it('gives up what nobody could send, and forgets what cannot be found again', async () => {
    const [queue] = await pair(kind);
    await queue.add(eventOf('old', { keepUntil: 100 * minute }), 'r', 0);
    await queue.add(eventOf('young', { keepUntil: 100 * minute }), 'r', 50 * minute);
    expect(await queue.maintain(['r'], 10 * minute, 60 * minute)).toEqual(['Event old']);
    expect(await queue.add(eventOf('old'), 'r', 70 * minute)).toBe('known');
    expect(await queue.maintain(['r'], 10 * minute, 101 * minute)).toEqual([]);
    expect((await queue.recent(10, ['r'])).map(({ title }) => title)).toEqual(['Event young']);
  });
});

it.runIf(process.platform === 'linux')('leaves no file open that cannot be used', () => {
  const file = join(temporaryFolder(), 'queue.db');
  writeFileSync(file, 'not a database, and longer than the header of one: '.repeat(20));
  for (let attempt = 0; attempt < 3; attempt += 1)
    expect(() => NotifyQueue.open(file)).toThrow('file is not a database');
  const isOpen = (descriptor: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(file);
    } catch {
      // Another one may be closed meanwhile.
      return false;
    }
  };
  expect(readdirSync('/proc/self/fd').filter(isOpen)).toEqual([]);
});

it('opens the queue of a store that another gateway has just created, and leaves no connection to one that it may not', async () => {
  const store = await server.store();
  const fleet = { store, passwordFile: undefined } as FleetSettings;
  const postgres = await Postgres.open(fleet);
  onTestFinished(() => postgres.close());
  // One of them creates the table. The others fail in the same moment, or find it.
  const queues = await Promise.all(Array.from({ length: 8 }, () => NotifyQueue.inStore(fleet)));
  for (const queue of queues) expect(await queue.recent(1, ['r'])).toEqual([]);
  await Promise.all(queues.map((queue) => queue.close()));
  await postgres.query('DROP TABLE version_gateway.notifications');
  await postgres.query('CREATE ROLE watcher LOGIN');
  const readOnly = { ...fleet, store: store.replace('gateway@', 'watcher@') };
  await expect(NotifyQueue.inStore(readOnly)).rejects.toThrow('permission denied');
  await eventually(async () => {
    const [row] = await postgres.query("SELECT COUNT(*) AS n FROM pg_stat_activity WHERE usename = 'watcher'");
    expect(row).toEqual({ n: 0 });
  });
});

it('says why the store cannot be used, although the second question fails as well', async () => {
  const fleet = { store: 'postgres://127.0.0.1:1/none', passwordFile: undefined } as FleetSettings;
  await expect(NotifyQueue.inStore(fleet)).rejects.toThrow('connect ECONNREFUSED 127.0.0.1:1');
});
