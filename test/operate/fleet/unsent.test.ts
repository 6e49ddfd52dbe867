import { describe, expect, it } from 'vitest';
import {
  type CountedCalls,
  countingNotes,
  UnsentCounts,
  unreportedCalls,
  unsentCalls,
} from '../../../gateway/operate/fleet/unsent.ts';
import { row } from '../../support/ledgerWith.ts';
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

  it('include losses that the store does not know of', () => {
    const counts = new UnsentCounts();
    const loss = (version: string, from: number) => ({
      version,
      from,
      until: from + 10,
      reason: 'A worker was killed.',
    });
    counts.addLosses([loss('v1', 100), loss('', 200)]);
    counts.onOutbox(queue(1), false);
    expect([counts.calls, counts.lossesSince]).toEqual([{ v1: 100 }, 200]);
    counts.onOutbox({ ...queue(1), losses: [loss('v2', 300)] }, true);
    expect([counts.calls, counts.lossesSince]).toEqual([{ v2: 300 }, undefined]);
    // One of all versions of an API.
    counts.onOutbox({ ...queue(1), losses: [loss('orders/v1', 300), loss('orders/', 400)] }, true);
    expect([counts.calls, counts.lossesSince]).toEqual([{ 'orders/v1': 300 }, 400]);
    counts.onOutbox({ ...queue(undefined), losses: [] }, true);
    expect([counts.calls, counts.lossesSince]).toEqual([{}, undefined]);
  });

  it('stay until the store has a later batch, if their ledger file was removed', () => {
    const counts = new UnsentCounts();
    counts.add([row('v1', 'a', now)], 100);
    counts.onOutbox(queue(3), true);
    // The first batch of the new file tells that coverage restarts.
    counts.onOutbox({ ...queue(1), epoch: 8, oldest: batch(1, 8), newest: batch(1, 8) }, true);
    expect(counts.calls).toEqual({ v1: 100 });
    counts.onOutbox({ ...queue(2), epoch: 8, oldest: batch(2, 8), newest: batch(2, 8) }, true);
    expect(counts.calls).toEqual({});
  });

  it('may be of an earlier run', () => {
    const counts = new UnsentCounts();
    counts.onOutbox({ ...queue(1), oldest: batch(9, 6) }, true);
    expect(counts.earlierRunUnsentSince).toBe(now);
    counts.onOutbox(queue(1), true);
    expect(counts.earlierRunUnsentSince).toBeUndefined();
  });
});

describe('calls before a question', () => {
  const texts = (counted: Partial<CountedCalls> | undefined, skewMs = 0) =>
    unsentCalls([gateway(counted, skewMs)], 'v1', now, 'me').map(({ text }) => text);
  const missing = (period: string) => [
    `Gateway gw-2 may have had calls of /v1 in the last ${period} that are not in this ledger yet. Ask again in a few seconds.`,
  ];
  const unknown = [
    'Gateway gw-2 (release 1.0.0) does not report the counts that it has not sent: calls to it of the last seconds may be missing.',
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
    ['no report, as of an earlier release', undefined, unknown],
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

describe('calls before an instant, for a reader that nobody answers', () => {
  const missing = (heard: number, counted: Partial<CountedCalls> | undefined, skewMs = 0) =>
    unreportedCalls([{ ...gateway(counted, skewMs), heard }], 'v1', now).map(({ code }) => code);

  it.each<[string, number, Partial<CountedCalls> | undefined, string[]]>([
    ['a later report without unsent calls', now + 200, { at: now + 100 }, []],
    ['a later report with unsent calls of another version', now + 200, { at: now + 100, unsent: { v2: now - 9 } }, []],
    ['a later report with later unsent calls', now + 200, { at: now + 100, unsent: { v1: now + 50 } }, []],
    ['a later report with unsent calls', now + 200, { at: now + 100, unsent: { v1: now - 9 } }, ['calls_unsent']],
    ['a later report with unsent calls of any version', now + 200, { at: now + 100, all: now - 9 }, ['calls_unsent']],
    ['an earlier report', now - 1, { at: now - 100 }, ['calls_unsent']],
    ['an earlier report that was stored later', now + 200, { at: now - 1 }, ['calls_unsent']],
    ['no report', now + 200, undefined, ['counts_unknown']],
  ])('%s', (_name, heard, counted, expected) => {
    expect(missing(heard, counted)).toEqual(expected);
  });

  it('allow for the clock of the gateway', () => {
    expect(missing(now + 200, { at: now + 60_100 }, 60_000)).toEqual([]);
    expect(missing(now + 200, { at: now + 100 }, 60_000)).toEqual(['calls_unsent']);
  });
});

it('a verdict says how old the oldest report is', () => {
  const gateways = [gateway({ at: now - 500 }), gateway({ at: now + 60_000 - 1_400 }, 60_000)];
  expect(countingNotes(gateways, now).map(({ text }) => text)).toEqual([
    'The other gateways have reported their calls up to 1 s ago; later ones are not in this answer.',
  ]);
  expect(countingNotes([gateway(undefined)], now)).toEqual([]);
  expect(countingNotes([], now)).toEqual([]);
});
