import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { hasLoss, withRetired } from '../../../gateway/versions/plan/plan.ts';
import { planEdit } from '../../../gateway/versions/plan/planEdit.ts';
import { noUsage } from '../../browser/sampleUsage.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';
import { versionOf } from '../lifecycle/versions.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const both = { '/v1': upstream, '/v2': upstream };
const running = snapshotFrom({ routes: both });
const retired = { '/v1': { upstream, retired: true }, '/v2': upstream };

const contractOf = (version: string) => ({ upstream, contract: `services/${version}/contract/openapi.yaml` });

/** v1 of the sample services, of which an adapter serves GET /drinks/{id}, unless `routes` differ. */
const adaptedV1 = (routes: object) => ({
  ...contractOf('v1'),
  adapter: { from: '/v2', mode: 'serve', routes: { 'GET /drinks/{id}': { to: 'GET /cocktails/{id}' }, ...routes } },
});

interface Given {
  readonly routes?: Readonly<Record<string, unknown>>;
  /** The running configuration. */
  readonly before?: Readonly<Record<string, unknown>>;
  /** Without a running configuration. */
  readonly isAlone?: boolean;
  readonly retire?: object;
  readonly covered?: number;
  readonly since?: number;
  readonly at?: number;
}

describe.each(readersOn)('a plan from a ledger on %s', (_database, makeReader) => {
  const read = makeReader();

  async function planned(rows: readonly UsageRow[], given: Given = {}) {
    const { routes = retired, retire, covered = now - 100 * day, since = now - 7 * day, at = now } = given;
    const applied = given.before === undefined ? running : snapshotFrom({ routes: given.before });
    const queries = read(ledgerWith(rows, covered).ledger);
    const candidate = snapshotFrom({ routes, ...(retire && { retire }) });
    const times = { since, now, at };
    const plan = await planEdit(queries, { candidate, running: given.isAlone ? undefined : applied, ...times });
    if (plan === undefined) throw new Error(queries.problem);
    return plan;
  }

  it('does not say yes about clients whose requests no backend has answered', async () => {
    const down = { requests: 3, served: 0, errors: 3, accepted: 0 };
    const plan = await planned([
      row('v1', 'x-client-id:a', now - hour, down),
      row('v2', 'x-client-id:b', now - hour, down),
    ]);
    expect(plan).toMatchObject({ known: false, unanswered: 3, total: { lost: 0 } });
    expect(plan.summary).toBe(
      'It is not known whether clients would lose requests: no backend answered 3 requests to versions that the gateway would refuse, in the last 7 days.',
    );
    // Those that were refused matter only if the version is served now.
    const refused = { requests: 2, served: 0, errors: 2, refused: 2, accepted: 0 };
    expect(await planned([row('v1', 'x-client-id:a', now - hour, refused)])).toMatchObject({
      known: false,
      unanswered: 2,
    });
    const before = { '/v1': { upstream, retired: true }, '/v2': upstream };
    const tombstone = await planned([row('v1', 'x-client-id:a', now - hour, refused)], { before });
    expect(tombstone).toMatchObject({ known: true, unanswered: 0 });
    const alone = await planned([row('v1', 'x-client-id:a', now - hour, refused)], { isAlone: true });
    expect(alone.unanswered).toBe(0);
    // Requests that the gateway itself answers 4xx are no use of the version.
    const tooLarge = { requests: 2, served: 0, errors: 2, failing: 2, used: 0, accepted: 0 };
    expect(await planned([row('v1', 'x-client-id:a', now - hour, tooLarge)])).toMatchObject({
      known: true,
      unanswered: 0,
    });
  });

  it('lists the clients, the largest loss first, with their routes and the requests that stay served', async () => {
    const plan = await planned([
      row('v1', 'small', now - hour, { requests: 3, served: 2, failing: 2, errors: 2 }),
      row('v1', 'broken', now - hour, { requests: 1, failing: 1, used: 0, errors: 1 }),
      row('v1', 'large', now - hour, { requests: 5 }),
      row('v1', 'large', now - 2 * day, { requests: 1, route: 'POST /drinks' }),
      row('v2', 'large', now - hour, { requests: 40 }),
      row('v2', 'moved', now - hour, { requests: 100 }),
      row('v1', 'before', now - 8 * day, { requests: 100 }),
      row('', 'scanner', now - hour, { requests: 9, served: 0 }),
    ]);
    expect(plan.clients.map(({ client, lost, answers, other }) => [client, lost, answers, other])).toEqual([
      [
        'large',
        6,
        { served: 40, retired: 6, unknown_version: 0, waived: 0, frozen: 0, brownout: 0, not_adapted: 0 },
        0,
      ],
      ['small', 2, { served: 0, retired: 2, unknown_version: 0, waived: 0, frozen: 0, brownout: 0, not_adapted: 0 }, 1],
      [
        'broken',
        1,
        { served: 0, retired: 1, unknown_version: 0, waived: 0, frozen: 0, brownout: 0, not_adapted: 0 },
        0,
      ],
      [
        'moved',
        0,
        { served: 100, retired: 0, unknown_version: 0, waived: 0, frozen: 0, brownout: 0, not_adapted: 0 },
        0,
      ],
    ]);
    expect(plan.clients[0]).toMatchObject({
      loses: ['v1'],
      last: new Date(now - hour).toISOString(),
      top_routes: [
        { version: 'v1', route: 'GET /drinks', requests: 5 },
        { version: 'v1', route: 'POST /drinks', requests: 1 },
      ],
    });
    expect([plan.client_count, plan.losing_count, plan.total.lost, plan.total.served]).toEqual([4, 3, 9, 149]);
    expect(plan.summary).toBe(
      '3 clients would lose 9 of the 149 requests that backends answered in the last 7 days: large (6), small (2), broken (1).',
    );
    expect(plan.notes).toEqual([
      {
        code: 'failing',
        text: 'Every request of these clients was answered 4xx, so can-retire does not count them: broken.',
      },
    ]);
  });

  it('is exact for more clients than it lists', async () => {
    const clients = Array.from({ length: 150 }, (_one, index) =>
      row('v1', `client ${index}`, now - hour, { requests: index + 2 }),
    );
    const rows = [...clients, row('v1', 'other clients', now - hour)];
    const plan = await planned(rows);
    expect([plan.clients.length, plan.losing_count, plan.total.lost]).toEqual([100, 150, (151 * 152) / 2]);
    // Also if they are not in the list.
    expect(plan.notes.map(({ code }) => code)).toEqual(['folded']);
    expect(plan.clients.filter(({ top_routes: top }) => top.length > 0)).toHaveLength(50);
    expect(plan.clients[0]).toMatchObject({ client: 'client 149', lost: 151 });
    expect(plan.summary).toMatch(/: client 149 \(151\), .+ and others\.$/);
  });

  it('does not count ignored clients, and says what they would lose', async () => {
    const rows = [row('v1', 'user-agent:probe', now - hour, { requests: 9 }), row('v2', 'a', now - hour)];
    const plan = await planned(rows, { retire: { ignore_clients: ['probe'] } });
    expect([plan.total.lost, plan.total.served, plan.losing_count]).toEqual([0, 1, 0]);
    expect(plan.versions.map(({ version, clients, requests }) => [version, clients, requests])).toEqual([
      ['v1', 0, 0],
      ['v2', 1, 1],
    ]);
    expect(plan.ignored).toMatchObject([{ client: 'user-agent:probe', lost: 9 }]);
    expect(plan.notes).toEqual([
      { code: 'ignored', text: 'Not counted (retire.ignore_clients): user-agent:probe (9).' },
    ]);
  });

  it('says that clients which are counted together are an unknown number of clients', async () => {
    const rows = [row('v1', 'other clients', now - hour, { requests: 900 }), row('v1', 'a', now - hour)];
    const plan = await planned(rows);
    expect(plan).toMatchObject({ client_count: 1, losing_count: 1, others_lose: true });
    expect(plan.summary).toMatch(
      /^At least 1 client would lose 901 of the 901 requests .+: other clients \(900\), a \(1\)\.$/,
    );
    expect(plan.notes.map(({ code }) => code)).toEqual(['folded']);
  });

  it('says that the ledger is shorter than the period', async () => {
    const plan = await planned([row('v2', 'a', now - hour)], { covered: now - 2 * day });
    expect([plan.known, plan.summary]).toEqual([
      true,
      'No client would lose a request that was recorded since 2026-11-19T12:34:56Z: backends answered 1 request, and the gateway would refuse none of them.',
    ]);
    const lossSince = 'in the last 7 days (usage was recorded without a gap only since 2026-11-19T12:34:56Z): a (1).';
    const lost = await planned([row('v1', 'a', now - hour)], { covered: now - 2 * day });
    expect(lost.summary).toContain(` would lose 1 of the 1 request that backends answered ${lossSince}`);
    expect(plan.notes.map(({ code, text }) => [code, text])).toEqual([
      [
        'ledger_short',
        'Usage has been recorded without a gap only since 2026-11-19T12:34:56Z: clients that called before may be missing.',
      ],
    ]);
  });

  it('counts a request that began before the period and is still open', async () => {
    const rows = [row('v1', 'stream', now - hour, { requests: 0, served: 0 })];
    expect((await planned(rows)).total).toMatchObject({ requests: 1, lost: 1 });
    const failing = { requests: 2, served: 0, errors: 2, failing: 2, used: 0, accepted: 0 };
    const beside = [...rows, row('v1', 'stream', now - hour, failing)];
    expect((await planned(beside)).total).toMatchObject({ requests: 3, lost: 1 });
    expect((await planned([row('v1', 'stream', now - hour, failing)])).total).toMatchObject({ requests: 2, lost: 0 });
  });

  it('decides by the stage at the given instant', async () => {
    const dates = { deprecation: '2026-01-01', sunset: '2027-06-30T12:00:00Z', after_sunset: 'gone' };
    const routes = { ...both, '/v1': { upstream, ...dates } };
    const rows = [row('v1', 'a', now - hour)];
    const today = await planned(rows, { routes });
    expect([today.total.lost, today.notes.map(({ text }) => text)]).toEqual([
      0,
      [
        '/v1 is answered 410 from its sunset on, 2027-06-30T12:00:00Z (after_sunset: gone). To plan for that, set the date (--at 2027-06-30T12:00:00Z).',
      ],
    ]);
    const at = Date.parse('2027-06-30T12:00:00Z');
    expect((await planned(rows, { routes, at: at - 1 })).total.lost).toBe(0);
    expect((await planned(rows, { routes, at })).total.lost).toBe(1);
  });

  it('serves clients with a waiver until it ends', async () => {
    const waivers = [{ client: 'acme', until: '2026-12-24', reason: 'contract 4711' }];
    const routes = { '/v1': { upstream, retired: true, waivers }, '/v2': upstream };
    const rows = [row('v1', 'x-client-id:acme', now - hour), row('v1', 'x-client-id:other', now - hour)];
    const before = await planned(rows, { routes });
    expect(before.versions[0]).toMatchObject({ answer: 'retired', answers: { waived: 1, retired: 1 }, lost: 1 });
    expect(before.clients.map(({ client, lost }) => [client, lost])).toEqual([
      ['x-client-id:other', 1],
      ['x-client-id:acme', 0],
    ]);
    expect(before.notes.map(({ text }) => text)).toContain(
      '/v1 stays served for 1 waived client: acme until 2026-12-24.',
    );
    const after = await planned(rows, { routes, at: Date.parse('2026-12-24') });
    expect(after.total).toMatchObject({ answers: { waived: 0, retired: 2 }, lost: 2 });
  });

  it('counts the clients that a brownout at the planned instant refuses', async () => {
    const brownouts = [{ at: '2026-11-25T14:00Z', for: '1h', routes: ['GET /drinks'] }];
    const routes = { '/v1': { upstream, deprecation: '2026-01-01', brownouts }, '/v2': upstream };
    const rows = [
      row('v1', 'x-client-id:a', now - hour, { requests: 3 }),
      row('v1', 'x-client-id:monitor', now - hour, { requests: 2 }),
      row('v2', 'x-client-id:a', now - hour),
    ];
    const retire = { ignore_clients: ['monitor'] };
    expect((await planned(rows, { routes, retire })).total).toMatchObject({ lost: 0, answers: { brownout: 0 } });
    const at = Date.parse('2026-11-25T14:30:00Z');
    const plan = await planned(rows, { routes, retire, at });
    expect(plan.total).toMatchObject({ lost: 3, answers: { served: 1, brownout: 3 } });
    expect(plan.ignored).toMatchObject([{ client: 'x-client-id:monitor', lost: 0 }]);
    expect(plan.notes).toContainEqual({
      code: 'brownout',
      text: '/v1 has a brownout until 2026-11-25T15:00:00Z, if its conditions are met. It refuses only GET /drinks, but all requests of its clients are counted.',
    });
  });

  it('refuses the new clients of a freeze, unless it only reports or is inactive', async () => {
    const from = '2026-11-20';
    const at = Date.parse(from);
    const freezing = (freeze: object) => ({
      '/v1': { upstream, freeze: { from, mode: 'refuse', ...freeze } },
      '/v2': upstream,
    });
    const rows = [
      row('v1', 'x-client-id:old', at - 1),
      row('v1', 'x-client-id:old', now - hour),
      row('v1', 'x-client-id:new', now - hour, { requests: 2 }),
      row('v1', 'x-client-id:partner', now - hour),
      row('v1', 'user-agent:curl', now - hour),
    ];
    const plan = await planned(rows, { routes: freezing({ allow: ['partner'] }) });
    expect(plan.clients.filter(({ lost }) => lost > 0)).toMatchObject([{ client: 'x-client-id:new', lost: 2 }]);
    expect(plan.total).toMatchObject({ answers: { served: 4, frozen: 2 }, lost: 2 });
    expect((await planned(rows, { routes: freezing({ mode: 'report' }) })).total.lost).toBe(0);
    expect((await planned(rows, { routes: freezing({ from: '2026-11-22' }) })).total.lost).toBe(0);
    const inactive = await planned(rows, { routes: freezing({}), covered: at - day });
    expect(inactive.total.lost).toBe(0);
    expect(inactive.notes).toContainEqual({
      code: 'freeze_inactive',
      text: expect.stringMatching(
        /^the freeze of \/v1 is inactive and refuses nobody: The usage ledger does not cover/,
      ),
    });
  });

  it('counts the requests to routes that an adapter does not serve, and those of which that is not known', async () => {
    const rows = [
      row('v1', 'x-client-id:a', now - hour, { requests: 10, route: 'GET /drinks/{id}' }),
      row('v1', 'x-client-id:a', now - hour, { requests: 3, route: 'GET /legacy-search' }),
      row('v1', 'x-client-id:a', now - hour, { requests: 1, route: 'POST /cocktails' }),
      row('v1', 'x-client-id:e', now - hour, { requests: 2, route: 'GET /drinks/' }),
      row('v1', 'x-client-id:b', now - 2 * day, { requests: 2, route: 'HEAD /drinks/{id}' }),
      row('v1', 'x-client-id:b', now - hour, { requests: 4, route: 'GET /drinks/{}' }),
      row('v1', 'x-client-id:b', now - hour, { requests: 1, route: 'GET /drinks/{}/' }),
      row('v1', 'x-client-id:c', now - hour, { requests: 4, route: 'other' }),
      row('v1', 'x-client-id:d', now - hour, { requests: 0, served: 0, route: 'GET /legacy-search' }),
      row('v2', 'x-client-id:c', now - hour),
    ];
    const edit = { '/v1': adaptedV1({ 'GET /legacy-search': { gone: 'v2 has no search' } }), '/v2': contractOf('v2') };
    const plan = await planned(rows, { routes: edit });
    expect(plan.clients.map(({ client, requests, lost, answers }) => [client, requests, lost, answers.served])).toEqual(
      [
        ['x-client-id:a', 14, 4, 10],
        ['x-client-id:e', 2, 2, 0],
        ['x-client-id:d', 1, 1, 0],
        ['x-client-id:b', 7, 0, 7],
        ['x-client-id:c', 5, 0, 5],
      ],
    );
    expect(plan.clients[0]).toMatchObject({
      loses: ['v1'],
      answers: { not_adapted: 4 },
      top_routes: [{ route: 'GET /legacy-search', requests: 3 }, { route: 'POST /cocktails' }],
    });
    expect(plan.versions[0]).toMatchObject({ answer: 'served', clients: 5, requests: 28, lost: 7 });
    expect([plan.may_lose, plan.total.served, plan.summary]).toEqual([
      4,
      29,
      '3 clients would lose 7 of the 29 requests that backends answered in the last 7 days: x-client-id:a (4), x-client-id:e (2), x-client-id:d (1). Up to 4 more may be lost.',
    ]);
    expect(plan.notes.map(({ text }) => text)).toEqual([
      'The adapter of /v1 does not serve these routes: GET /legacy-search, GET /drinks/, POST /cocktails.',
      'The adapter of /v1 may serve only some of the 4 requests that the ledger counts as other.',
    ]);
    const unclear = await planned(rows.slice(7, 8), { routes: edit });
    expect([hasLoss(unclear), unclear.total.lost, unclear.summary]).toEqual([
      true,
      0,
      'It is not known whether clients would lose requests: up to 4 of the 4 requests that backends answered in the last 7 days.',
    ]);
  });

  it('does not count requests as lost that the adapter of the running configuration refuses already', async () => {
    const rows = [
      row('v1', 'x-client-id:a', now - hour, { requests: 3, route: 'GET /legacy-search' }),
      row('v1', 'x-client-id:a', now - hour, { requests: 2, route: 'GET /drinks/{id}' }),
      row('v1', 'x-client-id:a', now - hour, { requests: 4, route: 'other' }),
    ];
    const gone = { gone: 'v2 has no search' };
    const routesWith = (more: object) => ({ '/v1': adaptedV1(more), '/v2': contractOf('v2') });
    const before = routesWith({ 'GET /legacy-search': gone });
    const same = await planned(rows, { routes: before, before });
    expect([hasLoss(same), same.total]).toEqual([
      false,
      expect.objectContaining({
        requests: 9,
        lost: 0,
        answers: expect.objectContaining({ served: 6, not_adapted: 3 }),
      }),
    ]);
    expect(same.summary).toMatch(/ 9 requests, and the gateway would refuse no more of them than it does now\.$/);
    const fewer = routesWith({ 'GET /legacy-search': gone, 'GET /drinks/{id}': gone });
    expect(await planned(rows, { routes: fewer, before })).toMatchObject({ total: { lost: 2 }, may_lose: 4 });
  });

  it('counts a stream from before the period, although all requests in it went to a route that the adapter refuses', async () => {
    const gone = { requests: 2, served: 0, errors: 2, failing: 2, used: 0, accepted: 0, route: 'GET /legacy-search' };
    const before = {
      '/v1': adaptedV1({ 'GET /legacy-search': { gone: 'v2 has no search' } }),
      '/v2': contractOf('v2'),
    };
    const lost = async (more: readonly UsageRow[]) =>
      (await planned([row('v1', 'x-client-id:a', now - hour, gone), ...more], { routes: retired, before })).total.lost;
    expect(await lost([])).toBe(0);
    const stream = { requests: 0, served: 0, route: 'GET /drinks/{id}' };
    expect(await lost([row('v1', 'x-client-id:a', now - hour, stream)])).toBe(1);
  });

  it('answers a removed version with 404', async () => {
    const plan = await planned([row('v1', 'a', now - hour)], { routes: { '/v2': upstream } });
    expect(plan.versions[0]).toMatchObject({ version: 'v1', stage: 'removed', answer: 'unknown_version', lost: 1 });
  });
});

