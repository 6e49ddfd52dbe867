import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { FleetView } from '../../gateway/fleet/fleetView.ts';
import { CallQuestions } from '../../gateway/fleet/questions.ts';
import { type CountedCalls, countingNotes, UnsentCounts, unsentCalls } from '../../gateway/fleet/unsent.ts';
import { eventually } from '../support/eventually.ts';
import { row } from '../support/ledgerWith.ts';
import { gatewayRow } from './gatewayRow.ts';

const now = 1_000_000_000;

function gateway(counted: Partial<CountedCalls> | undefined, skewMs = 0) {
  const state = counted && { at: now - 500, unsent: {}, ...counted };
  return gatewayRow('gw-2', now, { counted: state, skewMs });
}

describe('counts that the store may not have', () => {
  const batch = (seq: number, epoch = 7) => ({ epoch, seq });
  const queue = (oldest: number | undefined, newest = oldest) => ({
    epoch: 7,
    oldest: oldest === undefined ? undefined : batch(oldest),
    newest: newest === undefined ? undefined : batch(newest),
    since: now,
  });

  it('are removed when the store has their batch', () => {
    const counts = new UnsentCounts();
    counts.add([row('v1', 'a', now), row('v2', 'a', now)], 100);
    expect(counts.calls).toEqual({ v1: 100, v2: 100 });
    counts.onOutbox(queue(3, 4), true);
    counts.onOutbox(queue(4, 4), true);
    expect(counts.calls).toEqual({ v1: 100, v2: 100 });
    counts.add([row('v1', 'a', now)], 200);
    counts.onOutbox(queue(5, 5), true);
    expect(counts.calls).toEqual({ v1: 200 });
    counts.onOutbox(queue(undefined), true);
    expect(counts.calls).toEqual({});
  });

  it('stay until they are in the outbox, even if the outbox is empty', () => {
    const counts = new UnsentCounts();
    counts.add([row('v1', 'a', now)], 100);
    counts.onOutbox(queue(undefined), false);
    expect(counts.calls).toEqual({ v1: 100 });
    counts.onOutbox(queue(undefined), true);
    expect(counts.calls).toEqual({});
  });

  it('may be of an earlier run', () => {
    const counts = new UnsentCounts();
    counts.onOutbox({ ...queue(1), oldest: batch(9, 6) }, true);
    expect(counts.ofEarlierRun).toBe(now);
    counts.onOutbox(queue(1), true);
    expect(counts.ofEarlierRun).toBeUndefined();
  });
});

describe('calls before a question', () => {
  const texts = (counted: Partial<CountedCalls> | undefined, skewMs = 0) =>
    unsentCalls([gateway(counted, skewMs)], 'v1', now, 'me').map(({ text }) => text);
  const missing = (period: string) => [
    `Gateway gw-2 may have had calls of /v1 in the last ${period} that are not in this ledger yet. Ask again in a few seconds.`,
  ];
  const read = { id: now, at: now + 300 };
  const answered = { at: now + 900, answers: { me: read } };

  it.each<[string, Partial<CountedCalls> | undefined, string[]]>([
    ['no unsent calls', answered, []],
    ['unsent calls of another version', { ...answered, unsent: { v2: now - 4_000 } }, []],
    ['unsent calls of the version', { ...answered, unsent: { v1: now - 4_000 } }, missing('4 s')],
    ['unsent calls from before it was read', { ...answered, unsent: { v1: read.at - 1 } }, missing('0 ms')],
    ['unsent calls from after it was read', { ...answered, unsent: { v1: read.at } }, []],
    ['unsent calls of any version', { ...answered, all: now - 90_000, unsent: { v1: now - 4_000 } }, missing('1 min')],
    ['a report without an answer', { at: now + 900 }, missing('0 ms')],
    ['an old report without an answer', { at: now - 5_000 }, missing('5 s')],
    ['the answer to another gateway', { ...answered, answers: { other: read } }, missing('0 ms')],
    ['the answer to an earlier question', { ...answered, answers: { me: { ...read, id: now - 1 } } }, missing('0 ms')],
    ['the answer to a later question', { ...answered, answers: { me: { ...read, id: now + 1 } } }, []],
    ['an earlier release', undefined, []],
  ])('%s', (_name, counted, expected) => {
    expect(texts(counted)).toEqual(expected);
  });

  it('do not depend on how far the clocks differ', () => {
    // The gateway has measured its clock wrongly, because its machine was suspended meanwhile.
    for (const skewMs of [-60_000, 0, 60_000]) {
      expect(texts({ at: now, unsent: {} }, skewMs)).toHaveLength(1);
      expect(texts({ ...answered, unsent: { v1: read.at - 1 } }, skewMs)).toHaveLength(1);
      expect(texts({ ...answered, unsent: { v1: read.at } }, skewMs)).toEqual([]);
    }
  });
});

