import { describe, expect, it } from 'vitest';
import { type Announcement, announcementsAt } from '../../gateway/lifecycle/announcement.ts';
import { snapshotOf, versionOf } from './versions.ts';

const now = Date.parse('2027-01-01T00:00:00Z');
const deprecation = '2026-06-30';
const sunset = '2028-06-30T23:59:59Z';
const retired = { retired: true };

function announcementOf(routes: Readonly<Record<string, object>>, name = 'v1', at = now): Announcement | undefined {
  const snapshot = snapshotOf(routes);
  return announcementsAt(snapshot, at).get(versionOf(snapshot, name));
}

describe('what v1 announces', () => {
  const dates = { deprecation: '@1782777600', sunset: 'Fri, 30 Jun 2028 23:59:59 GMT' };

  it.each([
    ['ahead of its deprecation', { deprecation: '2027-01-02' }, { stage: 'announced', deprecation: '@1798848000' }],
    ['deprecated', { deprecation }, { stage: 'deprecated', deprecation: dates.deprecation }],
    ['deprecated, with a sunset', { deprecation, sunset }, { stage: 'deprecated', ...dates }],
    [
      'past its sunset, and served',
      { deprecation: '1970-01-01', sunset: '2027-01-01' },
      { stage: 'sunset', deprecation: '@0', sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
    ],
    [
      'past its sunset, and gone',
      { deprecation, sunset: '2027-01-01', after_sunset: 'gone' },
      { stage: 'retired', deprecation: dates.deprecation, sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
    ],
    ['a tombstone with dates', { ...retired, deprecation, sunset }, { stage: 'retired', ...dates }],
    ['a tombstone with one date', { ...retired, deprecation }, { stage: 'retired', deprecation: dates.deprecation }],
  ])('%s', (_name, route, expected) => expect(announcementOf({ '/v1': route, '/v2': {} })).toMatchObject(expected));

  it('is nothing while it is active', () => expect(announcementOf({ '/v1': {}, '/v2': {} })).toBeUndefined());

  it('has no sunset where the file has none', () =>
    expect(announcementOf({ '/v1': { deprecation }, '/v2': {} })?.sunset).toBeUndefined());

  it('is for each version its own', () => {
    const routes = { '/v1': { deprecation, sunset }, '/v2': { deprecation }, '/v3': {} };
    expect(announcementOf(routes, 'v1')?.sunset).toBe(dates.sunset);
    expect(announcementOf(routes, 'v2')).toMatchObject({ deprecation: dates.deprecation, sunset: undefined });
    expect(announcementOf(routes, 'v3')).toBeUndefined();
  });
});

describe('whom v1 sends its clients to', () => {
  const old = { deprecation };
  const gone = { deprecation, sunset: '2027-01-01', after_sunset: 'gone' };

  it.each([
    ['no version', { '/v1': old }, undefined, undefined],
    ['no version, if all higher ones are retired', { '/v1': old, '/v2': retired, '/v3': gone }, undefined, undefined],
    [
      'no version, if the configured one is retired and the last',
      { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': gone },
      undefined,
      undefined,
    ],
    [
      'the one behind the one that the file names, which is gone',
      { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': gone, '/v4': {}, '/v5': {} },
      'v4',
      'v5',
    ],
    [
      'the one that a tombstone names',
      { '/v1': old, '/v2': { ...retired, successor: '/v4' }, '/v3': {}, '/v4': {} },
      'v4',
      undefined,
    ],
    ['the next one', { '/v1': old, '/v2': {} }, 'v2', undefined],
    ['the next one and the newest', { '/v1': old, '/v2': {}, '/v3': {}, '/v4': {} }, 'v2', 'v4'],
    ['the one that the file names', { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': {} }, 'v3', undefined],
    ['past tombstones', { '/v1': old, '/v2': retired, '/v3': {}, '/v4': {}, '/v5': retired }, 'v3', 'v4'],
    [
      'past one that the next passes over',
      { '/v1': old, '/v2': { successor: '/v4' }, '/v3': {}, '/v4': {} },
      'v2',
      'v4',
    ],
  ])('%s', (_name, routes, successor, latest) => {
    const announcement = announcementOf(routes);
    expect(announcement?.toSuccessor?.end.name).toBe(successor);
    expect(announcement?.fromSuccessorToLatest?.end.name).toBe(latest);
  });
});

describe('the page that v1 names', () => {
  const guide = { deprecation, guide: true, contract: 'v1.json' };
  const v2 = { contract: 'v2.json' };

  it('is the guide to its successor, where the file names no other', () => {
    expect(announcementOf({ '/v1': guide, '/v2': v2 })?.pages).toEqual([
      '</guides/v1-to-v2>; rel="deprecation"; type="text/html"',
    ]);
    expect(announcementOf({ '/v1': { ...guide, sunset }, '/v2': v2 })?.pages).toHaveLength(2);
    const info = 'https://example.com/end';
    expect(announcementOf({ '/v1': { ...guide, info }, '/v2': v2 })?.pages).toEqual([
      `<${info}>; rel="deprecation"; type="text/html"`,
    ]);
  });

  it('is the guide to the successor that lives, once the next one has ended', () => {
    const gone = { ...v2, deprecation: '1970-01-01', sunset: '1970-01-02', after_sunset: 'gone' };
    const routes = { '/v1': guide, '/v2': gone, '/v3': { contract: 'v2.json' } };
    expect(announcementOf(routes)?.pages).toEqual(['</guides/v1-to-v3>; rel="deprecation"; type="text/html"']);
  });
});
