import { expect, it } from 'vitest';
import { BackOff } from '../../gateway/runtime/workerPool.ts';

it.each([
  ['one that dies after a long life, at once', [60_000], [0]],
  ['one that dies young, after a moment', [50], [100]],
  ['those that go on dying young, later each time', [50, 50, 50, 50], [100, 200, 400, 800]],
  ['nobody later than ten seconds', Array.from({ length: 12 }, () => 50), 10_000],
  ['after a long life, as if nothing had been', [50, 50, 10_000, 50], [100, 200, 0, 100]],
])('replaces %s', (_name, lives, expected) => {
  const backOff = new BackOff();
  const delays = lives.map((lived) => backOff.after(lived));
  if (Array.isArray(expected)) expect(delays).toEqual(expected);
  else expect(delays.at(-1)).toBe(expected);
});
