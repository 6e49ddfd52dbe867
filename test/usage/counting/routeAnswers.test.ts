import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { RouteAnswers } from '../../../gateway/usage/counting/routeAnswers.ts';
import { pathWithoutIds } from '../../../gateway/usage/counting/routeNames.ts';
import { versionOf } from '../../versions/lifecycle/versions.ts';

const [one, two] = ['http://127.0.0.1:3001', 'http://127.0.0.1:3002'];

function snapshotWith(v2: unknown = two) {
  return snapshotFrom({ routes: { '/v1': { upstream: one, deprecation: '2026-01-01' }, '/v2': v2 } });
}

function observe() {
  const answers = new RouteAnswers();
  answers.configure(snapshotWith());
  let at = 1000;
  const of = (method: string, path: string, ...statuses: number[]): void => {
    for (const status of statuses) answers.note('v2', `${method} ${pathWithoutIds(path)}`, path, status, at++);
  };
  const isMissing = (method: string, path: string): boolean =>
    answers.isMissing(versionOf(snapshotWith(), 'v2'), method, path);
  return { answers, of, isMissing };
}

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe('a route without parameters', () => {
  it.each([404, 405, 410])('is missing after one %i, until it is answered', (status) => {
    const { answers, of, isMissing } = observe();
    expect(answers.isAnyMissing).toBe(false);
    of('GET', '/profile', status);
    expect([isMissing('GET', '/profile'), isMissing('HEAD', '/profile'), isMissing('POST', '/profile')]).toEqual([
      true,
      true,
      false,
    ]);
    of('GET', '/profile', 204);
    expect([answers.isAnyMissing, isMissing('GET', '/profile')]).toEqual([false, false]);
  });

  it.each([400, 401, 403, 409, 422, 429, 499, 500, 502, 503])('is not missing after %i', (status) => {
    const { of, answers } = observe();
    of('GET', '/profile', ...times(50, status));
    expect(answers.isAnyMissing).toBe(false);
  });

  it.each([400, 401, 500])('stays missing after %i', (status) => {
    const { of, isMissing } = observe();
    of('GET', '/profile', 404, status);
    expect(isMissing('GET', '/profile')).toBe(true);
  });

  it('is not missing because its path with a final slash is', () => {
    const { answers, isMissing } = observe();
    answers.note('v2', 'GET /profile', '/profile/', 404, 1);
    answers.note('v2', 'GET /bars/', '/bars', 404, 1);
    expect([isMissing('GET', '/profile'), isMissing('GET', '/bars/')]).toEqual([false, false]);
    answers.note('v2', 'GET /profile', '/profile', 404, 2);
    answers.note('v2', 'GET /bars/', '/bars/', 404, 2);
    expect([isMissing('GET', '/profile'), isMissing('GET', '/bars/')]).toEqual([true, true]);
    answers.note('v2', 'GET /profile', '/profile/', 301, 3);
    expect(isMissing('GET', '/profile')).toBe(false);
  });

  it('that was answered before is missing only after 20 answers in a row', () => {
    const { of, isMissing } = observe();
    of('GET', '/profile', 200, ...times(19, 404), 200, ...times(19, 404));
    expect(isMissing('GET', '/profile')).toBe(false);
    of('GET', '/profile', 404);
    expect(isMissing('GET', '/profile')).toBe(true);
  });
});

describe('a route with parameters', () => {
  it('is not missing because one resource is gone', () => {
    const { of, isMissing } = observe();
    of('GET', '/profile/7', ...times(100, 404));
    expect(isMissing('GET', '/profile/7')).toBe(false);
  });

  it('is not missing because some of its resources are gone', () => {
    const { of, isMissing } = observe();
    for (let id = 0; id < 100; id += 1) of('GET', `/profile/${id}`, id % 10 === 0 ? 200 : 404);
    expect(isMissing('GET', '/profile/7')).toBe(false);
  });

  it('is missing after 20 answers in a row for five resources, until one is answered', () => {
    const { of, isMissing } = observe();
    for (let id = 0; id < 19; id += 1) of('GET', `/profile/${id % 5}`, 404);
    expect(isMissing('GET', '/profile/7')).toBe(false);
    of('GET', '/profile/0', 404);
    expect(isMissing('GET', '/profile/7')).toBe(true);
    of('GET', '/profile/99', 200);
    expect(isMissing('GET', '/profile/7')).toBe(false);
  });

  it('is missing after one 405, because that is about the method', () => {
    const { of, isMissing } = observe();
    of('GET', '/profile/7', 405);
    expect([isMissing('GET', '/profile/8'), isMissing('PUT', '/profile/8')]).toEqual([true, false]);
  });
});

it('what was observed is forgotten if the backend changes, and after a day', () => {
  const { answers, of } = observe();
  of('GET', '/profile', 404);
  answers.configure(snapshotWith());
  expect(answers.isAnyMissing).toBe(true);
  answers.expire(1000 + 24 * 3_600_000);
  expect(answers.isAnyMissing).toBe(true);
  answers.expire(1001 + 24 * 3_600_000);
  expect(answers.isAnyMissing).toBe(false);
  of('GET', '/profile', 404);
  answers.configure(snapshotWith(one));
  expect(answers.isAnyMissing).toBe(false);
});

it('a process learns what the others observed, and ignores what belongs to another backend', () => {
  const [first, second] = [observe(), observe()];
  first.of('GET', '/profile', 404);
  second.answers.share(first.answers.report());
  expect(second.isMissing('GET', '/profile')).toBe(true);
  second.of('GET', '/x', 200, 200);
  second.of('GET', '/profile', 200);
  first.answers.share(second.answers.report());
  expect(first.isMissing('GET', '/profile')).toBe(false);
  const other = new RouteAnswers();
  other.configure(snapshotWith(one));
  first.of('GET', '/profile', 404);
  other.share(first.answers.report());
  expect(other.isAnyMissing).toBe(false);
});

it('a scanner does not fill the memory', () => {
  const { answers, of } = observe();
  for (let route = 0; route < 2_000; route += 1)
    of(
      'GET',
      `/scan${'abcdefghij'[route % 10]}-${'x'.repeat(route % 30)}-${String.fromCharCode(97 + (route % 26))}${String.fromCharCode(97 + (Math.floor(route / 26) % 26))}`,
      404,
    );
  expect(answers.report().missing.length).toBeLessThanOrEqual(500);
});
