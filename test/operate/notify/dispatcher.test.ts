import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import type { NotifyReceiver } from '../../../gateway/config/notifySettings.ts';
import type { FleetSettings } from '../../../gateway/config/snapshot.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { migrate } from '../../../gateway/operate/fleet/schema.ts';
import { Dispatcher } from '../../../gateway/operate/notify/dispatcher.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { startPostgres } from '../../support/postgres.ts';
import { eventOf, hang, type Receiver, secret, startReceiver } from './receiver.ts';

const noon = Date.parse('2026-11-18T12:00:00Z');
const hour = 3_600_000;

function settingsOf(receiver: Receiver, more: Partial<NotifyReceiver> = {}): NotifyReceiver {
  return {
    url: receiver.url,
    format: 'json',
    secret,
    events: ['deprecation'],
    digest: 'off',
    networks: 'any',
    ...more,
  };
}

function start(receivers: readonly NotifyReceiver[], file = join(temporaryFolder(), 'queue.db')) {
  const clock = { time: noon, now: () => clock.time };
  const lines: string[] = [];
  const dispatcher = new Dispatcher({ receivers, file, fleet: undefined }, clock, (line) => lines.push(line));
  onTestFinished(() => dispatcher.close());
  const run = async (): Promise<void> => {
    await dispatcher.run();
    await dispatcher.awaitSending(20_000);
  };
  return { dispatcher, clock, lines, run, file };
}

it('sends an event once, also after a restart', async () => {
  const receiver = await startReceiver();
  const first = start([settingsOf(receiver)]);
  await first.dispatcher.add([eventOf('a'), eventOf('a')]);
  await first.run();
  await first.dispatcher.close();
  const second = start([settingsOf(receiver)], first.file);
  await second.dispatcher.add([eventOf('a'), eventOf('b')]);
  await second.run();
  expect(receiver.titles()).toEqual(['Event a', 'Event b']);
});

it('tries again until the receiver accepts an event, and reports the outage once', async () => {
  const receiver = await startReceiver();
  receiver.next.push(500, 503);
  const { dispatcher, clock, lines, run } = start([settingsOf(receiver)]);
  await dispatcher.add([eventOf('a')]);
  await run();
  expect((await dispatcher.status()).recent).toMatchObject([{ state: 'waiting', result: '500', attempts: 1 }]);
  await run();
  expect(receiver.received.length).toBe(1);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    clock.time += 60_000;
    await run();
  }
  const host = new URL(receiver.url).host;
  expect(receiver.received.length).toBe(3);
  expect((await dispatcher.status()).recent).toMatchObject([{ state: 'sent', result: '204', host, nextAt: null }]);
  expect(lines).toEqual([
    `notify: ${host} does not accept notifications: 500.  Each is tried again for 1 day.`,
    `notify: ${host} accepts notifications again.`,
  ]);
});

it('gives up after a day, and says so without the secret parts of the URL', async () => {
  const receiver = await startReceiver();
  receiver.next.push(...Array.from({ length: 100 }, () => 500));
  const { dispatcher, clock, lines, run } = start([settingsOf(receiver)]);
  await dispatcher.add([eventOf('a')]);
  for (let passed = 0; passed < 30; passed += 1) {
    await run();
    clock.time += hour;
  }
  expect((await dispatcher.status()).recent).toMatchObject([{ state: 'failed', result: '500' }]);
  expect(lines.at(-1)).toMatch(/^notify: gave up after 1 day: .*Not delivered: Event a$/);
  expect(JSON.stringify([lines, await dispatcher.status()])).not.toMatch(/secret-path|secret-query|hook/);
});

it('a receiver that hangs delays no other one', async () => {
  const [hanging, other] = [await startReceiver(), await startReceiver()];
  hanging.next.push(hang);
  const { dispatcher, run } = start([settingsOf(hanging), settingsOf(other)]);
  await dispatcher.add([eventOf('a'), eventOf('b')]);
  void run();
  await eventually(() => expect(other.titles()).toEqual(['Event a', 'Event b']));
  expect(hanging.received.length).toBe(1);
});

it('sends to a failing receiver one event at a time', async () => {
  const receiver = await startReceiver();
  receiver.next.push(...Array.from({ length: 10 }, () => 500));
  const { dispatcher, run } = start([settingsOf(receiver)]);
  await dispatcher.add(Array.from({ length: 10 }, (_one, index) => eventOf(`e${index}`)));
  await run();
  await run();
  expect(receiver.received.length).toBe(1);
});

it('sends each receiver the events that it wants', async () => {
  const [dates, digests] = [await startReceiver(), await startReceiver()];
  const receivers = [settingsOf(dates), settingsOf(digests, { events: [], digest: 'weekly' })];
  const { dispatcher, run } = start(receivers);
  await dispatcher.add([eventOf('a'), eventOf('b', { type: 'digest' }), eventOf('c', { type: 'brownout' })]);
  await run();
  expect([dates.titles(), digests.titles()]).toEqual([['Event a'], ['Event b']]);
});

