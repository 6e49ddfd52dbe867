import { describe, expect, it } from 'vitest';
import { apiOf } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { answerTo } from '../../../gateway/operate/admin/reading/answers.ts';
import { Reloader, versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { nothingTried, type TrialQuery, tryNewTargets } from '../../../gateway/proxy/trial/trial.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { planEdit } from '../../../gateway/versions/plan/planEdit.ts';
import { CallsQuestion, type LiveSources } from '../../../gateway/versions/retirement/liveFacts.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { hostOf } from '../../support/hostOf.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const upstream = 'http://127.0.0.1:3001';
const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' };
const served = { '/v1': ended, '/v2': upstream };
const retired = { '/v1': { ...ended, retired: true }, '/v2': upstream };

type Settings = Readonly<Record<string, unknown>>;
const api = (quiet: string, guard: Settings = {}, routes: object = served, retire: Settings = {}) =>
  snapshotFrom({ routes: routes as Settings, guard: { quiet, trial: 'off', ...guard }, retire });
/** Snapshots made in tests may have equal fingerprints. */
const edited = (snapshot: Snapshot): Snapshot => ({ ...snapshot, fingerprint: 'edited' });

function gatewayWith(running: Snapshot, rows: readonly UsageRow[], covered = now - 100 * day) {
  const { queries } = ledgerWith([...rows, row('v2', 'x-client-id:z', now)], covered);
  const sources: LiveSources = {
    flush: async () => true,
    report: async () => ({ versions: [], workers: [] }),
    ledger: queries,
    fleet: undefined,
  };
  const reload = async (next: Snapshot) => {
    const reloader = new Reloader({
      source: { current: running },
      load: () => edited(next),
      loadPreview: () => edited(next),
      apply: async () => [],
      readUsage: (effects) => versionUsage(running, sources, directLedgerClient(queries), now, effects),
      tryNewTargets: () => nothingTried,
      clock: { now: () => now },
    });
    return reloader.preview();
  };
  return { queries, sources, reload };
}

const refusalsIn = (outcome: {
  readonly kind: string;
}): readonly { readonly message: string; readonly force: string }[] =>
  'refusals' in outcome ? (outcome.refusals as { message: string; force: string }[]) : [];

describe.each([
  // The guard of the root and of /orders; the age of the last call in days; whether the edit of each is refused.
  ['1d', '30d', 5, false, true],
  ['30d', '1d', 5, true, false],
  ['off', '30d', 5, false, true],
  ['30d', 'off', 5, true, false],
  ['off', '30d', 40, false, false],
])(
  'each API is judged by its own guard: %s at the root, %s below /orders',
  (root, orders, age, isRootRefused, areOrdersRefused) => {
    const running = hostOf(api(root), { '/orders': api(orders) });
    const calls = [row('v1', 'x-client-id:a', now - age * day), row('orders/v1', 'x-client-id:a', now - age * day)];

    it.each([
      ['v1', hostOf(api(root, {}, retired), { '/orders': api(orders) }), isRootRefused],
      ['orders/v1', hostOf(api(root), { '/orders': api(orders, {}, retired) }), areOrdersRefused],
    ])('an edit that retires %s', async (version, next, isRefused) => {
      const { reload, sources, queries } = gatewayWith(running, calls);
      const refusals = refusalsIn(await reload(next));
      expect(refusals.map(({ message }) => message.split(' ')[0])).toEqual(isRefused ? [`/${version}`] : []);
      const usage = await versionUsage(running, sources, directLedgerClient(queries), now, {
        endedVersions: [version],
      });
      expect(usage.calls(version)?.called).toBe(isRefused ? 'yes' : 'no');
    });

    it.each(['v1', 'orders/v1'])('a ledger that is too short for the guard of %s', async (version) => {
      const quiet = apiOf(version, running).guard.quiet;
      // The ledger covers 10 days, and the plan asks for one.
      const { queries, sources, reload } = gatewayWith(running, [], now - 10 * day);
      const candidate =
        version === 'v1'
          ? hostOf(api(root, {}, retired), { '/orders': api(orders) })
          : hostOf(api(root), { '/orders': api(orders, {}, retired) });
      const isKnown = quiet <= 10 * day;
      expect(refusalsIn(await reload(candidate))).toHaveLength(isKnown ? 0 : 1);
      const times = { since: now - day, now, at: now };
      const ofStore = await planEdit(queries, { candidate, running, ...times });
      const state = await new CallsQuestion(sources).answer(running.versions.keys(), day);
      const answer = await answerTo('plan', queries, running, { candidate: { retired: version }, ...times, state });
      const plan = 'body' in answer ? JSON.parse(new TextDecoder().decode(answer.body)) : answer;
      expect([plan.known, ofStore?.known]).toEqual([isKnown, isKnown]);
    });
  },
);

describe('an edit that removes an API', () => {
  const calls = [row('orders/v1', 'x-client-id:a', now - 5 * day)];

  it.each(['off', '1d'])('is refused while a version is in use, if the guard of the root is %s', async (root) => {
    const { reload } = gatewayWith(hostOf(api(root), { '/orders': api('30d', {}, retired) }), calls);
    for (const next of [api(root), hostOf(api(root), { '/shop/orders': api('off') })]) {
      const messages = refusalsIn(await reload(next)).map(({ message }) => message);
      expect(messages).toContainEqual(
        expect.stringMatching(/^\/orders\/v1 is removed, and was last called 5 days ago/),
      );
    }
  });

  it('is not judged by the ignored clients of the root', async () => {
    const running = hostOf(api('1d', {}, served, { ignore_clients: ['a'] }), { '/orders': api('1d') });
    const { queries } = gatewayWith(running, calls);
    for (const known of [running, undefined]) {
      const candidate = api('1d', {}, served, { ignore_clients: ['a'] });
      const plan = await planEdit(queries, { candidate, running: known, since: now - 7 * day, now, at: now });
      expect(plan?.clients.map(({ client }) => client)).toContain('x-client-id:a');
    }
  });

  it('is applied with a reason for each version in the file of the gateway, once', async () => {
    const force = (reason: string) => ({ ...api('30d'), apis: withForce(reason).apis });
    const withForce = (reason: string) => {
      const { apis } = api('30d');
      const root = [...apis.values()][0];
      if (root === undefined) throw new Error('no root');
      const reasons = new Map([
        ['orders/v1', reason],
        ['orders/v2', reason],
      ]);
      return { apis: new Map([['', { ...root, guard: { ...root.guard, force: reasons } }]]) };
    };
    const { reload } = gatewayWith(hostOf(api('30d'), { '/orders': api('30d') }), calls);
    expect(await reload(force('moved'))).toMatchObject({
      kind: 'reloaded',
      forced: ['/orders/v1: moved', '/orders/v2: moved'],
    });
    const again = gatewayWith(hostOf(force('moved'), { '/orders': api('30d') }), calls);
    expect(await again.reload(force('moved'))).toMatchObject({ kind: 'refused' });
  });
});

it('tries the new targets of each API by its own guard.trial', async () => {
  const moved = { ...served, '/v2': 'http://127.0.0.1:9' };
  const trial = { trial: '1s' };
  const before = hostOf(api('off'), { '/orders': api('off') });
  const query = (after: Snapshot): TrialQuery => ({ before, after, now, isForced: () => false });
  const context = { listeners: [], recentPaths: async () => new Map(), notice: () => {} };
  const tried = async (after: Snapshot) =>
    (await tryNewTargets(query(after), context)).refusals.map(({ version }) => version);
  expect(await tried(hostOf(api('off', {}, moved), { '/orders': api('off', trial, moved) }))).toEqual(['orders/v2']);
  expect(await tried(hostOf(api('off', trial, moved), { '/orders': api('off', {}, moved) }))).toEqual(['v2']);
});
