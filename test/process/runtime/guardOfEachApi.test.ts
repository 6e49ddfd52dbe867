import { describe, expect, it } from 'vitest';
import { rootApi } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { answerTo } from '../../../gateway/operate/admin/reading/answers.ts';
import { parseUsageQuery } from '../../../gateway/operate/admin/usageQueryParams.ts';
import { Reloader, versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { nothingTried } from '../../../gateway/proxy/trial/trial.ts';
import { noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { forceLine, isForced } from '../../../gateway/versions/lifecycle/reloadGuard.ts';
import { withRetired } from '../../../gateway/versions/plan/plan.ts';
import { planEdit } from '../../../gateway/versions/plan/planEdit.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { hostOf } from '../../support/hostOf.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const upstream = 'http://127.0.0.1:1';
const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' };
const tombstone = { retired: true, deprecation: '2026-01-01', sunset: '2026-02-01' };
const bothVersions = ['v1', 'orders/v1'];

function api(guard: object, v1: object = ended, more: object = {}): Snapshot {
  return snapshotFrom({ routes: { '/v1': v1, '/v2': upstream }, guard, ...more });
}

/** Both APIs were called three days ago. The ledger begins ten days ago. */
function calledInBoth() {
  return ledgerWith(
    bothVersions.map((version) => row(version, 'x-client-id:a', now - 3 * day)),
    now - 10 * day,
  ).queries;
}

function reload(queries: UsageQueries, running: Snapshot, edit: Snapshot, announced?: Snapshot) {
  const ledger = directLedgerClient(queries);
  const sources = {
    flush: async () => true,
    report: async () => ({ versions: [], workers: [] }),
    ledger: queries,
    fleet: undefined,
  };
  const reloader = new Reloader({
    source: { current: running },
    announcedConfig: () => announced ?? running,
    load: () => ({ ...edit, fingerprint: 'edited' }),
    loadPreview: () => edit,
    apply: async () => [],
    readUsage: (effects) => versionUsage(running, sources, ledger, now, effects),
    tryNewTargets: () => nothingTried,
    clock: { now: () => now },
  });
  return reloader.reload('admin');
}

async function refused(...asked: Parameters<typeof reload>) {
  const outcome = await reload(...asked);
  return outcome.kind === 'refused' ? outcome.refusals.map(({ version }) => version) : outcome.kind;
}

function retired(host: Snapshot, versions: readonly string[]): Snapshot {
  return versions.reduce((edit, version) => withRetired(edit, version) ?? edit, host);
}

/** The host with the same reason for a version in the `guard.force` of an API. */
function forced(host: Snapshot, base: string, version: string, reason: string): Snapshot {
  const one = host.apis.get(base) ?? rootApi(host);
  const guard = { ...one.guard, force: new Map([...one.guard.force, [version, reason] as const]) };
  return { ...host, apis: new Map([...host.apis, [base, { ...one, guard }]]) };
}

describe.each([
  ['1d', '30d', ['orders/v1']],
  ['30d', '1d', ['v1']],
  ['off', '30d', ['orders/v1']],
  ['30d', 'off', ['v1']],
  ['30d', '30d', bothVersions],
  ['1d', 'off', []],
])('each API is judged by its own guard: %s at the root, %s below /orders', (ofRoot, ofOrders, expected) => {
  const host = hostOf(api({ quiet: ofRoot }), { '/orders': api({ quiet: ofOrders }) });
  const ms = (text: string) => (text === 'off' ? 0 : Number.parseInt(text, 10) * day);
  const quiet = new Map([
    ['v1', ms(ofRoot)],
    ['orders/v1', ms(ofOrders)],
  ]);

  it('by the reload guard', async () => {
    const outcome = await refused(calledInBoth(), host, retired(host, bothVersions));
    expect(outcome).toEqual(expected.length === 0 ? 'reloaded' : expected);
  });

  it('by the use that it reads', async () => {
    const live = new Map(bothVersions.map((version) => [version, noLiveFacts]));
    const asked = { now, quiet, live, newFreezes: [], newAdapters: [] };
    const { versions } = await answerTo('recentUse', calledInBoth(), host, asked);
    expect([...versions].map(([name, { calls }]) => [name, calls.since])).toEqual(
      bothVersions.map((version) => [version, now - (quiet.get(version) ?? 0)]),
    );
    const inUse = [...versions].filter(([, { calls }]) => calls.called === 'yes').map(([name]) => name);
    expect(inUse).toEqual(expected);
  });

  it('by a plan', async () => {
    const unknown: string[] = [];
    for (const version of bothVersions) {
      const times = { since: now - 2 * day, now, at: now };
      const plan = await planEdit(calledInBoth(), { candidate: retired(host, [version]), running: host, ...times });
      if (plan?.known === false) unknown.push(version);
    }
    expect(unknown).toEqual(expected);
  });

  it('by the times of the last use', async () => {
    const times = await answerTo('lastUse', calledInBoth(), host, { now, live: new Map() });
    const inUse = bothVersions.filter((version) => times?.get(version)?.inUse === 'yes');
    expect(inUse).toEqual(expected);
  });

  it('by what a lower limit refuses', async () => {
    const rows = bothVersions.map((version) =>
      row(version, 'x-client-id:a', now - 20 * day, { body: 48 * 1024, target: 9, head: 9 }),
    );
    const lower = { defaults: { limits: { body: '1KiB' } } };
    const edit = hostOf(api({ quiet: ofRoot }, ended, lower), { '/orders': api({ quiet: ofOrders }, ended, lower) });
    const outcome = await reload(ledgerWith(rows, now - 100 * day).queries, host, edit);
    const known = outcome.kind === 'refused' ? outcome.refusals.filter((one) => one.known) : [];
    expect(known.map(({ version }) => version)).toEqual(expected);
    for (const { message } of known) expect(message).toContain('the largest body of the last 30 days was');
  });
});

describe('an edit that removes a whole API', () => {
  const looseRoot = api({ quiet: 'off' });
  const host = hostOf(looseRoot, { '/orders': api({ quiet: '30d' }, tombstone) });
  const noVersions = (base: string, guard: object): Snapshot =>
    hostOf(looseRoot, { [base]: { ...api(guard), sortedVersions: [], versions: new Map() } });

  it('is refused while a version of it is in use, also if the guard of the root is off', async () => {
    expect(await refused(calledInBoth(), host, looseRoot)).toContain('orders/v1');
  });

  it('is not known to lose nothing as long as the ledger does not cover the period of the API', async () => {
    const times = { since: now - 2 * day, now, at: now };
    const plan = (running: Snapshot) => planEdit(calledInBoth(), { candidate: looseRoot, running, ...times });
    expect(await plan(host)).toMatchObject({ total: { lost: 0 }, known: false });
    const loose = hostOf(looseRoot, { '/orders': api({ quiet: '1d' }) });
    expect(await plan(loose)).toMatchObject({ total: { lost: 0 }, known: true });
  });

  it('is judged like an edit that removes its versions only', async () => {
    expect(await refused(calledInBoth(), host, noVersions('/orders', { quiet: '30d' }))).toContain('orders/v1');
    // As in a file with one API: an edit may turn off the guard that would refuse it.
    const { refusals } = {
      refusals: [],
      ...(await reload(calledInBoth(), host, noVersions('/orders', { quiet: 'off' }))),
    };
    expect(refusals.filter(({ message }: { message: string }) => message.includes('last called'))).toEqual([]);
  });

  it('is judged by the strictest settings if only the announced configuration has it', async () => {
    const running = noVersions('/pay', { quiet: '30d' });
    expect(await refused(calledInBoth(), running, running, host)).toContain('orders/v1');
  });

  it('does not ignore the clients that only the root ignores', async () => {
    const ignoring = api({ quiet: 'off' }, ended, { retire: { ignore_clients: ['a'] } });
    const running = hostOf(ignoring, { '/orders': api({ quiet: '30d' }, tombstone) });
    expect(await refused(calledInBoth(), running, ignoring)).toContain('orders/v1');
    const plan = await planEdit(ledgerWith([row('orders/v2', 'x-client-id:a', now - day)], now - 100 * day).queries, {
      candidate: ignoring,
      running,
      since: now - 7 * day,
      now,
      at: now,
    });
    expect(plan?.total.lost).toBe(1);
  });

  it('does not ignore the clients of the root if nobody knows the API', async () => {
    const root = api({ quiet: '30d' }, ended, { retire: { ignore_clients: ['a'] } });
    const live = new Map(bothVersions.map((version) => [version, noLiveFacts]));
    const quiet = new Map(bothVersions.map((version) => [version, 5 * day]));
    const asked = { now, quiet, live, newFreezes: [], newAdapters: [] };
    const { versions } = await answerTo('recentUse', calledInBoth(), root, asked);
    expect(bothVersions.map((version) => versions.get(version)?.calls.called)).toEqual(['no', 'yes']);
  });

  it('is applied with a reason in the file of the gateway, once', async () => {
    const reasons = ['orders/v1', 'orders/v2'].reduce((edit, name) => forced(edit, '', name, 'it is gone'), looseRoot);
    expect(await reload(calledInBoth(), host, reasons)).toMatchObject({
      kind: 'reloaded',
      forced: ['/orders/v1: it is gone', '/orders/v2: it is gone'],
    });
    const again = forced(forced(host, '', 'orders/v1', 'it is gone'), '', 'orders/v2', 'it is gone');
    expect(await refused(calledInBoth(), again, reasons)).toContain('orders/v1');
    expect(forceLine(['orders/v1'])).toContain('/orders/v1: ');
  });
});

describe('a reason in guard.force', () => {
  const host = hostOf(api({}), { '/orders': api({}), '/pay': api({}) });

  it.each([
    ['of the root', '', true],
    ['of the API of the version', '/orders', true],
    ['of another API', '/pay', false],
  ])('%s', (_whose, base, isRight) => {
    expect(isForced('orders/v1', host, forced(host, base, 'orders/v1', 'a reason'))).toBe(isRight);
  });

  it('is used once for each version, wherever it is written', () => {
    const before = forced(host, '/orders', 'orders/v1', 'a reason');
    expect(isForced('orders/v1', before, forced(host, '', 'orders/v1', 'a reason'))).toBe(false);
    // Another API has used the same text.
    expect(isForced('pay/v1', before, forced(before, '/pay', 'pay/v1', 'a reason'))).toBe(true);
  });

  it('is reported once', async () => {
    const everywhere = ['', '/orders', '/pay'].reduce((edit, base) => forced(edit, base, 'v9', 'a reason'), host);
    expect(await reload(calledInBoth(), host, everywhere)).toMatchObject({ forced: ['/v9: a reason'] });
  });
});

describe('a removed version', () => {
  const later = (key: string) => snapshotFrom({ routes: { [key]: upstream } });
  const host = hostOf(later('/v3'), { '/orders': later('/v2'), '/pay': later('/v1') });

  it.each([
    ['v1', 'v3'],
    ['orders/v1', 'orders/v2'],
  ])('%s has a successor of its own API', async (version, successor) => {
    const { queries } = ledgerWith([row(version, 'x-client-id:a', now - day)], now - 10 * day);
    const asked = { ...parseUsageQuery({ by: 'migration', version: 'v1' }, now), version, live: noLiveFacts };
    const found = (await answerTo('usage', queries, host, asked)) as { body: Uint8Array };
    expect(JSON.parse(new TextDecoder().decode(found.body))).toMatchObject({ rows: [{ successor }] });
  });

  it('has no successor in another API', async () => {
    const { queries } = ledgerWith([row('pay/v2', 'x-client-id:a', now - day)], now - 10 * day);
    const asked = { ...parseUsageQuery({ by: 'migration', version: 'v2' }, now), version: 'pay/v2', live: noLiveFacts };
    expect(await answerTo('usage', queries, host, asked)).toMatchObject({ problem: 'BAD_REQUEST' });
  });
});

it('a plan lists the versions API by API', async () => {
  const host = hostOf(api({}), { '/orders': api({}) });
  const plan = await planEdit(calledInBoth(), { candidate: host, running: host, since: now - day, now, at: now });
  expect(plan?.versions.map(({ version }) => version)).toEqual(['v1', 'v2', 'orders/v1', 'orders/v2']);
});
