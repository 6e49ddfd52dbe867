import { expect, it } from 'vitest';
import { acceptedRecord, configHash } from '../../../gateway/config/acceptedConfig.ts';
import { answerSettingsOf } from '../../../gateway/config/answerSettings.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { ConfigAgreement } from '../../../gateway/operate/fleet/configAgreement.ts';
import type { SharedConfig } from '../../../gateway/operate/fleet/sharedConfig.ts';
import { callEvidence, noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import type { EditEffects } from '../../../gateway/versions/lifecycle/reloadGuard.ts';
import { hostOf } from '../../support/hostOf.ts';

// The whole of a fleet with real gateways and a real store is in runningFleet.test.ts. Here: what one gateway says and does.

const now = Date.parse('2026-11-21T12:00:00Z');

function withSunset(sunset: string): Snapshot {
  const v1 = { upstream: 'http://127.0.0.1:3001', deprecation: '2026-01-01', sunset };
  return snapshotFrom({ routes: { '/v1': v1 }, guard: { notice: '30d' } });
}

const [announced, earlier] = [withSunset('2027-06-01'), withSunset('2026-12-01')];

/** What the store has after a gateway accepted this configuration. */
function sharedOf(snapshot: Snapshot): SharedConfig {
  const answers = JSON.stringify(answerSettingsOf(snapshot));
  return { config: snapshot, hash: configHash(snapshot), gateway: 'gw-1', answers };
}

/** A gateway with this configuration, in a fleet whose store the test sets. Null: the store does not answer. */
function joining(current: Snapshot, shared: SharedConfig | undefined | null) {
  const seen = { shared, notices: [] as string[], accepted: [] as Snapshot[], written: [] as unknown[] };
  const agreement = new ConfigAgreement({
    name: 'gw-2',
    notice: (line) => seen.notices.push(line),
    read: async () => seen.shared,
    write: async ({ record }) => {
      seen.written.push(record);
      return true;
    },
  });
  const gateway = {
    source: { current },
    readUsage: async () => ({ calls: () => undefined }),
    onAccepted: (snapshot: Snapshot) => void seen.accepted.push(snapshot),
    clock: { now: () => now },
  };
  return { seen, agreement, gateway };
}

it('a gateway whose configuration is refused becomes ready once the fleet accepts it, and says so once', async () => {
  const { seen, agreement, gateway } = joining(earlier, sharedOf(announced));
  await agreement.decide(gateway);
  expect(agreement.refusal?.join('\n')).toContain('/v1');
  expect(seen.notices[0]).toContain('This gateway does not become ready');
  const told = seen.notices.length;
  // It is asked again with each heartbeat, and the operator is told only once.
  await agreement.retry(gateway);
  expect([seen.notices.length, seen.accepted, seen.written]).toEqual([told, [], []]);
  // Another gateway has accepted the same configuration, by force.
  seen.shared = sharedOf(earlier);
  await agreement.retry(gateway);
  expect(agreement.refusal).toBeUndefined();
  expect(seen.notices.slice(told)).toEqual(['The fleet accepts routes.yaml now; this gateway is ready.']);
  expect(seen.accepted).toEqual([earlier]);
  await agreement.retry(gateway);
  expect(seen.notices).toHaveLength(told + 1);
});

it('a gateway that started without an answer of the store serves on, with a warning', async () => {
  const { seen, agreement, gateway } = joining(earlier, null);
  await agreement.decide(gateway);
  expect([agreement.refusal, agreement.problem]).toEqual([undefined, undefined]);
  seen.shared = sharedOf(announced);
  expect(await agreement.retry(gateway)).toBe(true);
  expect(agreement.refusal).toBeUndefined();
  expect(agreement.problem).toContain('/v1');
  expect(seen.notices[0]).toContain('It is served, because the store did not answer at the start');
  expect(seen.written).toEqual([]);
});

it('a configuration that breaks nothing is accepted, and written until the store has it', async () => {
  const { seen, agreement, gateway } = joining(announced, sharedOf(earlier));
  await agreement.decide(gateway);
  expect([agreement.refusal, agreement.problem, seen.notices]).toEqual([undefined, undefined, []]);
  expect(seen.written).toEqual([acceptedRecord(announced)]);
});

it('an API that only the fleet has is judged by the longest quiet period that this gateway knows', async () => {
  const api = (quiet: string, v1: object) => snapshotFrom({ routes: { '/v1': v1 }, guard: { quiet } });
  const active = { upstream: 'http://127.0.0.1:3001' };
  const tombstone = { retired: true, deprecation: '2026-01-01', sunset: '2026-02-01' };
  const [root, pay] = [api('off', active), api('30d', active)];
  const shared = sharedOf(hostOf(root, { '/orders': api('1d', tombstone), '/pay': pay }));
  const { agreement, gateway } = joining(hostOf(root, { '/pay': pay }), shared);
  const asked: EditEffects[] = [];
  const readUsage = async (edit: EditEffects) => {
    asked.push(edit);
    const noLedger = { coverage: undefined, problem: undefined, live: noLiveFacts };
    return { calls: (version: string) => callEvidence({ version, now, quiet: 1, ...noLedger }) };
  };
  await agreement.decide({ ...gateway, readUsage });
  expect(agreement.refusal?.join('\n')).toContain('/orders/v1 is removed, but calls in the last 30 days (guard.quiet)');
  expect(asked.map(({ quiet }) => ['v1', 'orders/v1', 'pay/v1'].map((version) => quiet?.(version)))).toEqual([
    [0, 30 * 86_400_000, 30 * 86_400_000],
  ]);
});
