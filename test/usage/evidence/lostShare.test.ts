import { describe, expect, it } from 'vitest';
import { type LostShare, lostShareJump } from '../../../gateway/usage/evidence/lostShare.ts';
import { cases } from '../../support/cases.ts';
import { Random } from '../../support/random.ts';

const share = (lost: number, requests: number): LostShare => ({ lost, requests });
const atTheEnd = (before: LostShare, after: LostShare) => lostShareJump(before, after, true);

describe('lostShareJump', () => {
  it.each([
    ['no request before', share(0, 0), share(9, 9), 'not known'],
    ['no request afterwards', share(0, 500), share(0, 0), 'not known'],
    ['1 of 2 requests of a quiet version', share(0, 25), share(1, 2), 'not known'],
    ['both of 2 requests', share(0, 25), share(2, 2), 'not known'],
    ['one request that is answered', share(0, 25), share(0, 1), 'not known'],
    ['all of 5 requests a minute, after 5 minutes', share(0, 25), share(5, 5), 'yes'],
    ['all of 5 requests a minute, after 1 minute', share(0, 5), share(5, 5), 'yes'],
    ['none of 5 requests a minute', share(0, 25), share(0, 5), 'no'],
    ['half of many requests', share(0, 500), share(50, 100), 'yes'],
    ['half of them instead of a quarter', share(250, 1000), share(100, 200), 'yes'],
    ['one lost route of twenty', share(0, 5000), share(50, 1000), 'yes'],
    ['3% of many requests', share(0, 5000), share(30, 1000), 'no'],
    ['a few more than before', share(400, 4000), share(120, 1000), 'no'],
    ['no request that was lost before', share(50, 100), share(0, 100), 'no'],
    ['as many as before: all', share(100, 100), share(50, 50), 'not known'],
    ['fewer than all, from all', share(100, 100), share(49, 50), 'no'],
    ['99% instead of 90%', share(900, 1000), share(495, 500), 'yes'],
    ['a million requests', share(2_000, 1_000_000), share(40_000, 200_000), 'yes'],
    ['a million requests as before', share(2_000, 1_000_000), share(400, 200_000), 'no'],
  ])('%s', (_name, before, after, jumped) => expect(atTheEnd(before, after)).toBe(jumped));

  it('wants more evidence while further requests are still counted', () => {
    expect([3, 4, 5].map((lost) => lostShareJump(share(0, 25), share(lost, lost), false))).toEqual([
      'yes',
      'yes',
      'yes',
    ]);
    expect([5, 6, 7].map((lost) => lostShareJump(share(0, 5), share(lost, lost), false))).toEqual([
      'not known',
      'not known',
      'not known',
    ]);
  });

  // The exact test, computed with whole numbers: all ways to choose which of the requests are lost are equally likely.
  it('finds a jump exactly if Fisher’s exact test does', () => {
    for (const [b, before, a, after] of tables(40)) {
      const risen = a / after - b / before >= 0.05 && a * (before - b) >= 2 * b * (after - a);
      for (const [isLast, limit] of [
        [true, 5_000n],
        [false, 400n],
      ] as const) {
        const isFound = lostShareJump(share(b, before), share(a, after), isLast) === 'yes';
        const total = choose(before + after, a + b);
        let ways = 0n;
        for (let lost = a; lost <= Math.min(after, a + b); lost += 1)
          ways += choose(after, lost) * choose(before, a + b - lost);
        expect(isFound, `${b} of ${before}, ${a} of ${after}`).toBe(
          risen && a >= 3 && ways * 1_000_000n <= limit * total,
        );
      }
    }
  });

  it('never says no if more is lost than before, and never yes with fewer than three lost requests', () => {
    for (const [b, before, a, after] of tables(25)) {
      const jumped = atTheEnd(share(b, before), share(a, after));
      if (a / after >= 0.5 && b / before < 0.1) expect(jumped).not.toBe('no');
      if (a < 3) expect(jumped).not.toBe('yes');
    }
  });

  it('finds a jump with more lost requests if it finds one with fewer', () => {
    for (const [b, before, a, after] of tables(25)) {
      if (a === after || atTheEnd(share(b, before), share(a, after)) !== 'yes') continue;
      expect(atTheEnd(share(b, before), share(a + 1, after)), `${b} of ${before}, ${a} of ${after}`).toBe('yes');
    }
  });
});

