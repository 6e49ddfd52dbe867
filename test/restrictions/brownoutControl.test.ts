import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { brownoutKey } from '../../gateway/lifecycle/brownouts.ts';
import { BrownoutControl, type BrownoutControlOptions } from '../../gateway/restrictions/brownoutControl.ts';
import { shareBrownouts } from '../../gateway/runtime/ledgerMaintenance.ts';
import type { BrownoutRecord } from '../../gateway/usage/usageRow.ts';
import { openLedger } from '../usage/ledger/ledgerFixture.ts';

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
  await expect.poll(() => told, { timeout: 10_000 }).toEqual([[key], []]);
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
  await expect.poll(() => running.status()[0]?.state, { timeout: 5_000 }).toBe('ended');
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
