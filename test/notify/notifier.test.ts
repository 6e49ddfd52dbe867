import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { Notifier, type NotifierOptions } from '../../gateway/notify/notifier.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf, startReceiver } from './receiver.ts';

const monday = Date.parse('2027-03-01T06:00:00Z');

/** A notifier with a real thread and receiver. Its clock is that of the test. */
async function start(more: Partial<NotifierOptions> = {}, types = ['ledger-problem']) {
  const receiver = await startReceiver();
  const store = join(temporaryFolder(), 'usage.db');
  const routes = { '/v1': 'http://127.0.0.1:1' };
  const notify = [{ url: receiver.url, events: types, digest: 'weekly' }];
  const source = { current: snapshotFrom({ routes, usage: { store }, notify }) };
  const clock = { time: monday, now: () => clock.time };
  const lines: string[] = [];
  const notifier = new Notifier({
    source,
    clock,
    notice: (line) => lines.push(line),
    ledger: undefined,
    storeProblem: () => undefined,
    brownouts: () => [],
    clientEvents: async () => [],
    weeklyDigest: async () => undefined,
    ...more,
  });
  onTestFinished(() => notifier.close());
  notifier.configure();
  await notifier.check();
  return { notifier, clock, receiver, lines, source };
}

it('reports a problem of the ledger that lasts, once', async () => {
  const ledger = { problem: undefined as string | undefined, lastIncident: undefined };
  const { notifier, clock, receiver } = await start({ ledger });
  // The first one is over after 20 s.
  for (const problem of ['locked', 'locked', undefined, 'usage.db cannot be written', 'usage.db cannot be written']) {
    ledger.problem = problem;
    clock.time += 20_000;
    await notifier.check();
  }
  expect(receiver.received).toEqual([]);
  for (let check = 0; check < 3; check += 1) {
    clock.time += 20_000;
    await notifier.check();
  }
  await eventually(() => expect(receiver.titles()).toEqual([expect.stringContaining('has a problem')]));
  expect(receiver.received[0]?.body).toContain('usage.db cannot be written');
});

it('reports that the coverage of the ledger restarted', async () => {
  const incident = { at: monday - 60_000, text: 'usage.db was damaged.  Coverage restarts.' };
  const { receiver } = await start({ ledger: { problem: undefined, lastIncident: incident } });
  await eventually(() => expect(receiver.received.length).toBe(1));
  expect(receiver.received[0]?.body).toContain('Coverage restarts.');
});

it('asks for the digest of a week until the ledger can be read', async () => {
  const asked: number[] = [];
  const weeklyDigest = async (week: number) => {
    asked.push(week);
    if (asked.length === 1) throw new Error('the ledger does not answer');
    return asked.length === 2 ? undefined : eventOf('digest', { type: 'digest' });
  };
  const { notifier, receiver } = await start({ weeklyDigest });
  for (let check = 0; check < 4; check += 1) await notifier.check();
  await eventually(() => expect(receiver.titles()).toEqual(['Event digest']));
  expect(asked).toEqual([monday, monday, monday]);
});

it('sends the digest of the week to a webhook that a reload adds', async () => {
  const weeklyDigest = async () => eventOf('digest', { type: 'digest' });
  const { notifier, source, clock, receiver } = await start({ weeklyDigest });
  await eventually(() => expect(receiver.titles()).toEqual(['Event digest']));
  const added = await startReceiver();
  const { usage, notify } = source.current;
  const webhooks = [...notify.map(({ url }) => url), added.url].map((url) => ({ url, events: [], digest: 'weekly' }));
  source.current = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    usage: { store: usage.store },
    notify: webhooks,
  });
  clock.time += 86_400_000;
  notifier.configure();
  await eventually(() => expect(added.titles()).toEqual(['Event digest']));
  expect(receiver.titles()).toEqual(['Event digest']);
});

it('a defect while events are looked for does not end the gateway', async () => {
  const storeProblem = () => {
    throw new Error('a defect');
  };
  const { lines } = await start({ storeProblem });
  expect(lines).toEqual(['notify: events cannot be found: a defect']);
});

it('does nothing without a webhook', async () => {
  const asked: string[] = [];
  const clientEvents = async () => {
    asked.push('clients');
    return [];
  };
  const { notifier, source, clock, receiver } = await start({ clientEvents }, ['new-client']);
  expect(asked).toEqual(['clients']);
  source.current = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } });
  notifier.configure();
  clock.time += 86_400_000;
  await notifier.check();
  expect([asked, receiver.received]).toEqual([['clients'], []]);
});
