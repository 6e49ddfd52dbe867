import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TargetHealth } from '../../../gateway/proxy/upstream/health.ts';
import { systemResolve } from '../../../gateway/proxy/upstream/nameResolution.ts';
import { Pool } from '../../../gateway/proxy/upstream/pool.ts';
import { Target } from '../../../gateway/proxy/upstream/target.ts';
import { TargetLimits } from '../../../gateway/proxy/upstream/targetLimits.ts';

const limitOf = (perTarget: number): TargetLimits => new TargetLimits(perTarget);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const settings = {
  path: undefined,
  interval: 5_000,
  timeout: 2_000,
  healthyAfter: 2,
  unhealthyAfter: 3,
  passiveFailures: 3,
  eject: 10_000,
  onNoneHealthy: 'try',
} as const;
const tls = { ca: undefined, servername: undefined, verify: true };

function healthOf({ alone = false, passiveFailures = 3 } = {}) {
  const changes = { count: 0 };
  const health = new TargetHealth(changes);
  health.configure({ ...settings, passiveFailures }, alone);
  return { health, changes };
}

function fail(health: TargetHealth, times: number, unreached = false): void {
  for (let time = 0; time < times; time += 1) health.failed(unreached, 'connect ECONNREFUSED');
}

/** Duration of the ejection in ms. */
function outFor(health: TargetHealth): number {
  const start = Date.now();
  while (health.availability === 'ejected') vi.advanceTimersToNextTimer();
  return Date.now() - start;
}

describe('a target is ejected', () => {
  it.each([
    ['requests that failed', 3, false, 2],
    ['connections that failed', 3, true, 1],
    ['requests that failed, with passive_failures: 1', 1, false, 0],
    ['connections that failed, with passive_failures: 1', 1, true, 0],
    ['connections that failed, with passive_failures: 1000', 1000, true, 1],
  ])('after %s', (_name, passiveFailures, unreached, fewer) => {
    const { health } = healthOf({ passiveFailures });
    fail(health, fewer, unreached);
    expect(health.availability).toBe('available');
    fail(health, 1, unreached);
    expect(health.availability).toBe('ejected');
    expect(health.reachable).toBe(unreached ? false : undefined);
  });

  it('not for failures with a success in between', () => {
    const { health } = healthOf();
    for (let round = 0; round < 5; round += 1) {
      fail(health, 2);
      health.succeeded();
    }
    expect(health.availability).toBe('available');
  });

  it('not for failed connections with a successful one in between', () => {
    const { health } = healthOf({ passiveFailures: 10 });
    for (let round = 0; round < 4; round += 1) {
      fail(health, 1, true);
      health.connected();
    }
    expect([health.availability, health.reachable]).toEqual(['available', true]);
  });

  it('not if it is the only target', () => {
    const { health } = healthOf({ alone: true });
    fail(health, 100, true);
    expect([health.availability, health.reachable]).toEqual(['available', false]);
  });

  it('no longer once it is the only target', () => {
    const { health } = healthOf();
    fail(health, 3);
    health.configure(settings, true);
    expect(health.availability).toBe('available');
  });
});

