import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { CallMarks } from '../../../gateway/usage/ledger/callMarks.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { coveredSince, readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, randomBatch, randomOf, row, total } from '../model.ts';

/** A ledger whose clock can be set. */
function open({ store = join(temporaryFolder(), 'usage.db'), at = noon, steady = 0 } = {}) {
  const clock = { time: at, steady, now: () => clock.time, monotonic: () => clock.steady };
  const notices: string[] = [];
  const marks = CallMarks.open(store, at);
  const onNotice = (line: string): void => void notices.push(line);
  const ledger = Ledger.open({ store, retention: 400 * dayMs }, { clock, marks, onNotice });
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
  expect(await coveredSince(readLedger(ledger))).toBe(clock.time);
  expect(ledger.lastIncident).toEqual({ at: clock.time, text: expect.stringContaining(expected) });
  expect([ledger.problem, notices]).toEqual([undefined, [ledger.lastIncident?.text]]);
  pass(2 * hourMs);
  expect(await coveredSince(readLedger(ledger))).toBe(clock.time - 2 * hourMs);
  expect(notices).toHaveLength(1);
});

it('coverage restarts when the clock is set just before a clean end', async () => {
  const { ledger, store, clock, notices, pass } = open();
  pass(2 * hourMs);
  clock.time += 30 * dayMs + 2_000;
  clock.steady += 2_000;
  ledger.close();
  const reader = LedgerReader.open(store);
  expect(await coveredSince(reader)).toBe(clock.time);
  await reader.close();
  expect(notices).toEqual([expect.stringContaining('The clock was set forward by 30 days')]);
});

it.each([
  ['forward by 30 minutes', 30 * 60_000, 'The clock was set forward by 30 min while the gateway was stopped'],
  ['back by 6 seconds', -6_000, 'The clock was set back by 6 s while the gateway was stopped'],
])('coverage restarts when the clock was set %s between two runs', async (_name, by, expected) => {
  const before = open();
  before.pass(20 * hourMs);
  before.ledger.close();
  const stopped = 10_000;
  const at = before.clock.time + stopped;
  const after = open({ store: before.store, at: at + by, steady: before.clock.steady + stopped });
  expect(await coveredSince(readLedger(after.ledger))).toBe(at + by);
  expect(after.notices).toEqual([expect.stringContaining(expected)]);
});

it('coverage continues when the machine was restarted between two runs, or a few seconds were corrected', async () => {
  const before = open();
  before.pass(20 * hourMs);
  before.ledger.close();
  const { store, clock } = before;
  const corrected = open({ store, at: clock.time + 14_000, steady: clock.steady + 10_000 });
  expect([await coveredSince(readLedger(corrected.ledger)), corrected.notices]).toEqual([noon, []]);
  corrected.ledger.close();
  editMeta(store, (value) => value.replace(/^[^ ]+/, 'another-boot'));
  const restarted = open({ store, at: clock.time + 60_000, steady: 5_000 });
  expect([await coveredSince(readLedger(restarted.ledger)), restarted.notices]).toEqual([noon, []]);
});

/** Changes what the ledger has of the clock of its last run. */
function editMeta(store: string, edit: (value: string) => string): void {
  const database = new DatabaseSync(store);
  const value = database.prepare(`SELECT value FROM meta WHERE key = 'clock'`).get()?.['value'];
  database.prepare(`UPDATE meta SET value = ? WHERE key = 'clock'`).run(edit(String(value)));
  database.close();
}

it('coverage restarts after a pause of the process, but not while the clock is slewed', async () => {
  const { ledger, clock, pass } = open();
  for (let turn = 0; turn < 2_000; turn += 1) {
    clock.time += 5_003;
    clock.steady += 5_000;
    ledger.add([]);
  }
  pass(3 * hourMs);
  expect([await coveredSince(readLedger(ledger)), ledger.lastIncident]).toEqual([noon, undefined]);
  clock.time += 3 * hourMs;
  clock.steady += 3 * hourMs;
  ledger.add([]);
  expect(await coveredSince(readLedger(ledger))).toBe(clock.time);
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
    expect([await requests(), await coveredSince(readLedger(ledger)), ledger.problem]).toEqual([all, noon, undefined]);
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
  expect(await coveredSince(readLedger(lost.ledger))).toBe(5 * dayMs);
  lost.ledger.close();
  const again = open({ store, at: noon + hourMs });
  expect(await readLedger(again.ledger).totals(0)).toMatchObject([{ last: noon }]);
  expect(await coveredSince(readLedger(again.ledger))).toBe(noon + hourMs);
});

it('a row with a later date is written with the current time', async () => {
  const { ledger } = open();
  ledger.add([row({ first: noon + 800 * dayMs })]);
  expect(await readLedger(ledger).totals(0)).toMatchObject([{ last: noon, requests: 1 }]);
  expect(await readLedger(ledger).series('hour', 0)).toMatchObject([{ version: 'v1', at: noon, requests: 1 }]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ lastUsed: noon }]);
});

it.each([
  [5_000, noon + 5_000],
  [5_001, noon],
])('a row that is %i ms ahead is written with the time %i', async (ahead, last) => {
  const { ledger } = open();
  ledger.add([row({ first: noon + ahead })]);
  expect(await readLedger(ledger).totals(0)).toMatchObject([{ last }]);
});

it.each([
  [5_000, noon],
  [5_001, noon + hourMs - 5_001],
])('if the file has entries %i ms ahead at a start, coverage begins at %i', async (ahead, since) => {
  const before = open();
  before.pass(hourMs);
  before.ledger.close();
  const { ledger } = open({ store: before.store, at: noon + hourMs - ahead, steady: hourMs });
  expect(await coveredSince(readLedger(ledger))).toBe(since);
});

it.each([
  [hourMs, noon],
  [hourMs + 1, noon + hourMs + 1],
])('after a pause of the process of %i ms, coverage begins at %i', async (pause, since) => {
  const { ledger, clock } = open();
  clock.time += pause;
  clock.steady += pause;
  ledger.add([]);
  expect(await coveredSince(readLedger(ledger))).toBe(since);
});

it('a loss is written once', () => {
  const { ledger, store, pass } = open();
  ledger.addLosses([{ version: 'v1', from: noon, until: noon, reason: 'A worker was killed.' }], {
    process: 0,
    until: noon,
  });
  expect(ledger.unwrittenLosses).toBe(0);
  pass(hourMs);
  ledger.add([row()]);
  const database = new DatabaseSync(store);
  onTestFinished(() => database.close());
  expect(database.prepare('SELECT COUNT(*) AS losses FROM losses').get()).toEqual({ losses: 1 });
});

it('losses that are recorded as one have the times of all of them', async () => {
  const random = randomOf(5);
  for (let round = 0; round < 50; round += 1) {
    const { ledger } = open();
    const losses = Array.from({ length: 6 }, () => {
      const from = noon + random(20) * 30_000;
      return { version: 'v1', from, until: from + random(4) * 30_000, reason: 'The clock was wrong.' };
    });
    for (const loss of losses) ledger.addLosses([loss]);
    const recorded = (await readLedger(ledger).coverage()).losses;
    for (const { from, until } of losses)
      expect(recorded.some((one) => one.from <= from && one.until >= until)).toBe(true);
    // A time without a loss within a minute is not lost.
    for (let at = noon - 5 * 60_000; at < noon + 20 * 60_000; at += 30_000) {
      const isNear = losses.some(({ from, until }) => from - 60_000 <= at && until + 60_000 >= at);
      if (!isNear) expect(recorded.some(({ from, until }) => from <= at && until >= at)).toBe(false);
    }
  }
});
