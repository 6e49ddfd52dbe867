import { describe, expect, it } from 'vitest';
import { rootBase } from '../../../gateway/config/api.ts';
import {
  adaptedVersions,
  counterpart,
  latestVersion,
  runningWaivers,
  stageOf,
  successorOf,
} from '../../../gateway/versions/lifecycle/stage.ts';
import { snapshotOf, versionOf } from './versions.ts';

const deprecation = '2026-06-30';
const sunset = '2028-06-30T23:59:59Z';

const deprecatedAt = Date.parse('2026-06-30T00:00:00.000Z');
const sunsetAt = Date.parse('2028-06-30T23:59:59.000Z');
const longAgo = 0;
const farAhead = Date.parse('9999-01-01');

const none = {};
const deprecated = { deprecation };
const served = { deprecation, sunset };
const gone = { deprecation, sunset, after_sunset: 'gone' };
const atOnce = { deprecation, sunset: deprecation };
const tombstone = { retired: true };
const datedTombstone = { retired: true, deprecation, sunset };

describe.each([
  ['without dates', none, longAgo, 'active'],
  ['without dates', none, farAhead, 'active'],

  ['with a deprecation', deprecated, longAgo, 'announced'],
  ['with a deprecation', deprecated, deprecatedAt - 1, 'announced'],
  ['with a deprecation', deprecated, deprecatedAt, 'deprecated'],
  ['with a deprecation', deprecated, deprecatedAt + 1, 'deprecated'],
  ['with a deprecation and no sunset', deprecated, farAhead, 'deprecated'],

  ['with both dates', served, deprecatedAt - 1, 'announced'],
  ['with both dates', served, deprecatedAt, 'deprecated'],
  ['with both dates', served, sunsetAt - 1, 'deprecated'],
  ['with both dates', served, sunsetAt, 'sunset'],
  ['with both dates', served, farAhead, 'sunset'],

  ['that is gone at its sunset', gone, deprecatedAt - 1, 'announced'],
  ['that is gone at its sunset', gone, sunsetAt - 1, 'deprecated'],
  ['that is gone at its sunset', gone, sunsetAt, 'retired'],
  ['that is gone at its sunset', gone, farAhead, 'retired'],

  ['with one date for both', atOnce, deprecatedAt - 1, 'announced'],
  ['with one date for both', atOnce, deprecatedAt, 'sunset'],
  ['with one date for both, gone', { ...atOnce, after_sunset: 'gone' }, deprecatedAt, 'retired'],

  ['that is a tombstone', tombstone, longAgo, 'retired'],
  ['that is a tombstone', tombstone, farAhead, 'retired'],
  ['that is a tombstone with future dates', datedTombstone, longAgo, 'retired'],
  ['that is a tombstone with past dates', datedTombstone, farAhead, 'retired'],
])('a version %s', (_name, route, now, stage) => {
  it(`is ${stage} at ${new Date(now).toISOString()}`, () =>
    expect(stageOf(versionOf(snapshotOf({ '/v1': route }), 'v1'), now)).toBe(stage));
});

it.each([
  ['2026-06-30T00:00:00Z', '2026-06-30T00:00:00.000Z'],
  ['2026-06-30T02:00:00+02:00', '2026-06-30T00:00:00.000Z'],
  ['2026-06-29T19:00:00-05:00', '2026-06-30T00:00:00.000Z'],
])('the date %s is the instant %s', (written, instant) => {
  const version = versionOf(snapshotOf({ '/v1': { deprecation: written } }), 'v1');
  expect(stageOf(version, Date.parse(instant) - 1)).toBe('announced');
  expect(stageOf(version, Date.parse(instant))).toBe('deprecated');
});

const now = Date.parse('2026-01-01T00:00:00Z');
const goneAtNow = { deprecation: '2025-01-01', sunset: '2026-01-01', after_sunset: 'gone' };
const sunsetAtNow = { deprecation: '2025-01-01', sunset: '2026-01-01' };
const retired = { retired: true };

