import { expect, it } from 'vitest';
import { ClockWatch } from '../../gateway/shared/clock.ts';

/** One check for each pair: how far the monotonic clock and the wall clock moved since the last check, in ms. */
function jumps(moves: readonly (readonly [monotonic: number, wall: number])[]): number[] {
  let [monotonic, now] = [1_000, 1_790_000_000_000];
  const watch = new ClockWatch({ now: () => now, monotonic: () => monotonic });
  return moves.map(([real, wall]) => {
    monotonic += real;
    now += wall;
    return watch.measure().jump;
  });
}

it.each([
  ['forward', 90_000, 85_000],
  ['back', -85_000, -90_000],
])('a clock that is set %s jumps once', (_name, wall, jump) => {
  expect(
    jumps([
      [5_000, 5_000],
      [5_000, wall],
      [5_000, 5_000],
    ]),
  ).toEqual([0, jump, 0]);
});

it('a clock that is set in several small steps jumps as soon as they add up', () => {
  const found = jumps(Array.from({ length: 4 }, () => [5_000, 9_000] as const));
  expect(found.filter((jump) => jump > 5_000)).toHaveLength(2);
  expect(found.reduce((sum, jump) => sum + jump, 0)).toBeCloseTo(16_000, -2);
});

it('a slew by NTP is not a jump, however long it takes', () => {
  const hour = 3_600_000;
  expect(jumps(Array.from({ length: 720 }, () => [hour / 720, hour / 720 + 2.4] as const))).toEqual(Array(720).fill(0));
});

it('a clock without a monotonic one never jumps', () => {
  let now = 0;
  const watch = new ClockWatch({ now: () => now });
  now = 1e12;
  expect(watch.measure()).toEqual({ jump: 0, elapsed: 0 });
});
