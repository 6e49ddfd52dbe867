import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { Dispatcher } from '../../../gateway/operate/notify/dispatcher.ts';
import {
  brownoutEvents,
  dateEvents,
  digestDue,
  ledgerProblemEvent,
  maxEventsPerGroup,
} from '../../../gateway/operate/notify/events.ts';
import { clientEvents, digestEvent } from '../../../gateway/operate/notify/ledgerEvents.ts';
import { type LiveFacts, noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { brownoutStatus } from '../../../gateway/versions/lifecycle/brownouts.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { readLedger } from '../../support/readLedger.ts';
import { secret, startReceiver } from './receiver.ts';

const upstream = 'http://127.0.0.1:3001';
const at = (date: string): number => Date.parse(`${date}Z`);

function snapshotOf(v1: object, more: object = {}) {
  return snapshotFrom({ routes: { '/v1': { upstream, ...v1 }, '/v2': upstream }, ...more });
}

describe('the events of dates', () => {
  const dates = { deprecation: '2027-01-01', sunset: '2027-06-30' };
  it.each([
    ['before the deprecation', '2026-12-31T23:59:59', []],
    ['at the deprecation', '2027-01-01T00:00', ['deprecation v1 2027-01-01T00:00:00.000Z']],
    ['six days later', '2027-01-07T00:00', ['deprecation v1 2027-01-01T00:00:00.000Z']],
    ['eight days later', '2027-01-09T00:00', []],
    ['91 days before the sunset', '2027-03-31T00:00', []],
    ['90 days before it', '2027-04-01T00:00', ['sunset-90d v1 2027-06-30T00:00:00.000Z']],
    ['25 days before it', '2027-06-05T00:00', ['sunset-30d v1 2027-06-30T00:00:00.000Z']],
    ['a day before it', '2027-06-29T00:00', ['sunset-7d v1 2027-06-30T00:00:00.000Z']],
    ['at the sunset', '2027-06-30T00:00', []],
  ])('%s', (_when, now, ids) => {
    expect(dateEvents(snapshotOf(dates), at(now)).map(({ id }) => id)).toEqual(ids);
  });

  it('are none for a retired version', () => {
    expect(dateEvents(snapshotOf({ ...dates, retired: true }), at('2027-06-29T00:00'))).toEqual([]);
  });

  it('name the routes that end together, once', () => {
    const end = { deprecation: '2027-01-01', sunset: '2027-06-30' };
    const snapshot = snapshotOf({
      ends: { 'GET /old': end, 'POST /old': end, 'GET /other': { ...end, sunset: '2027-12-31' } },
    });
    const [event, ...more] = dateEvents(snapshot, at('2027-06-20T12:00'));
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: 'sunset-30d',
      title: 'The sunset of GET /v1/old and 1 more route is in 9 days: 2027-06-30',
      data: { version: 'v1', routes: ['GET /v1/old', 'POST /v1/old'] },
    });
  });

  it('of a route without a sunset of its own name the sunset of its version, as its responses do', () => {
    const v1 = { deprecation: '2027-01-01', sunset: '2027-12-31', ends: { 'GET /old': { deprecation: '2027-03-01' } } };
    const [event, ...more] = dateEvents(snapshotOf(v1), at('2027-03-01T12:00'));
    expect(more).toEqual([]);
    expect(event?.title).toBe('GET /v1/old is deprecated since 2027-03-01');
    expect(event?.data['sunset']).toBe('2027-12-31T00:00:00.000Z');
    expect(event?.sections[0]?.lines?.[0]).toContain('The sunset is 2027-12-31. The successor is /v2.');
  });

  it('have another id if a date is moved', () => {
    const ids = ['2027-06-30', '2027-07-01'].flatMap((sunset) =>
      dateEvents(snapshotOf({ ...dates, sunset }), at('2027-06-28T00:00')).map(({ id }) => id),
    );
    expect(new Set(ids).size).toBe(2);
  });
});