describe('the questions of a gateway', () => {
  const { fleet: settings } = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    fleet: { store: 'postgres://x/y' },
  });
  const report = { versions: [], workers: [] };

  function questionsWith(view: FleetView, beat: () => Promise<boolean>, unsent = new UnsentCounts()) {
    if (settings === undefined) throw new Error('the snapshot has no fleet');
    return new CallQuestions({ settings, release: '1.0.0', view, unsent, self: () => 'me', beat });
  }

  it('have different ids, also if they are asked at the same time', () => {
    const view = new FleetView(10_000, () => 0);
    view.update({ now, rows: [], unheard: [] });
    const questions = questionsWith(view, async () => true);
    const [first, second] = [questions.question(), questions.question()];
    expect([first.id, second.id]).toEqual([now, now + 1]);
    expect(questions.asks).toBeUndefined();
  });

  it('stay in the row after the wait, so that the others still report their answers', async () => {
    const questions = questionsWith(new FleetView(10_000), async () => true);
    const [first, second] = [questions.question(), questions.question()];
    await questions.settle([], async () => report, second);
    await questions.settle([], async () => report, first);
    expect(questions.asks).toBe(second.id);
  });

  it('count the calls of an earlier run from five seconds before their batch was written', () => {
    const unsent = new UnsentCounts();
    unsent.onOutbox({ epoch: 7, oldest: { epoch: 6, seq: 1 }, newest: { epoch: 6, seq: 1 }, since: now }, true);
    const view = new FleetView(10_000);
    const questions = questionsWith(view, async () => true, unsent);
    expect(questions.counted(report, now).all).toBe(now - 5_000);
  });

  it('are reported as read only by reports from after that, and a heartbeat that fails is not an error', async () => {
    const view = new FleetView(10_000);
    view.update({ now, rows: [gatewayRow('gw-2', now, { asks: 5 })], unheard: [] });
    let beats = 0;
    const questions = questionsWith(view, async () => {
      beats += 1;
      throw new Error('the report has failed');
    });
    const before = Date.now() - 1;
    questions.onRows(async () => {});
    await eventually(() => expect(beats).toBe(1));
    expect(questions.counted(report, before).answers).toEqual({});
    const answers = { 'id-of-gw-2': { id: 5, at: expect.any(Number) } };
    expect(questions.counted(report, Date.now() + 1).answers).toEqual(answers);
    // It is answered once.
    questions.onRows(async () => {});
    view.update({ now, rows: [gatewayRow('gw-2', now)], unheard: [] });
    questions.onRows(async () => {});
    expect(questions.counted(report, Date.now() + 1).answers).toEqual({});
    expect(beats).toBe(1);
  });
});

it('a verdict says how old the oldest report is, and which gateways have none', () => {
  const gateways = [gateway({ at: now - 500 }), gateway({ at: now + 60_000 - 1_400 }, 60_000)];
  expect(countingNotes(gateways, now).map(({ text }) => text)).toEqual([
    'The other gateways have reported their calls up to 1 s ago; later ones are not in this answer.',
  ]);
  expect(countingNotes([gateway(undefined)], now).map(({ text }) => text)).toEqual([
    'Gateway gw-2 has release 1.0.0, which does not report the counts that it has not sent: calls to it of the last seconds may be missing.',
  ]);
  expect(countingNotes([], now)).toEqual([]);
});
