import { describe, expect, it } from 'vitest';
import { coverageOf, type Run } from '../../../gateway/usage/evidence/coverage.ts';

const limits = { notBefore: 0, maxGap: 10 };
const run = (began: number, seen: number, closed = true): Run => ({ began, seen, closed });
const tenMinutes = 600_000;
const lossOf = (version: string, from: number, until: number) => ({ version, from, until, reason: 'lost' });

describe('coverageOf', () => {
  it.each([
    ['no run', [], undefined],
    ['one run', [run(5, 9)], 5],
    ['a short pause after a closed run', [run(5, 9), run(19, 30)], 5],
    ['a long pause after a closed run', [run(5, 9), run(20, 30)], 20],
    ['a short pause after a run that was not closed', [run(5, 9, false), run(12, 30)], 12],
    ['the last run, which still counts', [run(5, 9), run(12, 30, false)], 5],
    ['runs that overlap', [run(5, 20, false), run(12, 30)], 5],
    ['two gateways that still count', [run(5, 20, false), run(12, 30, false)], 30],
    ['a gateway that ended beside another one', [run(5, 20, false), run(12, 2 * tenMinutes, false)], tenMinutes + 20],
  ])('%s', (_name, runs, since) => expect(coverageOf(runs, [], limits).since).toBe(since));

  it('begins after the last loss of the version or of all versions', () => {
    const losses = [lossOf('v1', 10, 14), lossOf('', 6, 8)];
    expect([undefined, 'v1', 'v2'].map((version) => coverageOf([run(5, 30)], losses, limits, version).since)).toEqual([
      14, 14, 8,
    ]);
  });

  it('ignores what came after the asked time', () => {
    const past = coverageOf([run(5, 9), run(40, 60)], [lossOf('', 50, 55)], { ...limits, until: 12 });
    expect(past).toEqual({ since: 5, losses: [] });
  });

  it('names the end that was not clean', () => {
    expect(coverageOf([run(5, 9, false), run(12, 30)], [], limits).losses).toEqual([
      { version: '', from: 9, until: 12, reason: 'A gateway ended without recording its last calls.' },
    ]);
  });
});
