import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { routeOrReason } from '../../../gateway/usage/counting/routeNames.ts';
import type { TargetReport } from '../../../gateway/usage/observability/report.ts';
import { usageReport } from '../../../gateway/usage/report/usageReport.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { gatherFacts } from '../../../gateway/versions/retirement/facts.ts';
import { liveFactsOf } from '../../../gateway/versions/retirement/liveFacts.ts';
import { retirementVerdict } from '../../../gateway/versions/retirement/verdict.ts';
import { noUsage } from '../../browser/sampleUsage.ts';
import { servedSnapshot } from '../../contracts/adapters/servedVersion.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { hostOf } from '../../support/hostOf.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { versionOf } from '../lifecycle/versions.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';

const noReport = { versions: [], workers: [] };

interface Given {
  readonly rows?: readonly UsageRow[];
  readonly covered?: number;
  readonly ignore?: readonly string[];
  readonly retire?: object;
  readonly routes?: Readonly<Record<string, unknown>>;
  readonly quiet?: number;
  readonly isMaintained?: boolean;
  readonly report?: Parameters<typeof gatherFacts>[1]['report'];
}

describe.each(readersOn)('the facts from a ledger on %s', (_database, makeReader) => {
  const read = makeReader();

  function factsOf(given: Given) {
    const { rows = [], covered = now - 300 * day, ignore = [], routes, report, quiet = 7 * day } = given;
    const v1 = { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' };
    const retire = { ignore_clients: ignore, ...given.retire };
    const snapshot = snapshotFrom({ routes: routes ?? { '/v1': v1, '/v2': upstream }, retire });
    const { ledger } = ledgerWith(rows, covered);
    if (given.isMaintained) ledger.maintain(now);
    const queries = read(ledger);
    const found = report ?? { versions: [], workers: [] };
    const sources = { snapshot, queries, report: found, live: liveFactsOf('v1', found) };
    return gatherFacts(versionOf(snapshot, 'v1'), sources, quiet, now);
  }

  it.each([
    ['serve', 'v2'],
    ['shadow', undefined],
  ])('with adapter.mode %s name %s as the version that serves it', async (mode, from) => {
    const snapshot = servedSnapshot(upstream, { adapter: { mode } });
    const queries = read(ledgerWith([], now - 300 * day).ledger);
    const sources = { snapshot, queries, report: { versions: [], workers: [] } };
    expect((await gatherFacts(versionOf(snapshot, 'v1'), sources, 7 * day, now)).adaptedFrom).toBe(from);
  });

  it.each([
    ['orders/v1', 'not yet'],
    ['orders/v2', 'yes'],
    ['drinks/v1', 'not yet'],
    ['v1234', 'not yet'],
    ['v9', 'yes'],
  ])('of /%s, which is removed: the answer is %s, because calls of some are not counted', async (name, answer) => {
    const one = snapshotFrom({ routes: { '/v1': upstream } });
    const host = name === 'orders/v1' ? one : hostOf(one, { '/orders': one });
    const rows = [row(name, 'a', now - 200 * day)];
    const sources = { snapshot: host, queries: read(ledgerWith(rows, now - 300 * day).ledger), report: noReport };
    const verdict = retirementVerdict(await gatherFacts({ name }, sources, 7 * day, now));
    expect(verdict.answer).toBe(answer);
    expect(verdict.reasons.some(({ code }) => code === 'calls_not_counted')).toBe(answer === 'not yet');
  });

  it('start at the hour in which the quiet period starts', async () => {
    expect(new Date((await factsOf({})).evidence.since).toISOString()).toBe('2026-11-14T12:00:00.000Z');
  });

  it('of a period shorter than an hour leave out earlier clients of the same hour', async () => {
    const rows = [row('v1', 'before', now - 61_000), row('v1', 'within', now - 59_000)];
    const { evidence, clients } = await factsOf({ rows, quiet: 60_000 });
    expect([evidence.since, clients.map(({ client }) => client)]).toEqual([now - 60_000, ['within']]);
  });

  it('count the requests to all versions in the period', async () => {
    const rows = [
      row('v1', 'a', now - 8 * day),
      row('v1', 'a', now - 6 * day),
      row('v2', 'a', now - 6 * day, { requests: 8 }),
      row('', 'scanner', now - 6 * day, { requests: 90 }),
    ];
    const { allRequests, clients } = await factsOf({ rows });
    expect([allRequests, clients.map(({ client, requests }) => [client, requests])]).toEqual([9, [['a', 1]]]);
  });

  it('of a small API beside one with 10,000 times its traffic are those of the API alone', async () => {
    const v1 = { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' };
    const alone = snapshotFrom({ routes: { '/v1': v1, '/v2': upstream } });
    const rows = [row('v1', 'a', now - 6 * day, { requests: 3 }), row('v2', 'b', now - 6 * day, { requests: 7 })];
    const renamed = rows.map((one) => ({ ...one, version: `orders/${one.version}` }));
    const large = ['v1', 'v2', 'pay/v1', 'pay/v2'].map((name) => row(name, 'c', now - 6 * day, { requests: 100_000 }));
    const verdictOf = async (snapshot: Snapshot, name: string, written: readonly UsageRow[]) => {
      const sources = { snapshot, queries: read(ledgerWith(written, now - 300 * day).ledger), report: noReport };
      const facts = await gatherFacts(versionOf(snapshot, name), sources, 7 * day, now);
      return JSON.parse(JSON.stringify([facts, retirementVerdict(facts)]).replaceAll('orders/', ''));
    };
    const host = hostOf(alone, { '/orders': alone, '/pay': alone });
    const beside = await verdictOf(host, 'orders/v1', [...renamed, ...large]);
    expect(beside).toEqual(await verdictOf(alone, 'v1', rows));
    expect(beside).toMatchObject([{ allRequests: 10 }, { answer: 'no' }]);
  });

  it('never count more requests to a version than to all versions, although old counts of clients are kept per day', async () => {
    const start = Math.floor((now - 30 * day) / day) * day;
    const morning = row('v1', 'a', start, { requests: 100 });
    const users = [morning, row('v1', 'a', now - 3_600_000)];
    const open = row('v1', 'a', start + 20 * 3_600_000, { requests: 0, served: 0 });
    for (const rows of [users, [morning, open]]) {
      const facts = await factsOf({ rows, quiet: 30 * day, isMaintained: true });
      expect(facts.clients[0]?.requests).toBeGreaterThanOrEqual(100);
      expect(facts.allRequests).toBe(facts.clients[0]?.requests);
      expect(retirementVerdict(facts).answer).toBe('no');
    }
  });

  it('count a stream from before the period, also beside requests that failed', async () => {
    const start = now - 8 * day;
    const failing = row('v1', 'a', now - day, { requests: 2, served: 0, failing: 2, errors: 2, used: 0 });
    const stream = [row('v1', 'a', start), row('v1', 'a', now, { requests: 0, served: 0 })];
    const others = row('v2', 'b', now - day, { requests: 10_000 });
    const facts = await factsOf({ rows: [...stream, failing, others] });
    expect(facts.clients).toMatchObject([{ client: 'a', requests: 3, failing: 2 }]);
    expect(retirementVerdict(facts).answer).toBe('yes');
    const alone = await factsOf({ rows: [...stream, failing, { ...others, requests: 100 }] });
    expect(retirementVerdict(alone).answer).toBe('no');
  });

  it('do not take a use before the period for an open request, although old counts of clients are kept per day', async () => {
    const start = Math.floor((now - 30 * day) / day) * day;
    const failing = { served: 0, failing: 1, errors: 1, used: 0 };
    const rows = [row('v1', 'a', start), row('v1', 'a', now - day, failing)];
    const facts = await factsOf({ rows, quiet: 30 * day, isMaintained: true });
    expect([facts.clients, facts.failing]).toMatchObject([[], [{ client: 'a', requests: 2, failing: 1 }]]);
    // It has no answer.
    const open = row('v1', 'a', now - 2 * day, { served: 0, used: 0 });
    const before = [row('v1', 'a', start - 1), row('v1', 'a', now - day, failing), open];
    expect((await factsOf({ rows: before, quiet: 30 * day, isMaintained: true })).clients).toMatchObject([
      { client: 'a' },
    ]);
  });

  it('know that a route is in use by a stream, although all other requests to it failed', async () => {
    const failing = { requests: 2, served: 0, failing: 2, errors: 2, used: 0 };
    const rows = [row('v1', 'a', now - 8 * day), row('v1', 'b', now - day, failing)];
    const routesOf = async (more: readonly UsageRow[]) =>
      (await factsOf({ rows: [...rows, ...more] })).failingRoutes.map(({ route }) => route);
    expect(await routesOf([])).toEqual(['GET /drinks']);
    expect(await routesOf([row('v1', 'a', now - 3_600_000, { requests: 0, served: 0 })])).toEqual([]);
  });

  it('leave out ignored clients, also in the trend', async () => {
    const rows = [1, 2, 3].flatMap((days) => [
      row('v1', 'x-client-id:probe', now - days * day, { requests: 100 }),
      row('v1', 'a', now - days * day),
    ]);
    const { clients, ignored, trend, newClients } = await factsOf({ rows, ignore: ['probe'] });
    expect(clients.map(({ client }) => client)).toEqual(['a']);
    expect(ignored.map(({ client }) => client)).toEqual(['x-client-id:probe']);
    expect(newClients?.map(({ client }) => client)).toEqual(['a']);
    expect(trend.days.slice(-4).map(({ requests }) => requests)).toEqual([0, 1, 1, 1]);
  });

  describe('predict the end of falling requests', () => {
    const falling = (daysBack: number) =>
      Array.from({ length: daysBack }, (_one, index) =>
        row('v1', 'web', now - (index + 1) * day, { requests: 300 + 100 * index }),
      );
    // Twelve clients that call every 6 to 10 days, the last time in the last five days.
    const pausing = Array.from({ length: 12 }, (_one, index) => index).flatMap((index) =>
      [0, 1, 2, 3].map((nth) => row('v1', `job-${index}`, now - ((index % 5) + nth * (6 + (index % 5))) * day)),
    );
    const trendOf = async (given: Given) => (await factsOf(given)).trend;

    it('unless clients with long pauses still call', async () => {
      const alone = await trendOf({ rows: falling(40) });
      expect([alone.kind, alone.zero === undefined]).toEqual(['falling', false]);
      const trend = await trendOf({ rows: [...falling(40), ...pausing] });
      expect(trend).toMatchObject({ kind: 'falling', zero: undefined });
      expect(trend.pausing).toMatchObject({ count: 12, shortest: 6 * day, longest: 10 * day });
      const off = await trendOf({ rows: [...falling(40), ...pausing], retire: { rhythm: 'off' } });
      expect(off.pausing?.count).toBe(12);
      const ignored = await trendOf({
        rows: [...falling(40), ...pausing],
        ignore: pausing.map(({ client }) => client),
      });
      expect([ignored.zero, ignored.pausing]).toEqual([alone.zero, undefined]);
    });

    it('unless the ledger does not cover the three weeks that it compares', async () => {
      expect(await trendOf({ rows: falling(40), covered: now - 21 * day })).toMatchObject({
        kind: 'not clear',
        zero: undefined,
      });
      expect(await trendOf({ rows: falling(40), covered: now - 22 * day })).toMatchObject({ kind: 'falling' });
    });

    it('also for one route', async () => {
      const snapshot = snapshotFrom({ routes: { '/v1': upstream, '/v2': upstream } });
      const queries = read(ledgerWith([...falling(40), ...pausing], now - 300 * day).ledger);
      const sources = { snapshot, queries, report: { versions: [], workers: [] } };
      const route = await routeOrReason('v1', { method: 'GET', path: '/drinks' }, undefined, queries);
      if (typeof route === 'string') throw new Error(route);
      const { trend } = await gatherFacts({ name: 'v1', route }, sources, 7 * day, now);
      expect([trend.zero, trend.pausing?.count]).toEqual([undefined, 12]);
    });
  });

  it.each<[string, Given, string[] | undefined]>([
    ['have the clients that came after the deprecation', {}, ['new']],
    ['do not have them if the ledger is younger', { covered: now - 30 * day }, undefined],
    ['do not have them without a deprecation', { routes: { '/v1': upstream } }, undefined],
    [
      'do not have them before the deprecation',
      { routes: { '/v1': { upstream, deprecation: '2026-12-01' } } },
      undefined,
    ],
  ])('%s', async (_what, given, expected) => {
    const recent = [row('v1', 'old', now - day), row('v1', 'new', now - 20 * day), row('v1', 'new', now - day)];
    const rows = 'covered' in given ? recent : [row('v1', 'old', now - 200 * day), ...recent];
    expect((await factsOf({ rows, ...given })).newClients?.map(({ client }) => client)).toEqual(expected);
  });

  describe('distinguish infrequent clients', () => {
    const visits = (client: string, ...daysAgo: number[]) =>
      daysAgo.map((days) => row('v1', client, now - days * day, { requests: 10 }));
    const answers = async (rows: UsageRow[], retire: object = {}) => {
      const { infrequent, gone } = await factsOf({ rows, retire });
      return [infrequent.map(({ client }) => client), gone.map(({ client }) => client)];
    };

    it.each<[string, UsageRow[]]>([
      ['a monthly job', visits('x', 100, 70, 40, 9)],
      ['a job that ran twice', visits('x', 40, 9)],
      ['a weekly job that is late', visits('x', 35.01, 28, 21, 14.01, 7.5)],
      ['a job of three days a month', visits('x', 72, 71, 70, 42, 41, 40, 11, 10, 9)],
    ])('%s is expected', async (_what, rows) => expect(await answers(rows)).toEqual([['x'], []]));

    it.each<[string, UsageRow[], object?]>([
      ['one burst', visits('x', 9.2, 9.1, 9)],
      ['a job that is overdue', visits('x', 100, 90, 80, 60)],
      [
        'a daily client with a holiday',
        visits('x', ...Array.from({ length: 40 }, (_one, n) => (n < 20 ? n + 9 : n + 20))),
      ],
      ['a monthly job with `rhythm: off`', visits('x', 100, 70, 40, 9), { rhythm: 'off' }],
    ])('%s is gone', async (_what, rows, retire) => expect(await answers(rows, retire)).toEqual([[], ['x']]));

    it.each<[string, UsageRow[], object?]>([
      ['an ignored client', visits('x', 100, 70, 40, 9), { ignore_clients: ['x'] }],
      ['clients that are counted together', visits('other clients', 100, 70, 40, 9)],
      ['a client that only fails', visits('x', 100, 70, 40, 9).map((one) => ({ ...one, failing: 10, used: 0 }))],
      ['a client that has called since', visits('x', 100, 70, 40, 9, 1)],
    ])('%s is neither', async (_what, rows, retire) => expect(await answers(rows, retire)).toEqual([[], []]));

    it('with the usual pause and the requests', async () => {
      const { infrequent } = await factsOf({ rows: visits('x', 101, 70, 40, 9) });
      const times = { first: now - 101 * day, last: now - 9 * day };
      expect(infrequent).toEqual([{ client: 'x', name: undefined, requests: 40, ...times, usualPause: 31 * day }]);
    });
  });

  it('list the lost routes across several majors', async () => {
    const routes = {
      '/v1': { upstream, moved: { '/old': null, '/drinks/{id}': '/cocktails/{id}' } },
      '/v2': { retired: true, moved: { '/cocktails/{id}': null } },
      '/v3': upstream,
    };
    const rows = ['GET /old', 'GET /drinks/{id}', 'GET /drinks', '(other)', 'POST /x'].map((route) =>
      row('v1', 'a', now - day, { route }),
    );
    const { lostRoutes, successor } = await factsOf({ rows, routes });
    expect([lostRoutes.map(({ route }) => route), successor?.version]).toEqual([
      ['GET /old', 'GET /drinks/{id}'],
      'v3',
    ]);
  });

  it('list no route without a successor', async () => {
    const routes = { '/v1': { upstream, moved: { '/drinks': null } } };
    const { lostRoutes, successor } = await factsOf({ rows: [row('v1', 'a', now - day)], routes });
    expect([lostRoutes, successor]).toEqual([[], undefined]);
  });

  it('include requests in flight and the health of the successor', async () => {
    const target: TargetReport = {
      url: upstream,
      inFlight: 0,
      connections: 0,
      reachable: true,
      health: 'healthy',
      ejectedUntil: undefined,
    };
    const others = (['failing', 'ejected', 'not tried', 'removed'] as const).map((health) => ({ ...target, health }));
    const targets = [target, ...others];
    const none = { inFlight: 0, waiting: 0, lastInFlight: undefined, targets: [] };
    const versions = [
      { ...none, name: 'v1', inFlight: 2, waiting: 1 },
      { ...none, name: 'v2', inFlight: 9, targets },
    ];
    const { inFlight, waiting, successor } = await factsOf({ report: { versions, workers: [] } });
    expect({ inFlight, waiting, successor }).toEqual({
      inFlight: 2,
      waiting: 1,
      successor: { version: 'v2', targets: 4, healthy: 1, notTried: 1 },
    });
  });
});

it('the facts include the problem of a query that failed', async () => {
  let problem: string | undefined;
  const failing = async () => {
    problem = 'the disk reports an error';
    return [];
  };
  const queries: UsageQueries = {
    ...noUsage,
    routes: failing,
    byRoute: failing,
    get problem() {
      return problem;
    },
  };
  const snapshot = snapshotFrom({ routes: { '/v1': upstream } });
  const sources = { snapshot, queries, report: { versions: [], workers: [] } };
  expect((await gatherFacts(versionOf(snapshot, 'v1'), sources, day, now)).problem).toBe('the disk reports an error');
  problem = undefined;
  const question = {
    by: 'route',
    version: 'v1',
    since: 0,
    until: now,
    step: 'day',
    successor: () => undefined,
  } as const;
  expect((await usageReport(queries, question)).problem).toBe('the disk reports an error');
});
