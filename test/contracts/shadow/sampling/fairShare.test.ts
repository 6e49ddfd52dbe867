import { expect, it } from 'vitest';
import { FairShare } from '../../../../gateway/contracts/shadow/sampling/fairShare.ts';
import { randomFrom } from '../../../support/random.ts';

const requests = 100_000;

/** Sends 100,000 requests, one each millisecond. @returns the samples by `client route` */
function sampled(
  next: (random: () => number) => readonly [client: string, route: string],
  settings: { readonly sample: number; readonly rate: number },
): Map<string, number> {
  const random = randomFrom(7);
  const share = new FairShare(settings, random);
  const samples = new Map<string, number>();
  for (let at = 0; at < requests; at += 1) {
    const [client, route] = next(random);
    if (!share.hasBudget(at) || !share.takeFor(client, route)) continue;
    const entry = `${client} ${route}`;
    samples.set(entry, (samples.get(entry) ?? 0) + 1);
  }
  return samples;
}

const total = (samples: Map<string, number>): number => [...samples.values()].reduce((sum, count) => sum + count, 0);
const oneOf = (count: number, random: () => number): number => Math.floor(random() * count);
const isMost = (random: () => number): boolean => random() < 0.99;

const manyOthers = (random: () => number) =>
  isMost(random) ? (['big', '/a'] as const) : ([`small-${oneOf(100, random)}`, '/a'] as const);

it('leaves most of the sample to 100 clients that together send 1 % of the requests', () => {
  const samples = sampled(manyOthers, { sample: 0.01, rate: 1000 });
  expect(total(samples)).toBeGreaterThan(900);
  expect(total(samples)).toBeLessThan(1_100);
  expect(samples.get('big /a')).toBeLessThan(0.4 * total(samples));
  expect(samples.size).toBe(101);
});

it('gives a single other client nearly half of the sample', () => {
  const samples = sampled((random) => [isMost(random) ? 'big' : 'small', '/a'], { sample: 0.01, rate: 1000 });
  expect(samples.get('small /a')).toBeGreaterThan(0.4 * total(samples));
});

it('leaves most of the sample to the routes that together get 1 % of the requests', () => {
  const samples = sampled((random) => ['one', isMost(random) ? '/hot' : `/${oneOf(50, random)}`], {
    sample: 0.01,
    rate: 1000,
  });
  expect(samples.get('one /hot')).toBeLessThan(0.4 * total(samples));
  expect(samples.size).toBe(51);
});

it('shares a rate that is exceeded a hundred times in the same way', () => {
  const samples = sampled(manyOthers, { sample: 1, rate: 10 });
  // 100 seconds, and the second that a full budget allows.
  expect(total(samples)).toBeLessThanOrEqual(1_010);
  expect(total(samples)).toBeGreaterThan(900);
  expect(samples.get('big /a')).toBeLessThan(0.4 * total(samples));
  expect(samples.size).toBe(101);
});

it('gives all of the sample to the only client, and all that the others leave', () => {
  const alone = sampled(() => ['big', '/a'], { sample: 0.01, rate: 1000 });
  expect(alone.get('big /a')).toBeGreaterThan(850);
  const afterAnother = sampled(() => ['big', '/a'], { sample: 0.01, rate: 1000 });
  expect(total(afterAnother)).toBeGreaterThan(850);
});

it('samples every request with 100 %, and none with 0 %', () => {
  expect(total(sampled(manyOthers, { sample: 1, rate: 1_000_000 }))).toBe(requests);
  expect(total(sampled(manyOthers, { sample: 0, rate: 1000 }))).toBe(0);
});

it('keeps no more than 1,024 clients and routes, and the budget, if every request has another client', () => {
  let number = 0;
  const samples = sampled(
    (random) => {
      number += 1;
      return isMost(random) ? [`forged-${number}`, '/a'] : ['real', '/a'];
    },
    { sample: 0.05, rate: 1000 },
  );
  expect(total(samples)).toBeLessThan(0.055 * requests);
  expect(samples.get('real /a')).toBeGreaterThan(10);
});

it('looks up a hundred requests for each sample of the rate, and still prefers rare clients', () => {
  const random = randomFrom(3);
  const share = new FairShare({ sample: 1, rate: 5 }, random);
  const samples = new Map<string, number>();
  let lookUps = 0;
  // 20 seconds with 5,000 requests each.
  for (let at = 0; at < 20_000; at += 0.2) {
    if (!share.hasBudget(at)) continue;
    lookUps += 1;
    const client = isMost(random) ? 'big' : `small-${oneOf(10, random)}`;
    if (share.takeFor(client, '/a')) samples.set(client, (samples.get(client) ?? 0) + 1);
  }
  expect(lookUps).toBeLessThan(20 * 500 + 100);
  expect([...samples.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(95);
  expect(samples.get('big')).toBeLessThan(50);
  expect(samples.size).toBe(11);
});

it('gives back the budget of a sample that could not be used, but still counts the sample for its client and route', () => {
  const share = new FairShare({ sample: 1, rate: 0.001 }, () => 0);
  for (let count = 0; count < 100; count += 1) {
    // The clock advances only to allow more look-ups.
    expect(share.hasBudget(count * 10) && share.takeFor('big', '/stream')).toBe(true);
    share.giveBack();
  }
  expect(share.hasBudget(1_000) && share.takeFor('other', '/a')).toBe(true);
});
