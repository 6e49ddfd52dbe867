import { describe, expect, it } from 'vitest';
import { type CountedCalls, countingNotes, UnsentCounts, unsentCalls } from '../../gateway/fleet/unsent.ts';
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
