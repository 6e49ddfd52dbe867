import { expect, it } from 'vitest';
import { RepeatedTimes } from '../../../gateway/operate/fleet/repeatedTimes.ts';

/** A clock that a test sets. */
function watched() {
  let [now, monotonic] = [1_000_000, 5_000];
  const times = new RepeatedTimes({ now: () => now, monotonic: () => monotonic });
  const pass = (ms: number, shown = ms): void => {
    now += shown;
    monotonic += ms;
    times.watch();
  };
  return { times, pass };
}

it('a time is taken as it is while the clock is not set', () => {
  const { times, pass } = watched();
  // A clock that is adjusted slowly, and two readings at slightly different times.
  for (const shown of [1_000, 999, 1_001, 995]) pass(1_000, shown);
  expect(times.earliest(1_001_500)).toBe(1_001_500);
});

it('a time is taken as it is after the clock was set forward', () => {
  const { times, pass } = watched();
  pass(1_000, 61_000);
  expect(times.earliest(1_061_000)).toBe(1_061_000);
});

it('a time that the clock has shown twice may be from before it was set back', () => {
  const { times, pass } = watched();
  pass(1_000);
  // Set back by 4 s at some time in this second.
  pass(1_000, -3_000);
  expect(times.earliest(1_001_500)).toBe(997_000);
  expect(times.earliest(1_002_000)).toBe(997_000);
  expect(times.earliest(996_000)).toBe(996_000);
  expect(times.earliest(1_002_001)).toBe(1_002_001);
  pass(10_000);
  expect(times.earliest(1_008_000)).toBe(1_008_000);
});

it('the times of several changes are all known', () => {
  const { times, pass } = watched();
  pass(100, -1_900);
  pass(60_000);
  pass(100, -1_900);
  expect(times.earliest(1_000_000)).toBe(998_000);
  expect(times.earliest(1_058_000)).toBe(998_000);
  expect(times.earliest(1_058_201)).toBe(1_058_201);
});