it.each([
  ['a request is open', { inFlight: 1 }, 'in_flight'],
  ['a worker does not answer', { unresponsiveSince: now - 4_000 }, 'worker_unresponsive'],
])('does not know what clients would lose while %s', async (_name, known, code) => {
  const facts = { live: new Map([['v1', { ...noLiveFacts, ...known }]]) };
  const { queries } = ledgerWith([row('v2', 'moved', now)], now - 100 * day);
  const query = { candidate: snapshotFrom({ routes: retired }), running, since: now - 7 * day, now, at: now };
  expect((await planEdit(queries, query))?.known).toBe(true);
  const plan = await planEdit(queries, { ...query, ...facts });
  expect(plan).toMatchObject({ known: false, total: { lost: 0 }, notes: [{ code }] });
  // A version that stays served does not matter.
  const unchanged = await planEdit(queries, { ...query, ...facts, candidate: running });
  expect(unchanged).toMatchObject({ known: true, notes: [] });
});

it('names clients by usage.names', async () => {
  const names = join(temporaryFolder(), 'names.yaml');
  writeFileSync(names, 'user-agent:curl: The shop\n');
  const { ledger } = ledgerWith([row('v1', 'user-agent:curl', now - hour)], now - 100 * day);
  const reader = readersOn[0]?.[1]()(ledger);
  reader?.readClientNames(names);
  const candidate = snapshotFrom({ routes: retired });
  const plan = reader && (await planEdit(reader, { candidate, running, since: now - day, now, at: now }));
  expect(plan?.clients).toMatchObject([{ client: 'user-agent:curl', name: 'The shop' }]);
  expect(plan?.summary).toMatch(/: The shop \(1\)\.$/);
});

it('returns no plan if a query has failed', async () => {
  const query = { candidate: running, running, since: now - day, now, at: now };
  expect(await planEdit({ ...noUsage, problem: 'the disk reports an error' }, query)).toBeUndefined();
  expect((await planEdit(noUsage, query))?.summary).toMatch(/^The usage ledger is empty, so it is not known/);
});

it('retires one version of a configuration and leaves the others', () => {
  const candidate = withRetired(running, 'v1');
  expect(candidate && versionOf(candidate, 'v1')).toMatchObject({ retired: true, targets: [{ url: upstream }] });
  expect(candidate && versionOf(candidate, 'v2')).toBe(versionOf(running, 'v2'));
  expect(versionOf(running, 'v1').retired).toBe(false);
  expect(withRetired(running, 'v9')).toBeUndefined();
});
