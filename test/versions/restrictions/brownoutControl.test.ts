import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { shareBrownouts } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import type { BrownoutRecord } from '../../../gateway/usage/usageRow.ts';
import { brownoutKey } from '../../../gateway/versions/lifecycle/brownouts.ts';
import type { BrownoutEstimate } from '../../../gateway/versions/restrictions/brownoutConditions.ts';
import {
  BrownoutControl,
  type BrownoutControlOptions,
} from '../../../gateway/versions/restrictions/brownoutControl.ts';
import { openLedger } from '../../usage/ledger/ledgerFixture.ts';

const upstream = 'http://127.0.0.1:3001';
const at = Date.parse('2027-03-02T14:00Z');
const key = brownoutKey('v1', { at });
const approved: BrownoutRecord = { version: 'v1', at, state: 'approved', reason: null, changed: at };
const never = new Promise<never>(() => {});

/** Runs during a brownout that another gateway has approved. No process ever confirms what it may refuse. */
function control(
  shareOver?: (storeAndRead: BrownoutControlOptions['storeAndRead']) => BrownoutControlOptions['storeAndRead'],
) {
  const { ledger } = openLedger();
  ledger.saveBrownouts([approved]);
  const brownouts = [{ at: '2027-03-02T14:00Z', for: '1h' }];
  const current = snapshotFrom({
    routes: { '/v1': { upstream, deprecation: '2027-01-01', brownouts }, '/v2': upstream },
  });
  const storeAndRead: BrownoutControlOptions['storeAndRead'] = async (records) => shareBrownouts(ledger, records);
  const time = { now: at + 1000 };
  const told: string[][] = [];
  const cancellations: string[][] = [];
  const running = new BrownoutControl({
    source: { current },
    clock: { now: () => time.now },
    notice: () => {},
    report: () => never,
    estimate: () => never,
    storeAndRead: shareOver?.(storeAndRead) ?? storeAndRead,
    restrict: ({ brownouts: keys, cancelled }) => {
      told.push([...keys]);
      cancellations.push([...cancelled.keys()]);
      return never;
    },
  });
  onTestFinished(() => running.close());
  return { running, ledger, told, cancellations, time };
}

it('tells the processes that another gateway has stopped the brownout, before a slow process has confirmed the approval', async () => {
  const { ledger, told, cancellations } = control();
  await expect.poll(() => told).toEqual([[key]]);
  ledger.saveBrownouts([{ ...approved, state: 'stopped', reason: 'stopped by an operator' }]);
  await expect.poll(() => told).toEqual([[key], []]);
  expect(cancellations).toEqual([[], [key]]);
});

it('stores a stop before a slow process has confirmed it', async () => {
  const { running, ledger, told } = control();
  await expect.poll(() => told).toEqual([[key]]);
  void running.stop('v1');
  await expect.poll(() => ledger.brownouts?.map(({ state }) => state)).toEqual(['stopped']);
  expect(told).toEqual([[key], []]);
});

it('does not stop a brownout that has ended before an edit made it longer', async () => {
  const { running, ledger } = control();
  ledger.saveBrownouts([{ ...approved, state: 'ended' }]);
  await expect.poll(() => running.status()[0]?.state).toBe('ended');
  expect(await running.stop('v1')).toEqual({ kind: 'nothing', reason: 'The brownout of /v1 was ended before.' });
});

it('tells the processes that a brownout has ended early before it stores the end', async () => {
  let isDown = false;
  const { told, time } = control((storeAndRead) => async (records) => {
    if (!isDown) return storeAndRead(records);
    return records.length === 0 ? undefined : never;
  });
  await expect.poll(() => told).toEqual([[key]]);
  isDown = true;
  // A brownout ends after five seconds without an answer of the store. The first check only notices the first missing answer.
  await expect
    .poll(
      () => {
        time.now += 1000;
        return told;
      },
      { timeout: 10_000 },
    )
    .toEqual([[key], []]);
});

/** Before a brownout whose requests of the last week may be missing. `missing`: why, at each estimate; the last one is repeated. */
function planned(missing: readonly BrownoutEstimate['missing'][]) {
  const { ledger } = openLedger();
  const brownouts = [{ at: '2027-03-02T14:00Z', for: '1h' }];
  const current = snapshotFrom({
    routes: { '/v1': { upstream, deprecation: '2027-01-01', brownouts }, '/v2': upstream },
  });
  const time = { now: at - 20_000 };
  const target = {
    url: upstream,
    inFlight: 0,
    connections: 0,
    reachable: true,
    health: 'healthy',
    ejectedUntil: undefined,
  } as const;
  const v2 = { name: 'v2', inFlight: 0, waiting: 0, lastInFlight: undefined, targets: [target] };
  let estimates = 0;
  const running = new BrownoutControl({
    source: { current },
    clock: { now: () => time.now },
    notice: () => {},
    report: async () => ({ versions: [v2], workers: [] }),
    estimate: async () => {
      estimates += 1;
      const counts = { requests: 0, unnamed: 0, refused: 0, allRequests: 0 };
      return { ...counts, missing: missing[Math.min(estimates, missing.length) - 1] ?? [] };
    },
    storeAndRead: async (records) => shareBrownouts(ledger, records),
    restrict: async () => {},
  });
  onTestFinished(() => running.close());
  return { running, time, estimates: () => estimates };
}

const silent = { code: 'gateway_silent', text: 'Gateway gw-3 has not been heard for 40 s.' };

it('starts a brownout once all requests of the last week are known', async () => {
  const { running } = planned([[silent], [silent], []]);
  await expect.poll(() => running.status()[0]?.state).toBe('approved');
});

it('skips a brownout at its start if requests of the last week may still be missing', async () => {
  const { running, time, estimates } = planned([[silent]]);
  await expect.poll(estimates).toBeGreaterThan(1);
  expect(running.status()[0]?.state).toBe('planned');
  time.now = at;
  await expect
    .poll(() => running.status()[0])
    .toMatchObject({
      state: 'skipped',
      reason: 'requests of the last week may be missing: Gateway gw-3 has not been heard for 40 s',
    });
});

it('skips a brownout at once if its requests cannot be known before its start', async () => {
  const { running } = planned([[silent, { code: 'ledger_short', text: 'It begins late.', until: at + 1 }]]);
  await expect.poll(() => running.status()[0]?.state).toBe('skipped');
});
