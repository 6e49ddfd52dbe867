import { expect, it } from 'vitest';
import { dayMs, endOfTime, hourMs, msPerSpan, spanRanges } from '../../../gateway/usage/ledger/spans.ts';
import { randomOf } from '../model.ts';

function edges(spans: ReturnType<typeof spanRanges>): [from: number, to: number][] {
  return spans
    .map(({ length, from, to }): [number, number] => [from * msPerSpan[length], (to + 1) * msPerSpan[length]])
    .sort(([a], [b]) => a - b);
}

it('covers each hour once, without gaps', () => {
  const random = randomOf(11);
  for (let turn = 0; turn < 2_000; turn++) {
    const since = random(100 * dayMs);
    const until = since + random([3 * hourMs, 3 * dayMs, 90 * dayMs][turn % 3] as number);
    const covered = edges(spanRanges(since, until));
    expect(covered[0]?.[0] ?? since - (since % hourMs)).toBe(since - (since % hourMs));
    for (const [index, [from]] of covered.entries()) if (index > 0) expect(from).toBe(covered[index - 1]?.[1]);
    if (covered.length > 0) expect(covered.at(-1)?.[1]).toBe(Math.ceil(until / hourMs) * hourMs);
    expect(covered.length).toBeLessThanOrEqual(5);
  }
});

it('uses whole days if hours are not kept', () => {
  const spans = spanRanges(5.5 * dayMs, 7.2 * dayMs, 'day');
  expect(spans).toEqual([{ length: 'day', from: 5, to: 7 }]);
});

it('has no short spans at an open end', () => {
  expect(spanRanges(29 * dayMs + 5 * hourMs, endOfTime).map(({ length }) => length)).toEqual(['hour', 'block']);
});

it('covers nothing for an empty period', () => {
  expect(spanRanges(3 * hourMs, 3 * hourMs)).toEqual([]);
});
