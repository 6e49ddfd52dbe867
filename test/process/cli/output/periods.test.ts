import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import type { StatusJson, VersionJson } from '../../../../gateway/operate/admin/statusJson.ts';
import { statusAsText } from '../../../../gateway/process/cli/output/statusReport.ts';
import { verdictDocument } from '../../../../gateway/process/cli/output/verdictText.ts';
import { documentAsMarkdown, documentAsText } from '../../../../gateway/shared/document.ts';
import { gatherFacts } from '../../../../gateway/versions/retirement/facts.ts';
import { retirementVerdict } from '../../../../gateway/versions/retirement/verdict.ts';
import { type VerdictJson, verdictJson } from '../../../../gateway/versions/retirement/verdictJson.ts';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { numbersWithoutPeriod } from '../../../support/numbersWithoutPeriod.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { versionOf } from '../../../versions/lifecycle/versions.ts';
import { runIn } from '../io.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const plain = (_style: string, text: string): string => text;

describe('a number without a period is found', () => {
  it.each([
    ['  clients  1\n', ['1']],
    ['Can /v1 be retired?  no\n\n  1 client made 3 requests to /v1.\n', ['1 client made 3 requests to /v1.']],
    ['x\n\n  version  in flight  waiting now\n  /v1      2          1\n', ['2']],
    ['usage of /v1\n\n  client  requests\n  ios     3\n', ['  ios     3']],
    ['  the last call was 3 h ago, 1,204 requests\n', ['the last call was 3 h ago, 1,204 requests']],
  ])('in %j', (text, expected) => expect(numbersWithoutPeriod(text)).toEqual(expected));
});

// Falling requests, a client for each remark, and clients beyond the limit.
const rows = [
  ...Array.from({ length: 40 }, (_one, index) =>
    row('v1', 'web', now - (index + 1) * day, { requests: 300 + 100 * index }),
  ),
  ...[99, 69, 39, 9].map((ago) => row('v1', 'x-client-id:payroll', now - ago * day, { requests: 40 })),
  ...[28, 19, 10, 1].map((ago) => row('v1', 'x-client-id:report', now - ago * day, { requests: 4 })),
  row('v1', 'x-client-id:once', now - 9 * day, { requests: 40 }),
  row('v1', 'x-client-id:ios', now - 3 * hour, { requests: 1204, errors: 4 }),
  row('v1', 'x-client-id:scanner', now - hour, { requests: 3, failing: 3, errors: 3, used: 0, route: 'GET /wp-login' }),
  row('v1', 'x-client-id:refused', now - hour, { requests: 5, refused: 5, errors: 5, served: 0 }),
  row('v1', 'probe', now - hour, { requests: 9 }),
  row('v1', 'other clients', now - hour, { requests: 4000 }),
  row('v2', 'x-client-id:ios', now - hour, { requests: 2 }),
  row('', 'user-agent:scan', now - hour),
];
const dates = { deprecation: '2026-11-01', sunset: '2026-11-20' };
const routes = {
  '/v1': { upstream, ...dates, moved: { '/drinks': null } },
  '/v2': upstream,
};

describe.each(['7d', '30d', '60s', '36h'])('with a quiet period of %s', (quiet) => {
  const quietMs = { '7d': 7 * day, '30d': 30 * day, '60s': 60_000, '36h': 36 * hour }[quiet] ?? 0;

  it.each<[string, object, number, number]>([
    ['in use', {}, 100, 2],
    ['whose ledger is short', {}, 2, 0],
    ['without a sunset', { '/v1': { upstream } }, 100, 0],
    ['that is retired', { '/v1': { retired: true, ...dates } }, 100, 3],
    ['that was removed', { '/v1': undefined, '/v3': upstream }, 100, 0],
  ])('can-retire writes it beside each number, for a version %s', async (_what, changed, coveredDays, inFlight) => {
    const { queries } = ledgerWith(rows, now - coveredDays * day);
    const listed = JSON.parse(JSON.stringify({ ...routes, ...changed }));
    const snapshot = snapshotFrom({ routes: listed, retire: { ignore_clients: ['probe'] } });
    const target = { url: upstream, inFlight: 0, connections: 0, health: 'healthy', ejectedUntil: undefined } as const;
    const targets = [
      { ...target, reachable: true },
      { ...target, reachable: false },
    ];
    const report = {
      versions: ['v1', 'v2'].map((name) => ({ name, inFlight, waiting: 1, lastInFlight: undefined, targets })),
      workers: [],
    };
    const subject = snapshot.versions.has('v1') ? versionOf(snapshot, 'v1') : { name: 'v1' };
    const facts = await gatherFacts(subject, { snapshot, queries, report }, quietMs, now);
    const verdict = JSON.parse(JSON.stringify(verdictJson(retirementVerdict(facts)))) as VerdictJson;
    const document = verdictDocument(verdict);
    const text = documentAsText(document, plain);
    expect(text).toMatch(/\d/);
    expect(numbersWithoutPeriod(text)).toEqual([]);
    // In Markdown, tables have no gaps between columns.
    const prose = documentAsMarkdown(document).replaceAll(/^\|.*$/gm, '');
    expect(numbersWithoutPeriod(prose)).toEqual([]);
  });
});