// Generated minutes: requests are lost at random, before and after an edit, and the answer is asked every 5 s as the gateway does.
describe('a generated edit', () => {
  const edits = cases(4_000, 400_000);

  it.each([0.001, 0.01, 0.05, 0.2, 0.5, 0.9])(
    'with an unchanged share of %d looks like a jump in less than 1 of 100 cases',
    (rate) => {
      const random = new Random(Math.round(rate * 1_000));
      let alarms = 0;
      for (let edit = 0; edit < edits; edit += 1)
        if (watched(random, { rateBefore: rate, rateAfter: rate, perLook: 1 + random.below(12) }) === 'yes')
          alarms += 1;
      expect(alarms / edits).toBeLessThan(0.01);
    },
  );

  it.each([0, 0.05, 0.1])(
    'is found if half of 24 requests a minute are lost instead of a share of %d',
    (rateBefore) => {
      const random = new Random(7);
      let found = 0;
      const tries = edits / 10;
      for (let edit = 0; edit < tries; edit += 1)
        if (watched(random, { rateBefore, rateAfter: 0.5, perLook: 2 }) === 'yes') found += 1;
      expect(found / tries).toBeGreaterThan(rateBefore === 0 ? 0.99 : 0.9);
    },
  );

  it('is never called harmless if half of the requests are lost, in 95% of the cases', () => {
    const random = new Random(11);
    for (const perLook of [0.25, 0.5, 1, 2, 5]) {
      let overlooked = 0;
      const tries = edits / 10;
      for (let edit = 0; edit < tries; edit += 1)
        if (watched(random, { rateBefore: 0, rateAfter: 0.5, perLook }) === 'no') overlooked += 1;
      expect(overlooked / tries, `${perLook} requests every 5 s`).toBeLessThanOrEqual(0.05);
    }
  });
});

/** The answer at the end of a watch: 5 minutes before the edit, and twelve looks after it. */
function watched(
  random: Random,
  { rateBefore, rateAfter, perLook }: { rateBefore: number; rateAfter: number; perLook: number },
) {
  const before = countsOf(random, Math.round(60 * perLook), rateBefore);
  let after = share(0, 0);
  for (let look = 1; look <= 12; look += 1) {
    const requests = Math.round(look * perLook) - Math.round((look - 1) * perLook);
    const more = countsOf(random, requests, rateAfter);
    after = share(after.lost + more.lost, after.requests + more.requests);
    const jumped = lostShareJump(before, after, look === 12);
    if (jumped === 'yes' || look === 12) return jumped;
  }
  return 'not known';
}

function countsOf(random: Random, requests: number, rate: number): LostShare {
  let lost = 0;
  for (let request = 0; request < requests; request += 1) if (random.below(1_000_000) < rate * 1_000_000) lost += 1;
  return share(lost, requests);
}

/** Counts before and after, each with at least one request. */
function* tables(most: number) {
  const sizes = [1, 2, 3, 5, 8, 13, 20, 25, 40].filter((size) => size <= most);
  for (const before of sizes)
    for (const after of sizes)
      for (let b = 0; b <= before; b += 1) for (let a = 0; a <= after; a += 1) yield [b, before, a, after] as const;
}

const triangle = new Map<string, bigint>();

function choose(of: number, chosen: number): bigint {
  if (chosen < 0 || chosen > of) return 0n;
  if (chosen === 0 || chosen === of) return 1n;
  const key = `${of} ${chosen}`;
  const known = triangle.get(key);
  if (known !== undefined) return known;
  const value = choose(of - 1, chosen - 1) + choose(of - 1, chosen);
  triangle.set(key, value);
  return value;
}