describe('the successor of v1', () => {
  it.each([
    ['none without a higher version', { '/v1': {} }, undefined],
    ['none with only a lower version', { '/v0': {}, '/v1': {} }, undefined],
    ['the next one', { '/v1': {}, '/v2': {}, '/v3': {} }, 'v2'],
    ['the next one in number, not in the file', { '/v10': {}, '/v9': {}, '/v1': {} }, 'v9'],
    ['the one after a tombstone', { '/v1': {}, '/v2': retired, '/v3': {} }, 'v3'],
    ['the one after a version that is gone', { '/v1': {}, '/v2': goneAtNow, '/v3': {} }, 'v3'],
    ['one that is past its sunset and served', { '/v1': {}, '/v2': sunsetAtNow, '/v3': {} }, 'v2'],
    ['none with only retired versions above it', { '/v1': {}, '/v2': retired, '/v3': goneAtNow }, undefined],
    ['the configured one', { '/v1': { successor: '/v3' }, '/v2': {}, '/v3': {} }, 'v3'],
    [
      'the one after the configured one, which is a tombstone',
      { '/v1': { successor: '/v3' }, '/v2': {}, '/v3': retired, '/v4': {} },
      'v4',
    ],
    [
      'the one after the configured one, which is gone',
      { '/v1': { successor: '/v3' }, '/v2': {}, '/v3': goneAtNow, '/v4': {} },
      'v4',
    ],
    [
      'none, if the configured one is a tombstone and the last',
      { '/v1': { successor: '/v3' }, '/v2': {}, '/v3': retired },
      undefined,
    ],
    [
      'the configured one of a tombstone',
      { '/v1': {}, '/v2': { ...retired, successor: '/v4' }, '/v3': {}, '/v4': {} },
      'v4',
    ],
    ['a successor for a tombstone, too', { '/v1': retired, '/v2': {} }, 'v2'],
  ])('%s', (_name, routes, expected) => {
    const snapshot = snapshotOf(routes);
    expect(successorOf(versionOf(snapshot, 'v1'), snapshot, now)?.name).toBe(expected);
  });

  it('is the next one until the millisecond at which that one is gone', () => {
    const snapshot = snapshotOf({ '/v1': {}, '/v2': goneAtNow, '/v3': {} });
    const version = versionOf(snapshot, 'v1');
    expect(successorOf(version, snapshot, now - 1)?.name).toBe('v2');
    expect(successorOf(version, snapshot, now)?.name).toBe('v3');
  });
});

describe('the latest version', () => {
  it.each([
    ['the only one', { '/v1': {} }, 'v1'],
    ['the highest in number', { '/v10': {}, '/v9': {} }, 'v10'],
    ['below a tombstone', { '/v1': {}, '/v2': {}, '/v3': retired }, 'v2'],
    ['below a version that is gone', { '/v1': {}, '/v2': goneAtNow }, 'v1'],
    ['a deprecated one, when it is the highest', { '/v1': {}, '/v2': sunsetAtNow }, 'v2'],
    ['none, when all are retired', { '/v1': retired, '/v2': goneAtNow }, undefined],
  ])('is %s', (_name, routes, expected) =>
    expect(latestVersion(snapshotOf(routes), rootBase, now)?.name).toBe(expected),
  );
});

const moved = {
  '/drinks': '/cocktails',
  '/drinks/{id}': '/cocktails/{cocktailId}',
  '/drinks/{id}/likes/{likeId}': '/likes/{likeId}/of/{id}',
  '/search': null,
  '/pub': '/nowhere',
  '/drinks/{id}.json': '/cocktails/{id}.json',
  '/menus/{menu}-{page}.html': '/menus/{page}/of/{name}',
  '/a/{x}/{y}': '/b/{y}/{z}',
};