it.each([
  [[]],
  [['/v1']],
  [['/v1', '--since', '24h']],
  [['/v1', '--by', 'migration', '--since', '365d']],
  [['--by', 'route', '--since', '10s']],
  [['/v1', '--by', 'day']],
  [['GET /v1/drinks']],
])('usage %j names the period of its numbers', async (args) => {
  const admin = await startAdmin(routes, ledgerWith(rows, now - 3 * day).queries, now);
  const { code, stdout } = await runIn('/', ['usage', ...args, '--admin', admin]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^usage( of \S+( \S+)?)? in the last \d+ \w+, since 20\S+Z\n/);
  expect(numbersWithoutPeriod(stdout)).toEqual([]);
});

it('usage counts clients, routes and versions over the same period', async () => {
  // On the day on which the period begins, but 30 days and an hour ago.
  const old = row('v1', 'x-client-id:old', now - 30 * day - hour, { requests: 7 });
  const { ledger, queries } = ledgerWith([old, row('v1', 'x-client-id:new', now - hour)], now - 100 * day);
  const admin = await startAdmin(routes, queries, now);
  const sums = async () =>
    Promise.all(
      ['version', 'client', 'route', 'day'].map(async (by) => {
        const { stdout } = await runIn('/', ['usage', '/v1', '--by', by, '--format', 'json', '--admin', admin]);
        const { rows, since } = JSON.parse(stdout);
        return [since, rows.reduce((sum: number, one: { requests: number }) => sum + one.requests, 0)];
      }),
    );
  const expected = new Array(4).fill(['2026-10-22T00:00:00.000Z', 8]);
  expect(await sums()).toEqual(expected);
  // Hours of clients and routes become days.
  ledger.maintain(now);
  expect(await sums()).toEqual(expected);
});

it('status writes `now` beside each number', () => {
  const target = {
    url: upstream,
    health: 'healthy',
    ejected_until: null,
    reachable: true,
    in_flight: 3,
    connections: 5,
  };
  const v1: VersionJson = {
    version: 'v1',
    stage: 'deprecated',
    deprecation: '2026-06-30T00:00:00.000Z',
    sunset: '2026-09-30T23:59:59.000Z',
    in_flight: 2,
    waiting: 1,
    last_served: '2026-11-21T11:56:30.000Z',
    safe_to_stop: false,
    unreachable: false,
    stopped_before_retired: false,
    targets: [target, { ...target, health: 'failing', last_error: 'refused', last_error_at: '2026-11-21T11:59:00Z' }],
    adapter: {
      from: 'v2',
      mode: 'serve',
      failures: [{ route: 'GET /drinks', count: 4, pointer: '/total', at: '2026-11-21T11:59:00Z' }],
      not_adapted: 6,
    },
    waivers: [{ client: 'acme', until: '2027-09-01T00:00:00Z', reason: 'contract' }],
  };
  const status: StatusJson = {
    config: {
      fingerprint: '0123456789abcdef0123',
      generation: 3,
      loaded_at: '2026-11-21T10:00:00.000Z',
      trigger: 'file',
      forced: [],
      last_failure: null,
    },
    workers: [],
    usage: { problem: null, held_rows: 12 },
    versions: [v1, { ...v1, version: 'v2', targets: [target] }],
    freezes: [
      {
        version: 'v1',
        from: '2026-11-20T00:00:00Z',
        mode: 'refuse',
        state: 'active',
        reason: null,
        known_clients: 3,
        new_clients: 2,
      },
    ],
  };
  const text = statusAsText(status, now, plain);
  expect(text).toMatch(/in flight now/);
  expect(numbersWithoutPeriod(text)).toEqual([]);
});
