import LinkHeader from 'http-link-header';
import { describe, expect, it } from 'vitest';
import { type Announcement, announcementsAt, linksFor } from '../../../gateway/versions/lifecycle/announcement.ts';
import { snapshotOf, versionOf } from './versions.ts';

const now = Date.parse('2027-01-01T00:00:00Z');
const deprecation = '2026-06-30';
const sunset = '2028-06-30T23:59:59Z';
const info = 'https://example.com/v1-end';
const old = { deprecation };
const gone = { deprecation, sunset: '2027-01-01', after_sunset: 'gone' };
const retired = { retired: true };

function announcementOf(routes: Readonly<Record<string, object>>, name = 'v1', at = now): Announcement | undefined {
  const snapshot = snapshotOf(routes);
  return announcementsAt(snapshot, at).get(versionOf(snapshot, name));
}

describe('what v1 announces', () => {
  const dates = { deprecation: '@1782777600', sunset: 'Fri, 30 Jun 2028 23:59:59 GMT' };

  it.each([
    ['before its deprecation', { deprecation: '2027-01-02' }, { stage: 'announced', deprecation: '@1798848000' }],
    ['deprecated', { deprecation }, { stage: 'deprecated', deprecation: dates.deprecation }],
    ['deprecated, with a sunset', { deprecation, sunset }, { stage: 'deprecated', ...dates }],
    [
      'after its sunset, and served',
      { deprecation: '1970-01-01', sunset: '2027-01-01' },
      { stage: 'sunset', deprecation: '@0', sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
    ],
    [
      'after its sunset, and gone',
      { deprecation, sunset: '2027-01-01', after_sunset: 'gone' },
      { stage: 'retired', deprecation: dates.deprecation, sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
    ],
    ['a tombstone with dates', { ...retired, deprecation, sunset }, { stage: 'retired', ...dates }],
    ['a tombstone with one date', { ...retired, deprecation }, { stage: 'retired', deprecation: dates.deprecation }],
  ])('%s', (_name, route, expected) => expect(announcementOf({ '/v1': route, '/v2': {} })).toMatchObject(expected));

  it('is nothing while it is active', () => expect(announcementOf({ '/v1': {}, '/v2': {} })).toBeUndefined());

  it('has no sunset if the file has none', () =>
    expect(announcementOf({ '/v1': { deprecation }, '/v2': {} })?.sunset).toBeUndefined());

  it('differs for each version', () => {
    const routes = { '/v1': { deprecation, sunset }, '/v2': { deprecation }, '/v3': {} };
    expect(announcementOf(routes, 'v1')?.sunset).toBe(dates.sunset);
    expect(announcementOf(routes, 'v2')).toMatchObject({ deprecation: dates.deprecation, sunset: undefined });
    expect(announcementOf(routes, 'v3')).toBeUndefined();
  });
});

describe('the successor in the announcement of v1', () => {
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
      'the one after the configured one, which is gone',
      { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': gone, '/v4': {}, '/v5': {} },
      'v4',
      'v5',
    ],
    [
      'the configured one of a tombstone',
      { '/v1': old, '/v2': { ...retired, successor: '/v4' }, '/v3': {}, '/v4': {} },
      'v4',
      undefined,
    ],
    ['the next one', { '/v1': old, '/v2': {} }, 'v2', undefined],
    ['the next one and the newest', { '/v1': old, '/v2': {}, '/v3': {}, '/v4': {} }, 'v2', 'v4'],
    ['the configured one', { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': {} }, 'v3', undefined],
    [
      'the first one after tombstones',
      { '/v1': old, '/v2': retired, '/v3': {}, '/v4': {}, '/v5': retired },
      'v3',
      'v4',
    ],
    [
      'the next one, whose configured successor skips one',
      { '/v1': old, '/v2': { successor: '/v4' }, '/v3': {}, '/v4': {} },
      'v2',
      'v4',
    ],
  ])('%s', (_name, routes, successor, latest) => {
    const announcement = announcementOf(routes);
    expect(announcement?.chainToSuccessor?.lastVersion.name).toBe(successor);
    expect(announcement?.chainFromSuccessorToLatest?.lastVersion.name).toBe(latest);
  });
});

describe('the page in the announcement of v1', () => {
  const guide = { deprecation, guide: true, contract: 'v1.json' };
  const v2 = { contract: 'v2.json' };

  it('is the guide to its successor, if no other page is configured', () => {
    expect(announcementOf({ '/v1': guide, '/v2': v2 })?.documentationLinks).toEqual([
      '</guides/v1-to-v2>; rel="deprecation"; type="text/html"',
    ]);
    expect(announcementOf({ '/v1': { ...guide, sunset }, '/v2': v2 })?.documentationLinks).toHaveLength(2);
    expect(announcementOf({ '/v1': { ...guide, info }, '/v2': v2 })?.documentationLinks).toEqual([
      `<${info}>; rel="deprecation"; type="text/html"`,
    ]);
  });

  it('is the guide to the first live successor if the next version has ended', () => {
    const gone = { ...v2, deprecation: '1970-01-01', sunset: '1970-01-02', after_sunset: 'gone' };
    const routes = { '/v1': guide, '/v2': gone, '/v3': { contract: 'v2.json' } };
    expect(announcementOf(routes)?.documentationLinks).toEqual([
      '</guides/v1-to-v3>; rel="deprecation"; type="text/html"',
    ]);
  });
});

const successor = (target: string): string => `<${target}>; rel="successor-version"`;
const latest = (target: string): string => `<${target}>; rel="latest-version"`;

/** The Link values of a response of v1 to `path`. */
function links(routes: Readonly<Record<string, object>>, path = '/x', gateway = {}, at = now): readonly string[] {
  const snapshot = snapshotOf(routes, gateway);
  const announcement = announcementsAt(snapshot, at).get(versionOf(snapshot, 'v1'));
  if (!announcement) throw new Error('v1 has nothing to announce');
  return linksFor(path, announcement, snapshot.gateway.basePath);
}

describe('the links of v1', () => {
  it.each([
    ['no higher major', { '/v1': old }, []],
    ['one higher major', { '/v1': old, '/v2': {} }, [successor('/v2/x')]],
    ['two higher majors', { '/v1': old, '/v2': {}, '/v3': {} }, [successor('/v2/x'), latest('/v3/x')]],
    ['three higher majors', { '/v1': old, '/v2': {}, '/v3': {}, '/v4': {} }, [successor('/v2/x'), latest('/v4/x')]],
    ['a tombstone between', { '/v1': old, '/v2': retired, '/v3': {} }, [successor('/v3/x')]],
    ['a tombstone at the end', { '/v1': old, '/v2': {}, '/v3': retired }, [successor('/v2/x')]],
    ['a successor of its own', { '/v1': { ...old, successor: '/v3' }, '/v2': {}, '/v3': {} }, [successor('/v3/x')]],
    ['a tombstone itself', { '/v1': { ...retired, ...old }, '/v2': {} }, [successor('/v2/x')]],
    [
      'a newest major that the path does not reach',
      { '/v1': old, '/v2': { moved: { '/x': null } }, '/v3': {} },
      [successor('/v2/x')],
    ],
    ['no counterpart in the next', { '/v1': { ...old, moved: { '/x': null } }, '/v2': {}, '/v3': {} }, []],
    [
      'a path that moved twice',
      { '/v1': { ...old, moved: { '/x': '/y' } }, '/v2': { moved: { '/y': '/z' } }, '/v3': {} },
      [successor('/v2/y'), latest('/v3/z')],
    ],
  ])('%s', (_name, routes, expected) => expect(links(routes)).toEqual(expected));

  it('skip a major from the moment at which it is gone', () => {
    const routes = { '/v1': old, '/v2': gone, '/v3': {} };
    expect(links(routes, '/x', {}, now - 1)).toEqual([successor('/v2/x'), latest('/v3/x')]);
    expect(links(routes, '/x', {}, now)).toEqual([successor('/v3/x')]);
  });

  it.each([
    ['no path', '', '/v2'],
    ['the root', '/', '/v2/'],
    ['an inner //', '/a//b', '/v2/a//b'],
    ['an escape', '/a%2Fb%c3', '/v2/a%2Fb%c3'],
    ['punctuation', "/a;b,c'(d)", "/v2/a;b,c'(d)"],
    ['angle brackets and quotes', '/a<b>"c"', '/v2/a%3Cb%3E%22c%22'],
    ['an attempt to add a parameter', '/>;rel="next"', '/v2/%3E;rel=%22next%22'],
  ])('point to the same resource: %s', (_name, path, target) => {
    const [link = ''] = links({ '/v1': old, '/v2': {} }, path);
    expect(link).toBe(successor(target));
    expect(LinkHeader.parse(link).refs).toEqual([{ uri: target, rel: 'successor-version' }]);
  });

  it('begin with the base path', () =>
    expect(links({ '/v1': old, '/v2': {}, '/v3': {} }, '/x', { base_path: '/api' })).toEqual([
      successor('/api/v2/x'),
      latest('/api/v3/x'),
    ]));
});

describe('links that skip retired majors', () => {
  const named = { ...old, successor: '/v3', moved: { '/x': '/y' } };
  const renaming = { ...gone, moved: { '/y': '/z', '/a/{p}/{q}': '/b/{q}/{r}' } };

  it.each([
    ['nothing above is live', { '/v1': old, '/v2': retired, '/v3': gone }, '/x', []],
    [
      'nothing is live above the configured successor',
      { '/v1': named, '/v2': {}, '/v3': gone, '/v4': retired },
      '/x',
      [],
    ],
    [
      'the next one renames',
      { '/v1': { ...old, moved: { '/x': '/y' } }, '/v2': renaming, '/v3': {} },
      '/x',
      [successor('/v3/z')],
    ],
    ['only the next one renames', { '/v1': old, '/v2': renaming, '/v3': {} }, '/a/1/2', [successor('/v3/b/2/1')]],
    [
      'a tombstone renames',
      { '/v1': old, '/v2': { ...retired, moved: { '/x': '/y' } }, '/v3': {} },
      '/x',
      [successor('/v3/y')],
    ],
    [
      'the configured successor renames',
      { '/v1': named, '/v2': { moved: { '/y': '/no' } }, '/v3': renaming, '/v4': {} },
      '/x',
      [successor('/v4/z')],
    ],
    [
      'two in a row rename',
      { '/v1': old, '/v2': { ...gone, moved: { '/x': '/y' } }, '/v3': renaming, '/v4': {}, '/v5': {} },
      '/x',
      [successor('/v4/z'), latest('/v5/z')],
    ],
    [
      'the one after it renames again',
      { '/v1': old, '/v2': renaming, '/v3': { moved: { '/z': '/w' } }, '/v4': {} },
      '/y',
      [successor('/v3/z'), latest('/v4/w')],
    ],
    ['the next one removes the path', { '/v1': old, '/v2': { ...gone, moved: { '/x': null } }, '/v3': {} }, '/x', []],
    [
      'the retired one has a configured successor',
      { '/v1': old, '/v2': { ...renaming, successor: '/v4' }, '/v3': {}, '/v4': {} },
      '/y',
      [successor('/v4/z')],
    ],
    [
      'a major before the newest is retired',
      { '/v1': old, '/v2': {}, '/v3': renaming, '/v4': {} },
      '/y',
      [successor('/v2/y'), latest('/v4/z')],
    ],
  ])('where %s', (_name, routes, path, expected) => expect(links(routes, path)).toEqual(expected));
});

describe('the link to the newest major', () => {
  const moved = { '/drinks/{id}': '/cocktails/{cocktailId}', '/drinks': '/cocktails', '/search': null };
  const v1 = { ...old, moved };
  const renamed = { '/v1': v1, '/v2': { moved: { '/cocktails/{id}': '/mixes/{id}' } }, '/v3': {} };
  const within = {
    '/v1': { ...old, moved: { '/drinks/{id}': '/cocktails/{id}', '/drinks/{id}.json': '/mixes/{mix}.xml' } },
    '/v2': {},
    '/v3': {},
  };
  const lost = { '/v1': v1, '/v2': { moved: { '/cocktails/{id}': null } }, '/v3': {} };
  const known = {
    '/v1': { ...v1, contract: 'v1.json' },
    '/v2': { contract: 'v2.json' },
    '/v3': { contract: 'v3.json' },
  };
  const unknownBetween = { ...known, '/v2': {} };
  const passedOver = { '/v1': v1, '/v2': { successor: '/v4' }, '/v3': { moved: { '/x': null } }, '/v4': {} };
  const longer = { ...renamed, '/v4': {}, '/v5': { moved: { '/x': null } }, '/v6': {} };

  it.each([
    ['a path that moved within a segment', within, '/drinks/7.json', ['/v2/mixes/7.xml', '/v3/mixes/7.xml']],
    ['a path of another row, within a segment', within, '/drinks/7', ['/v2/cocktails/7', '/v3/cocktails/7']],
    ['a path that moved twice', renamed, '/drinks/7', ['/v2/cocktails/7', '/v3/mixes/7']],
    ['a path that moved once', renamed, '/drinks', ['/v2/cocktails', '/v3/cocktails']],
    ['a path that stays', renamed, '/x', ['/v2/x', '/v3/x']],
    ['a path that the second step removes', lost, '/drinks/7', ['/v2/cocktails/7']],
    ['a path that the first step removes', renamed, '/search', []],
    ['a path that every contract has', known, '/drinks/7', ['/v2/cocktails/7', '/v3/cocktails/7']],
    ['a path that the last contract does not have', known, '/pubs', ['/v2/pubs']],
    ['a path that the next contract does not have', known, '/nothing', []],
    ['a path over a major without a contract', unknownBetween, '/pubs', ['/v2/pubs', '/v3/pubs']],
    ['a path that only a skipped major removes', passedOver, '/x', ['/v2/x', '/v4/x']],
    ['a path that moved, over majors that change nothing', longer, '/drinks/7', ['/v2/cocktails/7', '/v6/mixes/7']],
    ['a path that a later step removes', longer, '/x', ['/v2/x']],
  ])('is correct for %s', (_name, routes, path, [next, newest]) =>
    expect(links(routes, path)).toEqual([
      ...(next === undefined ? [] : [successor(next)]),
      ...(newest === undefined ? [] : [latest(newest)]),
    ]),
  );
});

describe('the info page', () => {
  const page = (rel: string): string => `<${info}>; rel="${rel}"; type="text/html"`;

  it.each([
    ['with a deprecation', { deprecation, info }, [page('deprecation')]],
    ['with a sunset as well', { deprecation, sunset, info }, [page('deprecation'), page('sunset')]],
    ['without a counterpart in the successor', { deprecation, info, moved: { '/x': null } }, [page('deprecation')]],
  ])('is linked %s', (_name, route, expected) => {
    const found = links({ '/v1': route, '/v2': {} });
    expect(found.filter((link) => !link.includes('-version'))).toEqual(expected);
  });

  it('comes after the successor', () =>
    expect(links({ '/v1': { deprecation, info }, '/v2': {} })).toEqual([
      '</v2/x>; rel="successor-version"',
      page('deprecation'),
    ]));
});
