import { expect, it } from 'vitest';
import { type MissingRoute, mergeRouteAnswers } from '../../../gateway/usage/evidence/missingRoutes.ts';

const profile = { version: 'v2', route: 'GET /profile' };

function missing(since: number, last: number, part: Partial<MissingRoute> = {}): MissingRoute {
  return { ...profile, backend: 'a', status: 404, since, last, ...part };
}

it.each<[string, MissingRoute[][], number[], object[]]>([
  ['one process', [[missing(1, 2)], []], [], [missing(1, 2)]],
  ['two processes', [[missing(1, 5)], [missing(3, 9, { status: 410 })]], [], [missing(1, 9, { status: 410 })]],
  ['a later success', [[missing(1, 5)], [missing(3, 9)]], [10], []],
  ['an earlier success', [[missing(1, 5)], [missing(3, 9)]], [7], [missing(3, 9)]],
  ['another route', [[missing(1, 5), missing(1, 5, { route: 'GET /x' })]], [7], [missing(1, 5, { route: 'GET /x' })]],
])('a route is missing if no process saw it answered since: %s', (_what, processes, successes, expected) => {
  const answered = successes.map((at) => ({ ...profile, at }));
  const reports = [...processes.map((one) => ({ missing: one, answered: [] })), { missing: [], answered }];
  expect(mergeRouteAnswers(reports).missing).toEqual(expected);
  expect(mergeRouteAnswers(reports.toReversed()).missing).toEqual(expected);
});
