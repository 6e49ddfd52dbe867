import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, randomBatch, randomOf, row, total } from '../model.ts';

/** A ledger whose clock can be set. */
function open({ store = join(temporaryFolder(), 'usage.db'), at = noon } = {}) {
  const clock = { time: at, steady: 0, now: () => clock.time, monotonic: () => clock.steady };
  const notices: string[] = [];
  const ledger = Ledger.open({ store, retention: 400 * dayMs }, { clock, onNotice: (line) => void notices.push(line) });
  onTestFinished(() => ledger.close());
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= hourMs / 2) {
      clock.time += Math.min(left, hourMs / 2);
      clock.steady += Math.min(left, hourMs / 2);
      ledger.add([]);
    }
  };
  const requests = async (): Promise<number> =>
    (await readLedger(ledger).totals(0)).reduce((sum, one) => sum + one.requests, 0);
  const copies = (): string[] => readdirSync(dirname(store)).filter((name) => name.startsWith(`${basename(store)}.`));
  return { ledger, store, clock, notices, pass, requests, copies };
}

it.each([
  ['forward by 30 days', 30 * dayMs, 'The clock was set forward by 30 days'],
  ['forward by 6 seconds', 6_000, 'The clock was set forward by 6 s'],
  ['back by 30 days', -30 * dayMs, 'The clock was set back by 30 days'],
])('coverage restarts when the clock is set %s', async (_name, by, expected) => {
  const { ledger, clock, notices, pass } = open();
  pass(2 * hourMs);
  clock.time += by + 5_000;
  clock.steady += 5_000;
  ledger.add([]);
  expect(await readLedger(ledger).coveredSince()).toBe(clock.time);
  expect(ledger.lastIncident).toEqual({ at: clock.time, text: expect.stringContaining(expected) });
  expect([ledger.problem, notices]).toEqual([undefined, [ledger.lastIncident?.text]]);
  pass(2 * hourMs);
  expect(await readLedger(ledger).coveredSince()).toBe(clock.time - 2 * hourMs);
  expect(notices).toHaveLength(1);
});

it('coverage restarts after a pause of the process, but not while the clock is slewed', async () => {
  const { ledger, clock, pass } = open();
  for (let turn = 0; turn < 2_000; turn += 1) {
    clock.time += 5_003;
    clock.steady += 5_000;
    ledger.add([]);
  }
  pass(3 * hourMs);
  expect([await readLedger(ledger).coveredSince(), ledger.lastIncident]).toEqual([noon, undefined]);
  clock.time += 3 * hourMs;
  clock.steady += 3 * hourMs;
  ledger.add([]);
  expect(await readLedger(ledger).coveredSince()).toBe(clock.time);
  expect(ledger.lastIncident?.text).toContain('The gateway was stopped for 3 h');
});

it.each([
  ['while it runs', 800 * dayMs, true],
  ['between two runs', 800 * dayMs, false],
  ['by some hours', 5 * hourMs, true],
])(
  'entries dated in the future are changed to the present once the clock is right: %s',
  async (_name, ahead, isSameRun) => {
    const wrong = open({ at: noon + ahead });
    const rows = randomBatch(randomOf(3), 400, 20 * dayMs).map((one) => {
      const { hour, first, last } = one;
      return { ...one, hour: hour + ahead, first: first + ahead, last: last + ahead };
    });
    const before = randomBatch(randomOf(4), 100, 3 * dayMs);
    wrong.ledger.add([...rows, ...before]);
    if (isSameRun) wrong.clock.time = noon;
    else wrong.ledger.close();
    const { ledger, requests, notices, copies } = isSameRun ? wrong : open({ store: wrong.store });
    ledger.add([]);
    const all = total([...rows, ...before], 'requests');
    expect([await requests(), await readLedger(ledger).coveredSince(), ledger.problem]).toEqual([all, noon, undefined]);
    expect(notices[0]).toMatch(isSameRun ? /The clock was set back by/ : /but the time is 2026-11-18T12:00:00.000Z/);
    expect(copies().filter((name) => name.includes('.future-'))).toHaveLength(ahead > dayMs ? 1 : 0);
    let byClient = 0;
    for (const { version, last } of await readLedger(ledger).totals(0)) {
      expect(last).toBeLessThanOrEqual(noon);
      for (const one of [
        ...(await readLedger(ledger).byClient(version, 0)),
        ...(await readLedger(ledger).byRoute(version, 0)),
      ]) {
        expect(one.last).toBeLessThanOrEqual(noon);
        if ('client' in one) byClient += one.requests;
      }
    }
    expect(byClient).toBe(all);
    for (const step of ['hour', 'day'] as const) {
      const points = await readLedger(ledger).series(step, 0);
      expect(points.reduce((sum, point) => sum + point.requests, 0)).toBe(all);
      for (const { at } of points) expect(at).toBeLessThanOrEqual(noon);
    }
    // A later request is added to them.
    ledger.add([row({ client: rows[0]?.client ?? '', version: rows[0]?.version ?? '' })]);
    expect(await requests()).toBe(all + 1);
  },
);

it('a clock that starts in 1970 changes no date', async () => {
  const { ledger, store } = open();
  ledger.add([row()]);
  ledger.close();
  const lost = open({ store, at: 5 * dayMs });
  expect(await readLedger(lost.ledger).totals(0)).toMatchObject([{ last: noon }]);
  expect(await readLedger(lost.ledger).coveredSince()).toBe(5 * dayMs);
  lost.ledger.close();
  const again = open({ store, at: noon + hourMs });
  expect(await readLedger(again.ledger).totals(0)).toMatchObject([{ last: noon }]);
  expect(await readLedger(again.ledger).coveredSince()).toBe(noon + hourMs);
});

it('a row with a later date is written with the current time', async () => {
  const { ledger } = open();
  ledger.add([row({ first: noon + 800 * dayMs })]);
  expect(await readLedger(ledger).totals(0)).toMatchObject([{ last: noon, requests: 1 }]);
  expect(await readLedger(ledger).series('hour', 0)).toMatchObject([{ version: 'v1', at: noon, requests: 1 }]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ lastUsed: noon }]);
});
