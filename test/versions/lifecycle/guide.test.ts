import { expect, it } from 'vitest';
import { guidePath, movedTables, movedTo } from '../../../gateway/versions/lifecycle/guide.ts';
import { snapshotOf, versionOf } from './versions.ts';

const snapshot = snapshotOf(
  {
    '/v1': { moved: { '/drinks/{id}': '/cocktails/{id}', '/search': null } },
    '/v2': { retired: true, moved: { '/cocktails/{key}': '/menu/{key}', '/bars': null } },
    '/v3': {},
  },
  { base_path: '/api' },
);
const [v1, v2, v3] = ['v1', 'v2', 'v3'].map((name) => versionOf(snapshot, name)) as [never, never, never];

it.each([
  ['/drinks/{id}', '/menu/{id}'],
  ['/drinks/{drinkId}', '/menu/{drinkId}'],
  ['/cocktails/{id}', '/menu/{id}'],
  ['/search', null],
  ['/bars', null],
  ['/health', '/health'],
])('follows the moves of %s over several majors: %s', (path, expected) => {
  expect(movedTo(path, movedTables(v1, v3, snapshot))).toBe(expected);
});

it('follows moves only up to the given version', () => {
  expect(movedTo('/drinks/{id}', movedTables(v1, v2, snapshot))).toBe('/cocktails/{id}');
});

it('follows no moves to a version that the successors pass by', () => {
  const skipping = snapshotOf({ '/v1': { successor: '/v3', moved: { '/drinks': '/menu' } }, '/v2': {}, '/v3': {} });
  const [from, passed, to] = ['v1', 'v2', 'v3'].map((name) => versionOf(skipping, name)) as [never, never, never];
  expect(movedTo('/drinks', movedTables(from, passed, skipping))).toBe('/drinks');
  expect(movedTo('/drinks', movedTables(from, to, skipping))).toBe('/menu');
});

const open = { contract: 'v1.json' };
const hidden = { contract: { file: 'v2.json', publish: false } };
const gone = { deprecation: '1970-01-01', sunset: '1970-01-02', after_sunset: 'gone', contract: 'v2.json' };

it.each([
  ['with `guide: true`', { ...open, guide: true }, open, '/api/guides/v1-to-v3'],
  ['not without `guide: true`', open, open, undefined],
  ['not if the next one has no contract', { ...open, guide: true }, {}, undefined],
  ['not if the contract of the next one is not published', { ...open, guide: true }, hidden, undefined],
])('a guide past an ended version has a path %s', (_where, from, to, expected) => {
  const routes = snapshotOf({ '/v1': from, '/v2': gone, '/v3': to }, { base_path: '/api' });
  expect(guidePath(versionOf(routes, 'v1'), versionOf(routes, 'v3'), routes)).toBe(expected);
  expect(guidePath(versionOf(routes, 'v1'), undefined, routes)).toBeUndefined();
});