describe('an ejected target', () => {
  it('returns after a time that doubles with each further failure, up to five minutes', () => {
    const { health } = healthOf();
    fail(health, 3);
    const times: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      times.push(outFor(health));
      fail(health, 1);
    }
    expect(times).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  it('is not ejected for longer by requests sent before the ejection', () => {
    const { health } = healthOf();
    fail(health, 30, true);
    expect(outFor(health)).toBe(10_000);
    fail(health, 30, true);
    expect(outFor(health)).toBe(20_000);
  });

  it('returns, with its counters reset, as soon as it answers', () => {
    const { health } = healthOf();
    fail(health, 3);
    outFor(health);
    fail(health, 1);
    expect(health.awaitsSuccess).toBe(true);
    health.succeeded();
    expect([health.availability, health.awaitsSuccess]).toEqual(['available', false]);
    fail(health, 2);
    expect(health.availability).toBe('available');
    fail(health, 1);
    expect(outFor(health)).toBe(10_000);
  });

  it('returns after a successful probe, and the next failed request ejects it again', () => {
    const { health } = healthOf();
    fail(health, 3);
    expect(health.probed(true)).toBe(false);
    expect(health.availability).toBe('available');
    fail(health, 1);
    expect(outFor(health)).toBe(20_000);
  });
});

describe('probes', () => {
  it('mark a target unhealthy and healthy, each after the configured number in a row', () => {
    const { health, changes } = healthOf();
    const results = [false, false, true, false, false, false, true, false, true, true, true];
    const seen = results.map((good) => [health.probed(good), health.availability === 'available']);
    expect(seen).toEqual([
      [true, true],
      [true, true],
      [false, true],
      [true, true],
      [true, true],
      [false, false],
      [true, false],
      [false, false],
      [true, false],
      [false, true],
      [false, true],
    ]);
    expect(changes.count).toBe(2);
  });

  it('no longer count once probing ends', () => {
    const { health } = healthOf();
    for (let count = 0; count < 3; count += 1) health.probed(false);
    expect(health.availability).toBe('fails probes');
    health.forgetProbes();
    expect(health.availability).toBe('available');
  });
});

function poolOf(count: number, onNoneHealthy: 'try' | 'refuse' = 'try') {
  const shared = { healthChanges: { count: 0 }, resolve: systemResolve };
  const all = Array.from({ length: count }, (_, index) => {
    const target = new Target(`http://127.0.0.1:${3001 + index}`, tls, undefined, 0, shared);
    target.health.configure(settings, count < 2);
    return target;
  });
  const members = all.map((target) => ({ target, weight: 1 }));
  const pool = new Pool(members, 'round_robin', { healthChanges: shared.healthChanges, onNoneHealthy });
  const picks = () => [...new Set(Array.from({ length: 4 * count }, () => pool.pick(limitOf(9))))].map(indexOf).sort();
  const indexOf = (target: Target | undefined) => (target ? all.indexOf(target) : -1);
  return { pool, all, picks };
}

describe('a pool', () => {
  it.each([
    [1, [0], [0]],
    [2, [0], [1]],
    [2, [1, 0], [0]],
    [3, [2, 0, 1], [0, 1]],
    [4, [3, 1, 0, 2], [0, 2]],
    [5, [4, 3, 2, 1, 0], [0, 1, 2]],
  ])('of %i targets, ejected in the order %j, uses %j', (count, ejected, expected) => {
    const { all, picks } = poolOf(count);
    for (const index of ejected) {
      const health = all[index]?.health;
      if (health) fail(health, 3);
    }
    expect(picks()).toEqual(expected);
    vi.advanceTimersByTime(10_000);
    expect(picks()).toEqual(all.map((_, index) => index));
  });

  it.each([
    ['try', [0, 1, 2], false],
    ['refuse', [-1], true],
  ] as const)('with only unhealthy targets follows on_none_healthy: %s', (onNoneHealthy, expected, refuses) => {
    const { pool, all, picks } = poolOf(3, onNoneHealthy);
    for (const { health } of all) for (let count = 0; count < 3; count += 1) health.probed(false);
    expect(picks()).toEqual(expected);
    expect(pool.hasNoUsableTarget).toBe(refuses);
  });

  it('retries only at another target if the retry must go elsewhere', () => {
    const { pool, all } = poolOf(2);
    const [first, second] = all;
    if (!first || !second) throw new Error('there are two');
    expect(pool.pickAgain(limitOf(9), first, 'elsewhere', 0)).toBe(second);
    fail(second.health, 3);
    expect(pool.pickAgain(limitOf(9), first, 'elsewhere', 0)).toBeUndefined();
    expect(pool.pickAgain(limitOf(9), first, 'anywhere', 0)).toBe(first);
  });

  it('lets a retry use the slot of its first attempt', () => {
    const { pool, all } = poolOf(1);
    const [only] = all;
    if (!only) throw new Error('there is one');
    only.inFlight = 1;
    expect(pool.pick(limitOf(1))).toBeUndefined();
    expect(pool.pickAgain(limitOf(1), only, 'anywhere', 0)).toBe(only);
  });

  it('allows no retry when the budget is used up', () => {
    const { pool, all } = poolOf(2);
    pool.budget.configure({ budget: 0, budgetMin: 0.1 });
    const [first] = all;
    if (!first) throw new Error('there are two');
    expect(pool.pickAgain(limitOf(9), first, 'anywhere', 0)).toBe(all[1]);
    expect(pool.pickAgain(limitOf(9), first, 'anywhere', 0)).toBeUndefined();
    expect([pool.budget.granted, pool.budget.refused]).toEqual([1, 1]);
  });
});

it('a target reports its state', () => {
  const target = new Target('http://127.0.0.1:3001', tls, undefined, 0);
  const sound = { url: 'http://127.0.0.1:3001', inFlight: 0, connections: 0, ejections: 0 };
  expect(target.report()).toMatchObject({ ...sound, health: 'not tried', reachable: undefined });
  target.health.configure(settings, false);
  vi.setSystemTime('2026-11-21T10:00:00Z');
  fail(target.health, 2, true);
  const until = Date.parse('2026-11-21T10:00:10Z');
  expect(target.report()).toMatchObject({
    ...sound,
    ejections: 1,
    health: 'ejected',
    ejectedUntil: until,
    reachable: false,
    lastError: { message: 'connect ECONNREFUSED', at: until - 10_000 },
  });
  answer(target.health);
  expect(target.report()).toMatchObject({ health: 'healthy', lastError: { message: 'connect ECONNREFUSED' } });
});

/** As a response does. */
function answer(health: TargetHealth): void {
  health.answeredAt = performance.now();
  if (health.awaitsSuccess) health.succeeded();
}

describe('the observed health', () => {
  const start = Date.parse('2026-11-21T10:00:00Z');
  beforeEach(() => void vi.setSystemTime(start));

  it('is not tried before the first contact ends, even if a connection was made', () => {
    const { health } = healthOf();
    expect(health.observed().health).toBe('not tried');
    health.connected();
    expect(health.observed()).toMatchObject({ health: 'not tried', reachable: true });
  });

  it.each([true, false])('is failing from the first failed contact until a success (only target: %s)', (alone) => {
    const { health } = healthOf({ alone, passiveFailures: 1000 });
    fail(health, 1);
    vi.advanceTimersByTime(60_000);
    fail(health, 1);
    health.connected();
    expect(health.observed()).toMatchObject({ health: 'failing', failingSince: start, lastFailure: start + 60_000 });
    answer(health);
    expect(health.observed()).toMatchObject({ health: 'healthy', failingSince: undefined });
    vi.advanceTimersByTime(60_000);
    fail(health, 1);
    expect(health.observed()).toMatchObject({ health: 'failing', failingSince: start + 120_000 });
  });

  it('is failing again when an ejection has ended without a success', () => {
    const { health } = healthOf();
    fail(health, 3);
    expect(health.observed().health).toBe('ejected');
    outFor(health);
    expect([health.availability, health.observed()]).toMatchObject(['available', { failingSince: start }]);
    expect(health.observed().health).toBe('failing');
  });

  it('is failing while probes fail, even if requests are answered', () => {
    const { health } = healthOf();
    for (let probe = 0; probe < 3; probe += 1) health.probed(false);
    answer(health);
    expect(health.observed()).toMatchObject({ health: 'failing', failingSince: start });
    health.probed(true);
    expect(health.observed().health).toBe('failing');
    health.probed(true);
    expect(health.observed().health).toBe('healthy');
  });

  it('follows from requests alone once probing ends', () => {
    const { health } = healthOf({ passiveFailures: 1000 });
    for (let probe = 0; probe < 3; probe += 1) health.probed(false);
    health.forgetProbes();
    expect(health.observed().health).toBe('not tried');
    health.probed(false);
    fail(health, 1);
    health.forgetProbes();
    expect(health.observed().health).toBe('failing');
  });

  it('keeps its order if the clock is set back', () => {
    const { health } = healthOf();
    answer(health);
    vi.advanceTimersByTime(60_000);
    fail(health, 1);
    vi.setSystemTime(start - 3_600_000);
    const { lastSuccess = 0, lastFailure = 0 } = health.observed();
    expect(lastFailure - lastSuccess).toBe(60_000);
  });
});
