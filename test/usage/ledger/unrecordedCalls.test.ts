import { expect, it } from 'vitest';
import { lossesOf } from '../../../gateway/usage/ledger/unrecordedCalls.ts';

const [began, now] = [1_000, 9_000];

it.each<[string, { counted: number; marked: number; from: number }]>([
  ['the beginning of the processes, if nothing was counted', { counted: 0, marked: 7_000, from: began }],
  ['the last count', { counted: 5_000, marked: 7_000, from: 5_000 }],
  ['the mark, if the clock was set back', { counted: 0, marked: 500, from: 500 }],
])('calls may be missing from %s', (_name, { counted, marked, from }) => {
  const marks = [{ process: 0, version: 'v1', at: marked }];
  expect(lossesOf(marks, () => counted, { began, now, cause: 'it was killed' })).toEqual([
    { version: 'v1', from, until: now, reason: 'Calls of /v1 may be missing: it was killed.' },
  ]);
});

it('nothing is missing if the last mark is counted', () => {
  const marks = [{ process: 0, version: 'v1', at: 7_000 }];
  expect(lossesOf(marks, () => 7_000, { began, now, cause: 'it was killed' })).toEqual([]);
});
