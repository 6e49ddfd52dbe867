import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { usageSinkOf } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { Telemetry } from '../../../gateway/process/runtime/telemetry.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { coveredSince, readLedger } from '../../support/readLedger.ts';
import { successfulExchange } from '../../usage/observability/recorded.ts';

// The clock is set, and set back before the gateway compares it with the monotonic one.

const second = 1_000;
const hour = 3_600 * second;
const noon = Date.parse('2026-11-21T12:00:00Z');

interface WrongClock {
  /** By how much the clock is wrong, ms. */
  readonly by: number;
  /** When the call begins and ends, s after the clock was set. It is set back after one second. */
  readonly call: readonly [number, number];
}

/** What counts the calls of a gateway, by a clock that is `skew` ms off. */
function counting() {
  const time = { now: noon, skew: 0 };
  const clock = { now: () => time.now + time.skew, monotonic: () => time.now };
  const store = join(temporaryFolder(), 'usage.db');
  const ledger = Ledger.open({ store, retention: 400 * 24 * hour }, { clock });
  onTestFinished(() => ledger.close());
  const current = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' } });
  const identification = new ClientIdentification([], ledger.salt);
  const usage = usageSinkOf(ledger, { clock });
  const telemetry = new Telemetry({ current, identification }, { clock, notice: () => {}, usage, logs: false });
  onTestFinished(() => telemetry.close());
  return { time, clock, ledger, telemetry };
}

/** Since when the ledger covers all calls, after one call. */
async function coverageAfter({ by, call: [began, ended] }: WrongClock) {
  const { time, ledger, telemetry } = counting();
  const timeAt = (seconds: number): number => noon + hour + seconds * second + (seconds < 1 ? by : 0);
  const duration = (ended - began) * second;
  time.now = noon + hour;
  ledger.add([]);
  await telemetry.flush();
  telemetry.recorder.record({ ...successfulExchange, at: timeAt(began), endedAt: timeAt(ended), duration });
  time.now += 4 * second;
  await telemetry.flush();
  ledger.add([]);
  return coveredSince(readLedger(ledger));
}

it.each<[string, WrongClock]>([
  ['a call while the clock was an hour ahead', { by: hour, call: [0, 0.5] }],
  ['a call while the clock was an hour behind', { by: -hour, call: [0, 0.5] }],
  ['a call that began while the clock was an hour behind', { by: -hour, call: [0, 2] }],
  ['a call that began while the clock was six seconds behind', { by: -6 * second, call: [0, 2] }],
])('coverage restarts after %s', async (_name, wrong) => {
  expect(await coverageAfter(wrong)).toBe(noon + hour + 4 * second + 1);
});

it.each<[string, WrongClock]>([
  ['a call after the clock was right again', { by: -hour, call: [2, 3] }],
  ['a call while the clock was three seconds behind', { by: -3 * second, call: [0, 2] }],
  ['a long call', { by: 0, call: [-3_000, 3] }],
])('coverage continues after %s', async (_name, wrong) => {
  expect(await coverageAfter(wrong)).toBe(noon);
});

it('coverage restarts after a call while the clock was an hour behind, if calls were passed on at that time', async () => {
  const { time, clock, ledger, telemetry } = counting();
  time.now = noon + hour;
  ledger.add([]);
  await telemetry.flush();
  time.skew = -hour;
  await telemetry.flush();
  telemetry.recorder.record({ ...successfulExchange, at: clock.now(), endedAt: clock.now(), duration: 0 });
  time.skew = 0;
  time.now += 4 * second;
  await telemetry.flush();
  expect(await coveredSince(readLedger(ledger))).toBe(noon + hour + 4 * second + 1);
});