it('a brownout is announced within its notice, once', () => {
  const window = { at: '2027-03-02T14:00Z', for: '1h', clients: '25%', routes: ['GET /drinks'] };
  const v1 = { deprecation: '2027-01-01', sunset: '2027-12-31', brownouts: [window] };
  const found = (now: string) => dateEvents(snapshotOf(v1), at(now)).filter(({ type }) => type === 'brownout');
  expect(['2027-02-16T13:59', '2027-03-02T14:00'].map(found)).toEqual([[], []]);
  const [first, second] = ['2027-02-16T14:00', '2027-03-02T13:59'].map((now) => found(now)[0]);
  expect(first).toMatchObject({
    title: 'A brownout of /v1 is due in 14 days: 2027-03-02T14:00:00Z',
    sections: [
      { lines: ['It ends at 2027-03-02T15:00:00Z, and refuses the requests to 1 route of 25% of the clients.'] },
    ],
    data: { version: 'v1', state: 'announced', clients: 0.25, routes: ['GET /v1/drinks'] },
  });
  expect(second?.id).toBe(first?.id);
  // The same brownout when it begins.
  const snapshot = snapshotOf(v1);
  const [begun] = snapshot.sortedVersions.flatMap(({ name, brownouts }) =>
    brownouts.map((one) => brownoutStatus(name, one, undefined, undefined, at('2027-03-02T14:00'))),
  );
  const [event] = begun ? brownoutEvents([{ ...begun, state: 'running' }], snapshot, at('2027-03-02T14:00')) : [];
  expect(event?.data).toEqual({ ...first?.data, state: 'running', reason: null });
});

it('a brownout that was stopped before its start is not announced, nor that of a retired version', async () => {
  const v1 = {
    deprecation: '2027-01-01',
    brownouts: ['02', '03'].map((on) => ({ at: `2027-03-${on}T14:00Z`, for: '1h' })),
  };
  const now = at('2027-03-01T14:00');
  const times = { at: '2027-03-02T14:00:00Z', until: '2027-03-02T15:00:00Z' } as const;
  const stopped = {
    version: 'v1',
    ...times,
    clients: 1,
    routes: null,
    state: 'stopped',
    reason: 'an operator',
  } as const;
  const announced = (edit: object) =>
    dateEvents(snapshotOf({ ...v1, ...edit }), now, [{ ...stopped, successor_checked: null }]).map(
      ({ title }) => title,
    );
  expect(announced({})).toEqual(['A brownout of /v1 is due in 2 days: 2027-03-03T14:00:00Z']);
  expect(announced({ retired: true })).toEqual([]);
  const { ledger, queries } = ledgerWith([old], now - 60 * day);
  const decision = {
    version: 'v1',
    at: at('2027-03-02T14:00'),
    state: 'stopped',
    reason: 'an operator',
    changed: now,
  } as const;
  ledger.saveBrownouts([decision]);
  const digest = await digestEvent({
    snapshot: snapshotOf(v1),
    queries,
    state: undefined,
    gateway: undefined,
    since: now - 7 * day,
    now,
  });
  expect(digest?.sections.find(({ heading }) => heading === 'Next dates')?.lines).toEqual([
    '2027-03-03: brownout of /v1, if its conditions hold',
  ]);
});

it.each([
  ['planned', null, undefined],
  ['approved', null, undefined],
  ['missed', null, undefined],
  ['running', null, 'The brownout of /v1 at 2027-03-02T14:00:00Z has begun'],
  ['ended', null, 'The brownout of /v1 at 2027-03-02T14:00:00Z has ended'],
  ['stopped', 'stopped by an operator', 'The brownout of /v1 at 2027-03-02T14:00:00Z was stopped'],
  ['skipped', 'its successor /v2 has no healthy target', 'The brownout of /v1 at 2027-03-02T14:00:00Z is skipped'],
] as const)('a brownout that is %s is an event until a day after it', (state, reason, title) => {
  const times = { at: '2027-03-02T14:00:00Z', until: '2027-03-02T15:00:00Z' } as const;
  const status = { version: 'v1', ...times, clients: 0.25, routes: null, state, reason, successor_checked: null };
  const found = brownoutEvents([status], snapshotOf({}), at('2027-03-03T14:59'));
  expect(found.map((event) => event.title)).toEqual(title === undefined ? [] : [title]);
  if (reason !== null) expect(JSON.stringify(found[0]?.sections)).toContain(`The reason: ${reason}.`);
  expect(brownoutEvents([status], snapshotOf({}), at('2027-03-03T15:00'))).toEqual([]);
});