describe('the counterpart in v2', () => {
  const snapshot = snapshotOf({ '/v1': { moved }, '/v2': {} });

  it.each([
    ['the same path without a row', '/pubs/7', '/pubs/7'],
    ['the root', '/', '/'],
    ['an empty path', '', ''],
    ['a moved path', '/drinks', '/cocktails'],
    ['a moved path with a parameter', '/drinks/7', '/cocktails/7'],
    ['parameters in another order', '/drinks/7/likes/9', '/likes/9/of/7'],
    ['a parameter within a segment', '/drinks/7.json', '/cocktails/7.json'],
    ['several within a segment', '/menus/bar-2.html', '/menus/2/of/bar'],
    ['a segment that does not match the text of its pattern', '/menus/bar.html', '/menus/bar.html'],
    ['a new name with the value that is left', '/a/1/2', '/b/2/1'],
    ['an escape unchanged', '/drinks/%C3%a9%2f', '/cocktails/%C3%a9%2f'],
    ['a moved path with a final slash', '/drinks/', '/cocktails'],
    ['a moved path with a parameter and a final slash', '/drinks/7/', '/cocktails/7'],
    ['the same path with a final slash without a row', '/pubs/7/', '/pubs/7/'],
    ['none for a row of null with a final slash', '/search/', undefined],
    ['another case', '/Drinks', '/Drinks'],
    ['an inner //', '/a//b', '/a//b'],
    ['none for a row of null', '/search', undefined],
    ['a path below a row of null', '/search/7', '/search/7'],
  ])('%s', (_name, path, expected) =>
    expect(counterpart(path, versionOf(snapshot, 'v1'), versionOf(snapshot, 'v2'))).toBe(expected),
  );
});

describe('the counterpart and the contracts', () => {
  const known = { '/v1': { moved, contract: 'v1.json' }, '/v2': { contract: 'v2.json' } };
  const onlyOld = { '/v1': { moved, contract: 'v1.json' }, '/v2': {} };
  const onlyNew = { '/v1': { moved }, '/v2': { contract: 'v2.json' } };

  it.each([
    ['both known, the path is in both', known, '/pubs', '/pubs'],
    ['both known, the path has a final slash', known, '/pubs/', '/pubs'],
    ['both known, the path is only in the old one', known, '/drinks/7/x', undefined],
    ['both known, the path is in neither', known, '/nothing', undefined],
    ['both known, moved to a path that exists', known, '/drinks/7', '/cocktails/7'],
    ['both known, moved to a path that does not exist', known, '/pub', undefined],
    ['both known, a row of null', known, '/search', undefined],
    ['only the old one known', onlyOld, '/nothing', '/nothing'],
    ['only the new one known', onlyNew, '/nothing', '/nothing'],
    ['only the new one known, a row of null', onlyNew, '/search', undefined],
  ])('%s', (_name, routes, path, expected) => {
    const snapshot = snapshotOf(routes);
    expect(counterpart(path, versionOf(snapshot, 'v1'), versionOf(snapshot, 'v2'))).toBe(expected);
  });
});

it('a waiver runs until the millisecond of its end', () => {
  const waivers = ['2027-09-01', '2027-10-01'].map((until, at) => ({ client: `c${at}`, until, reason: 'a contract' }));
  const version = versionOf(snapshotOf({ '/v1': { retired: true, waivers } }), 'v1');
  const clientsAt = (at: number): string[] => runningWaivers(version, at).map(({ client }) => client);
  const end = Date.parse('2027-09-01');
  expect([clientsAt(end - 1), clientsAt(end)]).toEqual([['c0', 'c1'], ['c1']]);
});

it('a version is adapted from the version that its adapter names, and from no other', () => {
  const adapter = { from: '/v3', mode: 'serve', routes: {} };
  const contracts = { '/v2': { contract: 'v2.json' }, '/v3': { contract: 'v3.json' } };
  const snapshot = snapshotOf({ '/v1': { adapter, contract: 'v1.json' }, ...contracts });
  const adapted = ['v2', 'v3'].map((name) => adaptedVersions(name, snapshot, 0).map((version) => version.name));
  expect(adapted).toEqual([[], ['v1']]);
});