it('a receiver whose queue is full takes no events from the others', async () => {
  const [full, other] = [await startReceiver(), await startReceiver()];
  full.next.push(500, 204, 500);
  const waiting = Array.from({ length: 500 }, (_one, index) => eventOf(`e${index}`));
  const digests = settingsOf(other, { events: [], digest: 'weekly' });
  const { dispatcher, clock, lines, run } = start([settingsOf(full, { digest: 'weekly' }), digests]);
  await dispatcher.add(waiting);
  await run();
  for (const id of ['a', 'b']) {
    await dispatcher.add([eventOf(id, { type: 'digest' })]);
    await run();
  }
  expect(other.titles()).toEqual(['Event a', 'Event b']);
  const host = new URL(full.url).host;
  const dropped = `notify: 500 events wait for ${host}; further ones are dropped until it accepts some.`;
  expect(lines.filter((line) => line.includes('queued') || line.includes('dropped'))).toEqual([dropped]);
  clock.time += 60_000;
  await run();
  await dispatcher.add([eventOf('c', { type: 'digest' })]);
  expect(lines.at(-1)).toBe(`notify: events for ${host} are queued again.`);
});

it('sends nothing more to a receiver that a reload removes', async () => {
  const receiver = await startReceiver();
  const { dispatcher, clock, lines, run, file } = start([settingsOf(receiver)]);
  receiver.next.push((res) => {
    dispatcher.configure({ receivers: [], file, fleet: undefined });
    res.writeHead(204).end();
  });
  await dispatcher.add([eventOf('a'), eventOf('b')]);
  await run();
  clock.time += 2 * 24 * hour;
  await run();
  dispatcher.configure({ receivers: [settingsOf(receiver)], file, fleet: undefined });
  await run();
  expect([receiver.titles(), lines]).toEqual([['Event a'], []]);
});

it('signs the next event with the secret of a reload', async () => {
  const receiver = await startReceiver();
  const { dispatcher, run, file } = start([settingsOf(receiver)]);
  receiver.next.push((res) => {
    dispatcher.configure({ receivers: [settingsOf(receiver, { secret: undefined })], file, fleet: undefined });
    res.writeHead(204).end();
  });
  await dispatcher.add([eventOf('a'), eventOf('b')]);
  await run();
  expect(receiver.received.map(({ headers }) => 'webhook-signature' in headers)).toEqual([true, false]);
});

it('does not send an event again because its result could not be recorded', async () => {
  const receiver = await startReceiver();
  const { dispatcher, clock, lines, run, file } = start([settingsOf(receiver)]);
  await dispatcher.add([eventOf('a')]);
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  receiver.next.push((res) => {
    other.exec('BEGIN IMMEDIATE');
    res.writeHead(204).end();
  });
  await run();
  expect(lines).toEqual([expect.stringContaining('cannot be used')]);
  other.exec('COMMIT');
  clock.time += 120_000;
  await run();
  expect(receiver.titles()).toEqual(['Event a']);
  expect((await dispatcher.status()).recent).toMatchObject([{ state: 'sent', attempts: 1 }]);
});

it('keeps events in memory if the file cannot be used', async () => {
  const receiver = await startReceiver();
  const file = join(temporaryFolder(), 'queue.db');
  mkdirSync(file);
  const { dispatcher, run, lines } = start([settingsOf(receiver)], file);
  await dispatcher.add([eventOf('a')]);
  await run();
  expect(receiver.titles()).toEqual(['Event a']);
  expect(lines).toEqual([expect.stringContaining('Events are kept in memory until it can be used again.')]);
});

it('queues an event of a fleet once its store answers', async () => {
  const receiver = await startReceiver();
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const fleet = { store: await server.database(), passwordFile: undefined } as FleetSettings;
  const file = join(temporaryFolder(), 'queue.db');
  const clock = { now: () => noon };
  const lines: string[] = [];
  const settings = { receivers: [settingsOf(receiver)], file, fleet };
  const dispatcher = new Dispatcher(settings, clock, (line) => lines.push(line));
  onTestFinished(() => dispatcher.close());
  // The store has no tables yet.
  await dispatcher.add([eventOf('a'), eventOf('b')]);
  await dispatcher.run();
  expect(lines).toEqual([expect.stringContaining("the queue in the fleet's store cannot be used")]);
  const postgres = await Postgres.open(fleet);
  await migrate(postgres);
  await postgres.close();
  await dispatcher.run();
  await dispatcher.awaitSending(20_000);
  expect(receiver.titles()).toEqual(['Event a', 'Event b']);
  expect(lines.at(-1)).toBe("notify: the queue in the fleet's store can be used again.");
});

it('tests every receiver at once and without the queue', async () => {
  const [good, bad] = [await startReceiver(), await startReceiver()];
  bad.next.push(401);
  const { dispatcher } = start([settingsOf(good), settingsOf(bad)]);
  expect(await dispatcher.test(eventOf('test', { type: 'test' }))).toEqual([
    { host: new URL(good.url).host, accepted: true, result: '204' },
    { host: new URL(bad.url).host, accepted: false, result: '401' },
  ]);
  expect((await dispatcher.status()).recent).toEqual([]);
});
