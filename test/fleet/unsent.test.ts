import { describe, expect, it } from 'vitest';
import { type CountedCalls, countingNotes, UnsentCounts, unsentCalls } from '../../gateway/fleet/unsent.ts';
import { row } from '../support/ledgerWith.ts';
import { gatewayRow } from './gatewayRow.ts';

const now = 1_000_000_000;
// Longer than a question waits for two of them.
const heartbeat = 4_000;

function gateway(counted: Partial<CountedCalls> | undefined, skewMs = 0) {
  const state = counted && { at: now - 500, heartbeat, unsent: {}, ...counted };
  return gatewayRow('gw-2', now, { counted: state, skewMs });
}

describe('the counts on their way', () => {
  const batch = (seq: number, epoch = 7) => ({ epoch, seq });
  const queue = (oldest: number | undefined, newest = oldest) => ({
    epoch: 7,
    oldest: oldest === undefined ? undefined : batch(oldest),
    newest: newest === undefined ? undefined : batch(newest),
    since: now,
  });

  it('leave when the store has the batch in which they are', () => {
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

  it('stay while they are not in the file, even if nothing waits in it', () => {
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
  const texts = (counted: Partial<CountedCalls> | undefined, isStrict = false, skewMs = 0) =>
    unsentCalls([gateway(counted, skewMs)], 'v1', { askedAt: now, isStrict }).map(({ text }) => text);
  const missing = (period: string) => [
    `Gateway gw-2 may have had calls of /v1 in the last ${period} that are not in this ledger yet. Ask again in a few seconds.`,
  ];

  it.each<[string, Partial<CountedCalls> | undefined, string[]]>([
    ['no unsent calls', {}, []],
    ['unsent calls of another version', { unsent: { v2: now - 4_000 } }, []],
    ['unsent calls of the version', { unsent: { v1: now - 4_000 } }, missing('4 s')],
    ['unsent calls after the question', { at: now + 900, unsent: { v1: now + 1 } }, []],
    ['unsent calls of any version', { all: now - 90_000, unsent: { v1: now - 4_000 } }, missing('1 min')],
    ['a report of more than a heartbeat ago', { at: now - 5_001 }, missing('5 s')],
    ['a report of before, though the gateway could have answered', { at: now - 1, heartbeat: 2_000 }, missing('1 ms')],
    ['an earlier release', undefined, []],
  ])('%s', (_name, counted, expected) => {
    expect(texts(counted)).toEqual(expected);
  });

  it('may be missing in any report of before, if that is to be excluded', () => {
    expect(texts({ at: now - 1 }, true)).toEqual(missing('1 ms'));
    expect(texts({ at: now }, true)).toEqual([]);
  });

  it('have the times of the store', () => {
    expect(texts({ at: now + 60_000, unsent: { v1: now + 56_000 } }, true, 60_000)).toEqual(missing('4 s'));
    expect(texts({ at: now + 60_000, unsent: { v1: now + 60_000 } }, true, 60_000)).toEqual([]);
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
