import { expect, it } from 'vitest';
import { cutJson } from '../../../gateway/compat/report/cutJson.ts';

it.each([
  null,
  0,
  -1.5,
  true,
  '',
  'a"\\\n',
  [],
  {},
  [1, [2, { a: [] }]],
  { a: { b: [null, 'x'] }, 'c"': 2 },
  { ['__proto__']: 1 },
])('writes %j as JSON does', (value) => {
  expect(cutJson(value, 1000)).toEqual({ text: JSON.stringify(value), isCut: false });
});

it('stops at its length, in what holds itself or doubles at each level as well', () => {
  const loop: unknown[] = [];
  loop.push(loop, loop);
  expect(cutJson(loop, 100)).toEqual({ text: '['.repeat(100), isCut: true });
  let doubling: unknown = 'x';
  for (let level = 0; level < 60; level += 1) doubling = [doubling, doubling];
  expect(cutJson(doubling, 4096).text).toHaveLength(4096);
  expect(cutJson('x'.repeat(10_000_000), 10)).toEqual({ text: '"xxxxxxxxx', isCut: true });
});

it('does not cut what just fits', () => {
  expect(cutJson('1234', 6)).toEqual({ text: '"1234"', isCut: false });
  expect(cutJson('12345', 6)).toEqual({ text: '"12345', isCut: true });
});
