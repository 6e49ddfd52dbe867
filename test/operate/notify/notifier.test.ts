import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { receiversOf } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { NotifyReport, NotifyStatus } from '../../../gateway/operate/notify/dispatcher.ts';
import type { NotifyEvent } from '../../../gateway/operate/notify/events.ts';
import { Notifier, type NotifierOptions } from '../../../gateway/operate/notify/notifier.ts';
import type { EditWatchStatus } from '../../../gateway/versions/editWatch/watchStatus.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { eventOf, hang, startReceiver } from './receiver.ts';

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
    editWatches: () => [],
    gateway: () => ({
      name: 'gw-1',
      host: 'one',
      admin: 'http://127.0.0.1:9901',
      file: '/etc/routes.yaml',
      digest: '',
    }),
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

function startedThreads(): Worker[] {
  const workers: Worker[] = [];
  const onWorker = (message: unknown): unknown => workers.push((message as { worker: Worker }).worker);
  subscribe('worker_threads', onWorker);
  onTestFinished(() => void unsubscribe('worker_threads', onWorker));
  return workers;
}

it('reports what happened while its thread could not be started', async () => {
  const workers = startedThreads();
  const ledger: { problem: undefined; lastIncident: { at: number; text: string } | undefined } = {
    problem: undefined,
    lastIncident: undefined,
  };
  const { notifier, receiver, lines } = await start({ ledger });
  // After the second end there is a pause.
  for (const count of [1, 2]) {
    await notifier.check();
    await workers.at(-1)?.terminate();
    expect(workers).toHaveLength(count);
  }
  ledger.lastIncident = { at: monday, text: 'Coverage restarts.' };
  await notifier.check();
  await eventually(async () => {
    await notifier.check();
    expect(receiver.received.length).toBe(1);
  });
  expect(lines[0]).toMatch(
    /^notify: the thread that sends notifications ended: exit code \d\. {2}A new one is started\.$/,
  );
});

it('reports that requests are lost since an edit, once, and only if it is known', async () => {
  const counts = { seconds: 60, requests: 25, lost: 0, statuses: {} };
  const watch: EditWatchStatus = {
    version: 'v2',
    jumped: 'not known',
    known: false,
    state: 'watching',
    text: '/v2 loses requests since the edit of 2027-03-01T06:00:00Z: 5 of 5',
    edits: [{ at: '2027-03-01T06:00:00.000Z', changes: ['/v2: target http://b added'] }],
    until: '2027-03-01T06:01:00.000Z',
    found_at: null,
    recovered_at: null,
    before: counts,
    after: { ...counts, requests: 5, lost: 5, statuses: { 404: 5 } },
    undo: [
      {
        key: 'routes./v2',
        line: 3,
        before: 'http://a',
        after: 'http://b',
        text: 'routes.yaml:3  routes./v2: write http://a',
      },
    ],
    undo_lines: 12,
  };
  const watches = [watch];
  const { notifier, receiver, clock } = await start({ editWatches: () => watches }, ['lost-requests']);
  const found = { ...watch, jumped: 'yes', known: true, found_at: '2027-03-01T06:00:05.000Z' } as const;
  watches.splice(0, 1, { ...watch, version: 'v1' }, found);
  for (let check = 0; check < 3; check += 1) {
    clock.time += 10_000;
    await notifier.check();
  }
  watches.splice(0, 2, { ...found, state: 'recovered', recovered_at: '2027-03-01T06:00:50.000Z' });
  await notifier.check();
  await eventually(() => expect(receiver.received.length).toBe(1));
  const { type, timestamp, data } = JSON.parse(receiver.received[0]?.body ?? '') as Record<string, unknown>;
  expect([type, timestamp]).toEqual(['lost-requests', found.found_at]);
  expect(data).toMatchObject({
    title: `/v2 loses requests since an edit of routes.yaml on ${hostname()}`,
    text: expect.stringContaining('and 11 more lines'),
    version: 'v2',
    gateway: hostname(),
    edits: watch.edits,
    before: watch.before,
    after: watch.after,
    undo: watch.undo,
  });
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
  const { usage } = source.current;
  const webhooks = [...receiversOf(source.current).map(({ url }) => url), added.url].map((url) => ({
    url,
    events: [],
    digest: 'weekly',
  }));
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

it('a test has no result if the thread ends while it waits for a receiver', async () => {
  const workers = startedThreads();
  const { notifier, receiver, lines } = await start();
  receiver.next.push(hang);
  const results = notifier.test();
  await eventually(() => expect(receiver.received).toHaveLength(1));
  await workers.at(-1)?.terminate();
  expect(await results).toEqual([]);
  expect(lines).toEqual([expect.stringContaining('the thread that sends notifications ended')]);
});

it('finds other events if the clients cannot be asked for, and asks again after five minutes', async () => {
  let asked = 0;
  const clientEvents = async () => {
    asked += 1;
    if (asked === 1) throw new Error('the ledger does not answer');
    return [eventOf('client', { type: 'new-client' })];
  };
  const incident = { at: monday, text: 'Coverage restarts.' };
  const ledger = { problem: undefined, lastIncident: incident };
  const { notifier, clock, receiver, lines } = await start({ clientEvents, ledger }, ['new-client', 'ledger-problem']);
  await eventually(() => expect(receiver.received).toHaveLength(1));
  clock.time += 299_000;
  await notifier.check();
  expect(asked).toBe(1);
  clock.time += 1_000;
  await notifier.check();
  await eventually(() => expect(receiver.titles().at(-1)).toBe('Event client'));
  expect([asked, lines]).toEqual([2, []]);
});

it('sends an event at once and not at the next tick, once, and the next one after it', async () => {
  const receiver = await startReceiver();
  const answer = Promise.withResolvers<void>();
  receiver.next.push((res) => void answer.promise.then(() => res.writeHead(204).end()));
  const [settings] = receiversOf(
    snapshotFrom({
      routes: { '/v1': 'http://127.0.0.1:1' },
      notify: [{ url: receiver.url, events: ['deprecation'] }],
    }),
  );
  const workerData = { receivers: [settings], file: join(temporaryFolder(), 'queue.db'), fleet: undefined };
  const worker = new Worker(new URL('./tickingNever.ts', import.meta.url), { workerData });
  onTestFinished(() => void worker.terminate());
  const statuses: NotifyStatus[] = [];
  worker.on('message', (report: NotifyReport) => report.kind === 'status' && statuses.push(report.status));
  const attempts = () => Object.fromEntries(statuses.at(-1)?.recent.map((one) => [one.title, one.attempts]) ?? []);
  const add = (...events: NotifyEvent[]): void => worker.postMessage({ kind: 'events', events });
  add(eventOf('a'));
  await eventually(() => expect(receiver.titles()).toEqual(['Event a']));
  add(eventOf('a'), eventOf('b'));
  await eventually(() => expect(attempts()).toEqual({ 'Event a': 1, 'Event b': 0 }));
  answer.resolve();
  await eventually(() => expect(receiver.titles()).toEqual(['Event a', 'Event b']));
  add(eventOf('a'), eventOf('b'), eventOf('c'));
  await eventually(() => expect(receiver.titles()).toEqual(['Event a', 'Event b', 'Event c']));
  // The thread reports its status after each command, and here not at its ticks. The last report may precede the last attempt.
  add();
  await eventually(() => expect(attempts()).toEqual({ 'Event a': 1, 'Event b': 1, 'Event c': 1 }));
  expect(receiver.titles()).toEqual(['Event a', 'Event b', 'Event c']);
});
