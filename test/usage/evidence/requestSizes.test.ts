import { describe, expect, it } from 'vitest';
import { coverageOfSizes } from '../../../gateway/usage/evidence/coverage.ts';
import { areLower, exceededLimits, type RequestSizes } from '../../../gateway/usage/evidence/requestSizes.ts';

const limits = (body: number, target = 8192, head = 16_384): RequestSizes => ({ body, target, head });
const day = (at: number, body: number, target = 20, head = 300) => ({ at, body, target, head });

describe('exceededLimits', () => {
  it.each([
    ['a limit that nothing exceeds', [day(1, 100)], limits(100), limits(1000), []],
    ['a limit that one day exceeds', [day(1, 101), day(2, 50)], limits(100), limits(1000), [['body', 101, 1, true]]],
    ['the largest of several days', [day(1, 200), day(2, 300)], limits(100), limits(1000), [['body', 300, 2, true]]],
    ['an equal limit', [day(1, 2000)], limits(1000), limits(1000), []],
    ['a higher limit', [day(1, 2000)], limits(1500), limits(1000), []],
    ['a request that is refused already', [day(1, 2000)], limits(500), limits(1000), [['body', 2000, 1, false]]],
    ['another day that tells more', [day(1, 2000), day(2, 600)], limits(500), limits(1000), [['body', 600, 2, true]]],
    ['limits that are not known', [day(1, 2000)], limits(500), undefined, [['body', 2000, 1, true]]],
    [
      'several limits',
      [day(1, 2000, 90, 700)],
      limits(500, 80, 600),
      limits(5000),
      [
        ['body', 2000, 1, true],
        ['target', 90, 1, true],
        ['head', 700, 1, true],
      ],
    ],
  ])('%s', (_name, days, next, current, expected) => {
    const found = exceededLimits(days, next, current);
    expect(found.map(({ part, largest, at, isKnown }) => [part, largest, at, isKnown])).toEqual(expected);
  });
});

it('limits are lower if one of them is, or if the present ones are not known', () => {
  expect(areLower(limits(100), limits(100))).toBe(false);
  expect(areLower(limits(200), limits(100))).toBe(false);
  expect(areLower(limits(100, 8191), limits(100))).toBe(true);
  expect(areLower(limits(100), undefined)).toBe(true);
});

it('the coverage of sizes begins when sizes were first recorded', () => {
  const coverage = { since: 1000, losses: [] };
  expect(coverageOfSizes(coverage, 0, 9000)).toBe(coverage);
  expect(coverageOfSizes(coverage, 900, 9000)).toBe(coverage);
  expect(coverageOfSizes(coverage, 5000, 9000)).toMatchObject({ since: 5000, losses: [{ until: 5000 }] });
  expect(coverageOfSizes(coverage, Number.POSITIVE_INFINITY, 9000).since).toBe(9000);
  expect(coverageOfSizes({ since: undefined, losses: [] }, 5000, 9000).since).toBeUndefined();
});
