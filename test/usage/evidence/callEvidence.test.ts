import { describe, expect, it } from 'vitest';
import {
  type CallFacts,
  callEvidence,
  type LiveFacts,
  noLiveFacts,
} from '../../../gateway/usage/evidence/callEvidence.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 86_400_000;
const asked = { version: 'v1', now, quiet: day, since: now - day };
const covered = { since: now - 30 * day, losses: [] };

function evidence(facts: Partial<CallFacts>, live: Partial<LiveFacts> = {}) {
  return callEvidence({ ...asked, coverage: covered, problem: undefined, ...facts, live: { ...noLiveFacts, ...live } });
}

const gap = { code: 'gateway_silent', text: 'Gateway gw-3 has not been heard for 40 s.' };

describe('a version was called', () => {
  it.each<[string, Partial<CallFacts>, Partial<LiveFacts>, string]>([
    ['no call in a complete ledger', {}, {}, 'no'],
    ['a call before the period', { lastCall: now - 2 * day }, {}, 'no'],
    ['a call in the period', { lastCall: now - 1 }, {}, 'yes'],
    ['a call in the future', { lastCall: now + 40 * day }, {}, 'yes'],
    ['a call, and calls that may be missing', { lastCall: now - 1 }, { gaps: [gap] }, 'yes'],
    ['a request in flight', {}, { inFlight: 1 }, 'yes'],
    ['a waiting request', {}, { waiting: 1 }, 'yes'],
    ['a call that only a process remembers', {}, { lastRemembered: now - 1 }, 'no'],
    ['such a call, which is not written', {}, { lastRemembered: now - 1, hasUnwritten: true }, 'yes'],
    ['such a call, and a ledger that cannot be read', { problem: 'disk' }, { lastRemembered: now - 1 }, 'yes'],
    ['no ledger', { coverage: undefined }, {}, 'not known'],
    ['an empty ledger', { coverage: { since: undefined, losses: [] } }, {}, 'not known'],
    ['a short ledger', { coverage: { since: now - day + 1, losses: [] } }, {}, 'not known'],
    ['a ledger that covers exactly the period', { coverage: { since: now - day, losses: [] } }, {}, 'no'],
    ['a ledger that cannot be read', { problem: 'disk' }, {}, 'not known'],
    ['a gateway that is not heard', {}, { gaps: [gap] }, 'not known'],
    ['counts that are not written', {}, { hasUnwritten: true }, 'not known'],
    ['a worker that does not answer', {}, { unresponsiveSince: now - 1 }, 'not known'],
    ['calls of other gateways that are not sent', {}, { pending: [gap] }, 'not known'],
  ])('%s', (_what, facts, live, answer) => {
    expect(evidence(facts, live).called).toBe(answer);
  });
});

it('names once what both the ledger and the fleet report', () => {
  const reason = 'Gateway gw-3 is gone: its calls are not known.';
  const coverage = { since: now - 1_000, losses: [{ version: '', from: now - 2_000, until: now - 1_000, reason }] };
  const gaps = [{ code: 'gateway_gone', text: reason }];
  expect(evidence({ coverage }, { gaps }).missing.map(({ code }) => code)).toEqual(['ledger_short']);
  expect(evidence({}, { gaps }).missing).toEqual(gaps);
});

it('names why the ledger is short, and the part of the period that it covers', () => {
  const loss = { version: 'v1', from: now - 3_700_000, until: now - 3_600_000, reason: 'A worker was killed.' };
  const found = evidence({ coverage: { since: loss.until, losses: [loss] } });
  expect(found).toMatchObject({ countedSince: loss.until, lossReason: 'A worker was killed.' });
  expect(found.missing).toEqual([
    {
      code: 'ledger_short',
      text: 'The usage ledger begins at 2026-11-21T11:00:00Z; it will cover the last 1 day at 2026-11-22T11:00:00Z, in 23 h. A worker was killed.',
      since: loss.until,
      until: loss.until + day,
    },
  ]);
  expect(evidence({})).toMatchObject({ countedSince: now - day, lossReason: undefined, missing: [] });
  expect(evidence({ coverage: { since: now + day, losses: [] } }).countedSince).toBe(now);
});

it('gives one reason for counts that this gateway has not written', () => {
  const codes = (live: Partial<LiveFacts>) => evidence({}, live).pending.map(({ code }) => code);
  expect(codes({ hasUnwritten: true, unresponsiveSince: now })).toEqual(['worker_unresponsive']);
  expect(codes({ hasUnwritten: true, unresponsiveSince: now, pending: [gap] })).toEqual(['gateway_silent']);
});

const minute = 60_000;
const hour = 60 * minute;
const midHour = Date.parse('2026-11-21T12:20:30.500Z');

interface QuietFacts extends CallFacts {
  readonly gaps: LiveFacts['gaps'];
}

function evidenceAt(at: number, { gaps = [], ...more }: Partial<QuietFacts>) {
  const coverage = { since: midHour - 30 * day, losses: [] };
  const live = { ...noLiveFacts, gaps };
  return callEvidence({ version: 'v1', quiet: minute, coverage, problem: undefined, ...more, now: at, live });
}

describe('the time from which no call is known if no client calls', () => {
  it.each<[string, Partial<QuietFacts>]>([
    ['after a call', { lastCall: midHour - 20_000 }],
    ['after a call, for a period that begins with an hour', { lastCall: midHour - 20_000, quiet: 5 * hour }],
    ['after a call at a full hour', { lastCall: Date.parse('2026-11-21T12:00:00Z'), quiet: 5 * hour }],
    [
      'after a call, for a period that the question sets',
      { lastCall: midHour - 20_000, quiet: 5 * hour, since: midHour - 5 * hour },
    ],
    ['in a new ledger', { coverage: { since: midHour - 10_000, losses: [] } }],
    [
      'in a new ledger, for a period that begins with an hour',
      { coverage: { since: midHour - 10_000, losses: [] }, quiet: hour },
    ],
    ['after a call in a new ledger', { lastCall: midHour - 10_000, coverage: { since: midHour - 5_000, losses: [] } }],
    ['while a gap lasts', { gaps: [{ code: 'a', text: 'A gap.', until: midHour + 90_000 }] }],
    ['after a call with a wrong clock', { lastCall: midHour + hour }],
  ])('%s', (_name, more) => {
    const { quietAt = Number.NaN, called } = evidenceAt(midHour, more);
    expect(called).not.toBe('no');
    // As if the clock were right at the time of the answer.
    const lastCall = more.lastCall === undefined ? undefined : Math.min(more.lastCall, midHour);
    const later = (at: number) => {
      const since = more.since === undefined ? {} : { since: at - (more.quiet ?? 0) };
      const gaps = (more.gaps ?? []).filter(({ until = 0 }) => until > at);
      return evidenceAt(at, { ...more, ...since, lastCall, gaps }).called;
    };
    expect(later(quietAt - 1)).not.toBe('no');
    expect(later(quietAt)).toBe('no');
  });

  it.each<[string, Partial<QuietFacts>]>([
    ['it is quiet already', {}],
    ['the ledger has a problem', { lastCall: midHour, problem: 'no space' }],
    ['calls are missing for an unknown time', { gaps: [{ code: 'a', text: 'A gap.' }] }],
    ['the ledger can never cover the period', { coverage: { since: midHour - 10_000, losses: [] }, retention: 1000 }],
  ])('is not known if %s', (_name, more) => expect(evidenceAt(midHour, more).quietAt).toBeUndefined());
});
