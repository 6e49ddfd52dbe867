import LinkHeader from 'http-link-header';
import { describe, expect, it } from 'vitest';
import { announce, linksFor } from '../../gateway/lifecycle/announcement.ts';
import { snapshotOf, versionOf } from './versions.ts';

const now = Date.parse('2027-01-01T00:00:00Z');
const deprecation = '2026-06-30';
const sunset = '2028-06-30T23:59:59Z';
const info = 'https://example.com/v1-end';
const retired = { retired: true };

/** The Link values of a response of v1 to `path`. */
function links(routes: Readonly<Record<string, object>>, path = '/x', gateway = {}, at = now): readonly string[] {
  const snapshot = snapshotOf(routes, gateway);
  const version = versionOf(snapshot, 'v1');
  const announcement = announce(version, snapshot, at);
  if (!announcement) throw new Error('v1 has nothing to announce');
  return linksFor(path, version, announcement, snapshot, at);
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
  ])('%s', (_name, route, expected) => {
    const snapshot = snapshotOf({ '/v1': route, '/v2': {} });
    expect(announce(versionOf(snapshot, 'v1'), snapshot, now)).toMatchObject(expected);
  });

  it('is nothing while it is active', () => {
    const snapshot = snapshotOf({ '/v1': {}, '/v2': {} });
    expect(announce(versionOf(snapshot, 'v1'), snapshot, now)).toBeUndefined();
  });

  it('has no sunset where the file has none', () => {
    const snapshot = snapshotOf({ '/v1': { deprecation }, '/v2': {} });
    expect(announce(versionOf(snapshot, 'v1'), snapshot, now)?.sunset).toBeUndefined();
  });
});

describe('the links of v1', () => {
  const old = { deprecation };
  const successor = (target: string): string => `<${target}>; rel="successor-version"`;
  const latest = (target: string): string => `<${target}>; rel="latest-version"`;

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

  it('hold from the very second at which a major between is gone', () => {
    const gone = { deprecation, sunset: '2027-01-01', after_sunset: 'gone' };
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

  it('have the base path in front', () =>
    expect(links({ '/v1': old, '/v2': {}, '/v3': {} }, '/x', { base_path: '/api' })).toEqual([
      successor('/api/v2/x'),
      latest('/api/v3/x'),
    ]));
});

describe('the page for people', () => {
  const page = (rel: string): string => `<${info}>; rel="${rel}"; type="text/html"`;

  it.each([
    ['with a deprecation', { deprecation, info }, [page('deprecation')]],
    ['with a sunset as well', { deprecation, sunset, info }, [page('deprecation'), page('sunset')]],
    ['with no counterpart to point to', { deprecation, info, moved: { '/x': null } }, [page('deprecation')]],
  ])('is linked %s', (_name, route, expected) => {
    const found = links({ '/v1': route, '/v2': {} });
    expect(found.filter((link) => !link.includes('-version'))).toEqual(expected);
  });

  it('comes behind the successor', () =>
    expect(links({ '/v1': { deprecation, info }, '/v2': {} })).toEqual([
      '</v2/x>; rel="successor-version"',
      page('deprecation'),
    ]));
});
