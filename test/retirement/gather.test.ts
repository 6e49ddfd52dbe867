import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import type { TargetReport } from '../../gateway/observability/report.ts';
import { gather } from '../../gateway/retirement/gather.ts';
import { usageReport } from '../../gateway/retirement/usageReport.ts';
import type { UsageRow } from '../../gateway/usage/batch.ts';
import type { UsageQueries } from '../../gateway/usage/queries.ts';
import { versionOf } from '../lifecycle/versions.ts';
import { day, ledgerWith } from './ledger.ts';
import { row } from './rows.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';

interface Given {
  readonly rows?: readonly UsageRow[];
  readonly covered?: number;
  readonly ignore?: readonly string[];
  readonly routes?: Readonly<Record<string, unknown>>;
  readonly quiet?: number;
  readonly report?: Parameters<typeof gather>[1]['report'];
}

function factsOf({ rows = [], covered = now - 300 * day, ignore = [], routes, report, quiet = 7 * day }: Given) {
  const v1 = { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' };
  const retire = { ignore_clients: ignore };
  const snapshot = snapshotFrom({ routes: routes ?? { '/v1': v1, '/v2': upstream }, retire });
  const queries = ledgerWith(rows, covered).ledger;
  const sources = { snapshot, queries, report: report ?? { versions: [], workers: [] } };
  return gather(versionOf(snapshot, 'v1'), sources, quiet, now);
}

describe('the facts', () => {
  it('begin with the hour in which the quiet period begins', () => {
    expect(new Date(factsOf({}).since).toISOString()).toBe('2026-11-14T12:00:00.000Z');
  });

  it('of a period shorter than an hour leave out who asked before it, in the same hour', () => {
    const rows = [row('v1', 'before', now - 61_000), row('v1', 'within', now - 59_000)];
    const { since, clients } = factsOf({ rows, quiet: 60_000 });
    expect([since, clients.map(({ client }) => client)]).toEqual([now - 60_000, ['within']]);
  });

  it('count the requests to versions since then', () => {
    const rows = [
      row('v1', 'a', now - 8 * day),
      row('v1', 'a', now - 6 * day),
      row('v2', 'a', now - 6 * day, { requests: 8 }),
      row('', 'scanner', now - 6 * day, { requests: 90 }),
    ];
    const { allRequests, clients } = factsOf({ rows });
    expect([allRequests, clients.map(({ client, requests }) => [client, requests])]).toEqual([9, [['a', 1]]]);
  });

  it('keep who is ignored apart, in the trend, too', () => {
    const rows = [1, 2, 3].flatMap((days) => [
      row('v1', 'x-client-id:probe', now - days * day, { requests: 100 }),
      row('v1', 'a', now - days * day),
    ]);
    const { clients, ignored, trend, newClients } = factsOf({ rows, ignore: ['probe'] });
    expect(clients.map(({ client }) => client)).toEqual(['a']);
    expect(ignored.map(({ client }) => client)).toEqual(['x-client-id:probe']);
    expect(newClients?.map(({ client }) => client)).toEqual(['a']);
    expect(trend.days.slice(-4).map(({ requests }) => requests)).toEqual([0, 1, 1, 1]);
  });

  it.each<[string, Given, string[] | undefined]>([
    ['knows who came after the deprecation', {}, ['new']],
    ['does not know, as the ledger is younger', { covered: now - 30 * day }, undefined],
    ['has none', { routes: { '/v1': upstream } }, undefined],
    ['has one ahead', { routes: { '/v1': { upstream, deprecation: '2026-12-01' } } }, undefined],
  ])('%s', (_what, given, expected) => {
    const recent = [row('v1', 'old', now - day), row('v1', 'new', now - 20 * day), row('v1', 'new', now - day)];
    const rows = 'covered' in given ? recent : [row('v1', 'old', now - 200 * day), ...recent];
    expect(factsOf({ rows, ...given }).newClients?.map(({ client }) => client)).toEqual(expected);
  });

  it('name the routes that end, over every major on the way', () => {
    const routes = {
      '/v1': { upstream, moved: { '/old': null, '/drinks/{id}': '/cocktails/{id}' } },
      '/v2': { retired: true, moved: { '/cocktails/{id}': null } },
      '/v3': upstream,
    };
    const rows = ['GET /old', 'GET /drinks/{id}', 'GET /drinks', '(other)', 'POST /x'].map((route) =>
      row('v1', 'a', now - day, { route }),
    );
    const { lost, successor } = factsOf({ rows, routes });
    expect([lost.map(({ route }) => route), successor?.version]).toEqual([['GET /old', 'GET /drinks/{id}'], 'v3']);
  });

  it('name no route where there is no successor', () => {
    const routes = { '/v1': { upstream, moved: { '/drinks': null } } };
    const { lost, successor } = factsOf({ rows: [row('v1', 'a', now - day)], routes });
    expect([lost, successor]).toEqual([[], undefined]);
  });

  it('say what is under way, and how well the successor is', () => {
    const target: TargetReport = {
      url: upstream,
      inFlight: 0,
      connections: 0,
      reachable: true,
      health: 'healthy',
      ejectedUntil: undefined,
    };
    const targets = [target, { ...target, reachable: false }, { ...target, health: 'ejected' as const }];
    const none = { inFlight: 0, waiting: 0, lastServed: undefined, targets: [] };
    const versions = [
      { ...none, name: 'v1', inFlight: 2, waiting: 1 },
      { ...none, name: 'v2', inFlight: 9, targets },
    ];
    const { inFlight, waiting, successor } = factsOf({ report: { versions, workers: [] } });
    expect({ inFlight, waiting, successor }).toEqual({
      inFlight: 2,
      waiting: 1,
      successor: { version: 'v2', targets: 3, healthy: 1 },
    });
  });

  it('know of a question that the ledger could not answer', () => {
    let problem: string | undefined;
    const failing = () => {
      problem = 'the disk reports an error';
      return [];
    };
    const queries: UsageQueries = {
      get problem() {
        return problem;
      },
      coveredSince: () => 0,
      totals: () => [],
      byClient: () => [],
      byRoute: failing,
      series: () => [],
      clientSeries: () => [],
      movement: () => [],
      lastUsed: () => new Map(),
      folded: () => 0,
      problems: [],
      held: 0,
    };
    const snapshot = snapshotFrom({ routes: { '/v1': upstream } });
    const sources = { snapshot, queries, report: { versions: [], workers: [] } };
    expect(gather(versionOf(snapshot, 'v1'), sources, day, now).problem).toBe('the disk reports an error');
    problem = undefined;
    const question = {
      by: 'route',
      version: 'v1',
      since: 0,
      until: now,
      step: 'day',
      successor: () => undefined,
    } as const;
    expect(usageReport(queries, question).problem).toBe('the disk reports an error');
  });
});