const noon = at('2027-03-01T12:00');
const old = row('v2', 'x-client-id:other', noon - 60 * day);

describe('the events of clients', () => {
  const snapshot = snapshotOf(
    { deprecation: '2027-01-01', sunset: '2027-12-31' },
    { retire: { quiet: '7d', ignore_clients: ['probe'] } },
  );
  const titles = async (queries: UsageQueries, now = noon) =>
    (await clientEvents(queries, snapshot, now)).map(({ type, title }) => `${type}: ${title}`);
  const call = (client: string, ago: number, more = {}) => row('v1', `x-client-id:${client}`, noon - ago * day, more);

  it('report a client that calls for the first time, and one that comes back after a pause', async () => {
    const rows = [
      old,
      ...[call('steady', 3), call('steady', 0)],
      ...[call('weekly', 27), call('weekly', 17), call('weekly', 0)],
      call('new', 0),
      call('v0-failing', 20, { failing: 1, served: 0, used: 0 }),
      call('v0-failing', 0),
      call('failing', 0, { failing: 1, served: 0, used: 0 }),
      call('probe', 0),
    ];
    const { queries } = ledgerWith(rows, noon - 60 * day);
    expect(await titles(queries)).toEqual([
      'new-client: x-client-id:new called /v1 for the first time, although /v1 is deprecated',
      'new-client: x-client-id:v0-failing called /v1 for the first time, although /v1 is deprecated',
      'came-back: x-client-id:weekly came back to /v1 after 17 days without a call',
    ]);
  });

  it('are counted by the digest without ignored clients', async () => {
    const { queries } = ledgerWith([old, call('new', 0), call('probe', 0)], noon - 60 * day);
    const digest = await digestEvent({
      snapshot,
      queries,
      state: undefined,
      gateway: undefined,
      since: noon - 7 * day,
      now: noon,
    });
    expect(digest?.data['changes']).toContain('1 client called /v1 for the first time: x-client-id:new.');
  });

  it('the digest does not say that no client called if the clients are counted together', async () => {
    const linesOf = async (rows: Parameters<typeof ledgerWith>[0]) => {
      const { queries } = ledgerWith(rows, noon - 60 * day);
      const digest = await digestEvent({
        snapshot,
        queries,
        state: undefined,
        gateway: undefined,
        since: noon - 7 * day,
        now: noon,
      });
      return digest?.sections.find(({ heading }) => heading?.startsWith('/v1'))?.lines?.join(' ');
    };
    const noClient = 'No client called it in the last 7 days.';
    expect(await linesOf([old])).toContain(noClient);
    expect(await linesOf([old, row('v1', 'other clients', noon)])).not.toContain(noClient);
  });

  it.each([
    ['a week', 7, 60, '; in the 7 days before, 1', 1],
    ['36 hours', 1.5, 60, '; in the 36 h before, 1', 1],
    ['a week, and the ledger does not go back two', 7, 10, '', null],
  ])('are compared by the digest with the period before: %s', async (_what, days, covered, comparison, before) => {
    const { queries } = ledgerWith([old, call('one', days + 1), call('one', 0)], noon - covered * day);
    const digest = await digestEvent({
      snapshot,
      queries,
      state: undefined,
      gateway: undefined,
      since: noon - days * day,
      now: noon,
    });
    expect(digest?.data['changes']).toContain(`/v1 had 1 request${comparison}.`);
    expect(digest?.data['versions']).toEqual([expect.objectContaining({ requests: 1, requests_before: before })]);
  });

  it('the digest names the gateway, what its ledger covers, and why calls may be missing', async () => {
    const gateway = { name: 'gw-1', host: 'one', admin: 'http://10.0.0.1:9901', file: '/etc/routes.yaml', digest: '' };
    const silent = { code: 'gateway_silent', text: 'Gateway gw-3 has not been heard for 40 s.' };
    const digestWith = async (gaps: (typeof silent)[], covered = 60) => {
      const { queries } = ledgerWith([old, call('gone', 12)], noon - covered * day);
      const facts = new Map([['v1', { ...noLiveFacts, gaps }]]);
      const state = { report: { versions: [], workers: [] }, facts, fleet: new Map() };
      const digest = await digestEvent({ snapshot, queries, state, gateway, since: noon - 7 * day, now: noon });
      const linesOf = (heading: string | undefined) =>
        digest?.sections.find((section) => section.heading === heading)?.lines ?? [];
      return {
        digest,
        source: linesOf(undefined)[1],
        changes: linesOf('What changed'),
        version: linesOf('/v1: deprecated'),
      };
    };
    const who = 'Gateway gw-1 at http://10.0.0.1:9901, with /etc/routes.yaml.';
    const complete = await digestWith([]);
    expect(complete.source).toBe(`${who} The usage ledger has every call of this period.`);
    expect(complete.version).toContain('No client called it in the last 7 days.');
    expect(complete.changes).toContain('1 client stopped calling /v1: x-client-id:gone.');
    expect(complete.digest?.data).toMatchObject({
      gateway: 'gw-1',
      gateway_admin: 'http://10.0.0.1:9901',
      gateway_file: '/etc/routes.yaml',
      known: true,
    });
    const withGap = await digestWith([silent]);
    expect(withGap.source).toBe(`${who} The usage ledger has every call of this period. ${silent.text}`);
    expect(withGap.version).toEqual([
      expect.stringContaining('The sunset of /v1'),
      silent.text,
      'No call in the last 7 days is known, but calls may be missing.',
    ]);
    expect(withGap.changes).toContain('1 client may have stopped calling /v1; calls may be missing: x-client-id:gone.');
    expect(withGap.digest?.data).toMatchObject({ known: false, versions: [{ known: false }] });
    const short = await digestWith([], 3);
    expect(short.source).toBe(`${who} The usage ledger has every call only since 2027-02-26T12:00:00Z.`);
    expect(short.digest?.data).toMatchObject({ known: false, counted_since: '2027-02-26T12:00:00.000Z' });
  });

  it.each<[string, Partial<LiveFacts>, string, boolean, string]>([
    [
      'counts of another gateway that have not arrived',
      { pending: [{ code: 'calls_unsent', text: 'Counts of gw-2 are on their way.' }] },
      'No call in the last 7 days is known, but calls may be missing.',
      false,
      'may have stopped calling /v1; calls may be missing',
    ],
    [
      'a worker that does not answer',
      { unresponsiveSince: noon - 5_000 },
      'No call in the last 7 days is known, but calls may be missing.',
      false,
      'may have stopped calling /v1; calls may be missing',
    ],
    [
      'an open request',
      { inFlight: 1 },
      'No call in the last 7 days is in the usage ledger yet, but it has 1 open request.',
      true,
      'may have stopped calling /v1; requests of unknown clients are open',
    ],
    [
      'a call that is remembered while counts are not written',
      { lastRemembered: noon - 1_000, hasUnwritten: true },
      'No call in the last 7 days is in the usage ledger yet, but a worker remembers one.',
      false,
      'may have stopped calling /v1; calls may be missing',
    ],
    [
      'the calls of another version',
      { lastRemembered: noon - 1_000 },
      'No client called it in the last 7 days.',
      true,
      'stopped calling /v1',
    ],
  ])('the digest does not say that no client called it during %s', async (_what, live, noCall, known, stopped) => {
    const { queries } = ledgerWith([old, call('gone', 12)], noon - 60 * day);
    const facts = new Map([['v1', { ...noLiveFacts, ...live }]]);
    const { inFlight = 0, waiting = 0 } = live;
    const v1 = { name: 'v1', inFlight, waiting, lastInFlight: undefined, targets: [] };
    const report = { versions: [v1], workers: [] };
    const state = { report, facts, fleet: new Map() };
    const digest = await digestEvent({
      snapshot,
      queries,
      state,
      gateway: undefined,
      since: noon - 7 * day,
      now: noon,
    });
    expect(digest?.sections.find(({ heading }) => heading === '/v1: deprecated')?.lines).toContain(noCall);
    expect(digest?.data).toMatchObject({ known, versions: [{ known }] });
    expect(digest?.data['changes']).toContain(`1 client ${stopped}: x-client-id:gone.`);
  });

  it('may be of clients whose earlier calls have not arrived', async () => {
    const { queries } = ledgerWith([old, call('new', 0)], noon - 60 * day);
    const pending = [{ code: 'calls_unsent', text: 'Counts of gw-2 are on their way.' }];
    const facts = new Map([['v1', { ...noLiveFacts, pending }]]);
    const state = { report: { versions: [], workers: [] }, facts, fleet: new Map() };
    expect((await clientEvents(queries, snapshot, noon, state)).map(({ data }) => data['known'])).toEqual([false]);
  });

  it('say if earlier calls of the client may be missing', async () => {
    const { ledger, queries } = ledgerWith([old, call('new', 0)], noon - 60 * day);
    const known = async () => (await clientEvents(queries, snapshot, noon)).map(({ data }) => data['known']);
    expect(await known()).toEqual([true]);
    const loss = { version: 'v1', from: noon - 2 * day, until: noon - 2 * day + 10, reason: 'A worker was killed.' };
    ledger.addLosses([loss], { process: 0, until: 1 });
    expect(await known()).toEqual([false]);
  });

  it('report no client as new if the ledger does not go back a quiet period', async () => {
    const { queries } = ledgerWith([call('first', 3), call('second', 0)], noon - 3 * day);
    expect(await titles(queries)).toEqual([]);
  });

  it('are none before the deprecation, and none after the version is retired', async () => {
    const { queries } = ledgerWith([old, call('new', 0)], noon - 60 * day);
    for (const v1 of [
      { deprecation: '2027-03-02' },
      { deprecation: '2027-01-01', sunset: '2027-02-01', retired: true },
    ])
      expect(await clientEvents(queries, snapshotOf(v1), noon)).toEqual([]);
  });

  it('are none if the ledger cannot be read', async () => {
    const { queries } = ledgerWith([old, call('new', 0)], noon - 60 * day);
    queries.problem = 'it is damaged';
    expect(await clientEvents(queries, snapshot, noon)).toEqual([]);
  });

  // The default of usage.max_clients. The ledger counts further clients together.
  it('of 50,000 forged names are few', async () => {
    const forged = Array.from({ length: 50_000 }, (_one, index) => call(`forged-${index}`, 0));
    const { queries } = ledgerWith([old, ...forged], noon - 60 * day);
    const today = await clientEvents(queries, snapshot, noon);
    expect(today.length).toBe(maxEventsPerGroup);
    const tomorrow = await clientEvents(queries, snapshot, noon + day);
    expect(tomorrow.length).toBe(maxEventsPerGroup + 1);
    expect(tomorrow.at(-1)).toMatchObject({
      title: '50,000 clients called /v1 for the first time on 2027-03-01',
      data: { count: 50_000 },
    });
    expect(JSON.stringify(tomorrow).length).toBeLessThan(20_000);
  });

  it('cannot show the control characters of a name', async () => {
    const { queries } = ledgerWith([old, call('evil\u001b[31m\u202e', 0)], noon - 60 * day);
    expect((await titles(queries)).join()).toMatch(/evil\\x1b\[31m\\u\{202e\}/);
  });
});

it('a problem of the ledger is one event for each hour and kind', () => {
  const ids = ['12:01', '12:59', '13:01'].map(
    (time) => ledgerProblemEvent('gw', 'ledger', 'x', at(`2027-03-01T${time}`)).id,
  );
  expect(new Set(ids).size).toBe(2);
});

it.each([
  ['2027-03-01T05:59', undefined],
  ['2027-03-01T06:00', '2027-03-01T06:00'],
  ['2027-03-03T05:59', '2027-03-01T06:00'],
  ['2027-03-03T06:00', undefined],
  ['2027-03-07T12:00', undefined],
])('at %s the digest of %s is due', (now, monday) => {
  expect(digestDue(at(now))).toBe(monday === undefined ? undefined : at(monday));
});

it('100 days send exactly the expected events', async () => {
  const start = at('2027-01-01T00:00');
  const snapshot = snapshotOf({ deprecation: '2027-01-11', sunset: '2027-04-09' }, { retire: { quiet: '7d' } });
  const call = (client: string, on: number) => row('v1', `x-client-id:${client}`, start + on * day + day / 2);
  const rows = [
    old,
    ...Array.from({ length: 100 }, (_one, on) => call('steady', on)),
    // Every 20 days.
    ...[5, 25, 45, 65, 85].map((on) => call('job', on)),
    call('late', 40),
    ...Array.from({ length: 12 }, (_one, index) => call(`crowd-${index}`, 70)),
  ];
  const receiver = await startReceiver();
  const settings = {
    url: receiver.url,
    format: 'json',
    secret,
    events: ['deprecation', 'sunset-90d', 'sunset-30d', 'sunset-7d', 'new-client', 'came-back'],
    digest: 'weekly',
    networks: 'any',
  } as const;
  const clock = { time: start, now: () => clock.time };
  const file = join(temporaryFolder(), 'queue.db');
  const dispatcher = new Dispatcher({ receivers: [settings], file, fleet: undefined }, clock, () => {});
  onTestFinished(async () => {
    await dispatcher.close();
    ledger.close();
  });
  const ledger = Ledger.open({ store: join(temporaryFolder(), 'usage.db'), retention: 400 * day }, { clock });
  ledger.add([old]);
  const queries = readLedger(ledger);
  let added = 1;
  // Two checks a day; what was found is found again each time.
  for (; clock.time < start + 100 * day; clock.time += day / 2) {
    const upTo = rows.filter(({ last }) => last <= clock.time);
    const known = rows.slice(1).filter((one) => one.last > clock.time - day / 2 && one.last <= clock.time);
    if (known.length > 0) ledger.add(known);
    added = upTo.length;
    const monday = digestDue(clock.time);
    const digest =
      monday === undefined
        ? undefined
        : await digestEvent({
            snapshot,
            queries,
            state: undefined,
            gateway: undefined,
            since: clock.time - 7 * day,
            now: clock.time,
            monday,
          });
    const found = [...dateEvents(snapshot, clock.time), ...(await clientEvents(queries, snapshot, clock.time))];
    await dispatcher.add(digest ? [...found, digest] : found);
    await dispatcher.run();
    await dispatcher.awaitSending(10_000);
  }
  expect(queries.problem).toBeUndefined();
  expect(added).toBe(rows.length);
  const types = receiver.received.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { client?: string; count?: number } };
    return [type, data.client?.slice('x-client-id:'.length) ?? data.count]
      .filter((part) => part !== undefined)
      .join(' ');
  });
  const counted = Object.fromEntries([...Map.groupBy(types, (type) => type)].map(([type, all]) => [type, all.length]));
  expect(counted).toEqual({
    deprecation: 1,
    'sunset-90d': 1,
    'sunset-30d': 1,
    'sunset-7d': 1,
    'new-client late': 1,
    ...Object.fromEntries(Array.from({ length: 10 }, (_one, index) => [`new-client crowd-${index}`, 1])),
    'new-client 12': 1,
    'came-back job': 4,
    digest: 14,
  });
});
