import { readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAtomFeed } from 'feedsmith';
import ICAL from 'ical.js';
import { SaxesParser } from 'saxes';
import { describe, expect, it, vi } from 'vitest';
import { loadSnapshot, parseConfig, snapshotFrom } from '../../../gateway/config/load.ts';
import { lastChangeOf } from '../../../gateway/config/location.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { createDiscovery } from '../../../gateway/operate/discovery/app.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import {
  ask,
  contractFolder,
  lifecycle,
  now,
  type Served,
  serve,
  serveDiscovery,
  snapshotWith,
  yamlContract,
} from './server.ts';

const publicUrl = { public_url: 'https://api.example.com' };

interface Event {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly at: string;
  readonly revised: string;
}

/** The events of a calendar, as ical.js reads it. */
function eventsIn(text: string): Event[] {
  const calendar = new ICAL.Component(ICAL.parse(text));
  expect(calendar.getFirstPropertyValue('version')).toBe('2.0');
  return calendar.getAllSubcomponents('vevent').map((component) => {
    const { uid, summary, description, startDate } = new ICAL.Event(component);
    const revised = String(component.getFirstPropertyValue('dtstamp'));
    return { id: uid, title: summary, text: description, at: startDate.toString(), revised };
  });
}

/** The entries of a feed, as feedsmith reads it. A strict parser checks that it is well-formed. */
function feedIn(text: string) {
  const strict = new SaxesParser({ xmlns: true });
  strict.on('error', (error) => {
    throw error;
  });
  strict.write(text).close();
  return parseAtomFeed(text);
}

async function served(path: string, server: Served): Promise<string> {
  const { status, body } = await ask(server, path);
  expect(status).toBe(200);
  return body;
}

/** A version with these settings, next to /v9. */
function withVersion(settings: object, gateway: object = publicUrl): Snapshot {
  const routes = { '/v1': { upstream: 'http://127.0.0.1:3001', ...settings }, '/v9': 'http://127.0.0.1:3009' };
  return snapshotFrom({ routes, gateway }, contractFolder());
}

describe('the dates', () => {
  it('are those of the index, in the calendar and in the feed', async () => {
    const server = await serveDiscovery(snapshotWith(publicUrl));
    const index = JSON.parse(await served('/', server));
    const announced = index.versions.flatMap(({ version, deprecation, sunset }: Record<string, string>) => [
      ...(deprecation === undefined ? [] : [[`/${version} is deprecated`, deprecation]]),
      ...(sunset === undefined ? [] : [[`Sunset of /${version}`, sunset]]),
    ]);
    announced.sort((a: string[], b: string[]) => Date.parse(a[1] ?? '') - Date.parse(b[1] ?? ''));
    expect(announced).toHaveLength(7);
    const events = eventsIn(await served('/lifecycle.ics', server));
    expect(events.map(({ title, at }) => [title, at])).toEqual(announced);
    const { entries = [] } = feedIn(await served('/lifecycle.atom', server));
    expect(entries.map(({ title }) => title?.value ?? title).reverse()).toEqual(
      announced.map(([title]: string[]) => title),
    );
  });

  it('include single routes and the retirement at the sunset', async () => {
    const ends = { 'GET /old': { deprecation: '2026-06-01', sunset: '2027-02-03T04:05:06Z' } };
    const snapshot = withVersion({ deprecation: '2026-07-01', sunset: '2028-01-01', after_sunset: 'gone', ends });
    const events = eventsIn(await served('/lifecycle.ics', await serveDiscovery(snapshot)));
    expect(events.map(({ title, at }) => `${at} ${title}`)).toEqual([
      '2026-06-01T00:00:00Z GET /v1/old is deprecated',
      '2026-07-01T00:00:00Z /v1 is deprecated',
      '2027-02-03T04:05:06Z Sunset of GET /v1/old',
      '2028-01-01T00:00:00Z Sunset of /v1',
      '2028-01-01T00:00:00Z /v1 is retired',
    ]);
    expect(events[1]?.text).toBe('/v1 is no longer recommended. Move to /v9: https://api.example.com/v9');
  });

  it('include brownouts, with their end', async () => {
    const brownouts = [
      { at: '2027-03-02T14:00Z', for: '1h', clients: '25%' },
      { at: '2027-03-16T14:00Z', for: '4h', routes: ['GET /drinks/{id}', 'GET /x'] },
    ];
    const dates = { deprecation: '2026-07-01', sunset: '2028-01-01' };
    const server = await serveDiscovery(withVersion({ ...dates, brownouts }));
    const calendar = new ICAL.Component(ICAL.parse(await served('/lifecycle.ics', server)));
    const events = calendar.getAllSubcomponents('vevent').map((component) => new ICAL.Event(component));
    const windows = events.filter(({ summary }) => summary === 'Brownout of /v1');
    expect(windows.map(({ startDate, endDate }) => `${startDate} ${endDate}`)).toEqual([
      '2027-03-02T14:00:00Z 2027-03-02T15:00:00Z',
      '2027-03-16T14:00:00Z 2027-03-16T18:00:00Z',
    ]);
    const announced = JSON.parse(await served('/', server)).versions[0].brownouts;
    expect(announced.map((one: Record<string, string>) => `${one['starts_at']} ${one['ends_at']}`)).toEqual(
      windows.map(({ startDate, endDate }) => `${startDate} ${endDate}`),
    );
    expect(windows[1]?.description).toBe(
      'Requests of some clients to GET /v1/drinks/{id}, GET /v1/x are refused until 2027-03-16T18:00:00Z. Move to /v9: https://api.example.com/v9',
    );
    const { entries = [] } = feedIn(await served('/lifecycle.atom', server));
    expect(entries.filter(({ title }) => title?.value === 'Brownout of /v1')).toHaveLength(2);
  });

  it.each([
    ['retired', { sunset: '2028-01-01', retired: true }],
    ['past its sunset', { sunset: '2026-08-01', after_sunset: 'gone' }],
  ])('mention, as the index does, that a version that is %s still serves single clients', async (_what, end) => {
    const waivers = [{ client: 'acme', until: '2028-06-01', reason: 'a contract' }];
    const version = { upstream: 'http://127.0.0.1:3001', deprecation: '2026-07-01', ...end, waivers };
    const server = await serveDiscovery(withVersion(version));
    const text = 'answered 410 Gone, except requests of single clients, each until its own date.';
    expect(await served('/lifecycle.atom', server)).toContain(text);
  });

  it('leave out brownouts of a retired version, as its guide does, because they refuse nothing', async () => {
    const brownouts = [{ at: '2027-03-02T14:00Z', for: '1h' }];
    const server = await serveDiscovery(withVersion({ deprecation: '2026-07-01', retired: true, brownouts }));
    for (const path of ['/', '/lifecycle.ics', '/lifecycle.atom'])
      expect(await served(path, server)).not.toMatch(/brownout/i);
  });

  it('show a brownout that was skipped or stopped as cancelled, until it is gone from the file', async () => {
    const brownouts = [
      { at: '2027-03-02T14:00Z', for: '1h' },
      { at: '2027-03-16T14:00Z', for: '4h' },
    ];
    const current = withVersion({ deprecation: '2026-07-01', sunset: '2028-01-01', brownouts });
    const since = Date.parse('2027-03-02T14:10:00Z');
    const cancelled = new Map([['v1 2027-03-02T14:00:00Z', since]]);
    const server = await serve(createDiscovery({ current, cancelled }, { now: () => since + 1000 }));
    const calendar = new ICAL.Component(ICAL.parse(await served('/lifecycle.ics', server)));
    const windows = calendar
      .getAllSubcomponents('vevent')
      .filter((event) => String(event.getFirstPropertyValue('summary')).includes('Brownout'))
      .map((event) => ['summary', 'status', 'sequence'].map((name) => event.getFirstPropertyValue(name)));
    expect(windows).toEqual([
      ['Cancelled: Brownout of /v1', 'CANCELLED', 1],
      ['Brownout of /v1', null, null],
    ]);
    const [first] = eventsIn(await served('/lifecycle.ics', server)).filter(({ title }) => title.includes('Brownout'));
    expect(first?.revised).toBe('2027-03-02T14:10:00Z');
    const before = eventsIn(await served('/lifecycle.ics', await serveDiscovery(current)));
    expect(before.map(({ id }) => id)).toContain(first?.id);
    const feed = feedIn(await served('/lifecycle.atom', server));
    expect(feed.updated).toBe('2027-03-02T14:10:00Z');
    const entry = feed.entries?.find(({ title }) => title?.value === 'Cancelled: Brownout of /v1');
    expect([entry?.updated, entry?.content?.value]).toEqual([
      '2027-03-02T14:10:00Z',
      'Cancelled: from 2027-03-02T14:10:00Z on, this brownout refuses no requests. Move to /v9: https://api.example.com/v9',
    ]);
    const [{ brownouts: announced }] = JSON.parse(await served('/', server)).versions;
    expect(announced.map((one: Record<string, string>) => one['starts_at'])).toEqual(['2027-03-16T14:00:00Z']);
    const { body: page } = await ask(server, '/', { accept: 'text/html' });
    expect(page).toContain('2027-03-16T14:00:00Z');
    expect(page).not.toContain('2027-03-02T14:00:00Z');
  });

  it('leave out the routes of an unpublished contract', async () => {
    const ends = { 'GET /old': { deprecation: '2026-06-01' } };
    const paths = '/old: { get: { responses: { "200": { description: ok } } } }';
    const folder = contractFolder({
      'v3.yaml': `openapi: 3.1.0\ninfo: { title: x, version: "1" }\npaths: { ${paths} }\n`,
    });
    const routes = (publish: boolean) => ({
      '/v1': { upstream: 'http://127.0.0.1:3001', ends, contract: { file: 'v3.yaml', publish } },
    });
    const eventsWith = async (publish: boolean): Promise<Event[]> =>
      eventsIn(await served('/lifecycle.ics', await serveDiscovery(snapshotFrom({ routes: routes(publish) }, folder))));
    expect(await eventsWith(true)).toHaveLength(1);
    expect(await eventsWith(false)).toEqual([]);
  });

  it('say that a tombstone is retired', async () => {
    const feed = feedIn(await served('/lifecycle.atom', await serveDiscovery()));
    expect(feed.entries?.at(-1)?.content).toMatchObject({
      value: '/v0 is no longer recommended. /v0 is retired: every request is answered 410 Gone. Move to /v1: /v1',
    });
  });

  it('say that a version is retired by its date', async () => {
    const ends = { 'GET /old': { deprecation: '2026-06-01' } };
    const settings = { deprecation: '2026-07-01', sunset: '2026-08-01', after_sunset: 'gone', ends };
    const events = eventsIn(await served('/lifecycle.ics', await serveDiscovery(withVersion(settings))));
    const note = 'is answered 410 Gone. Move to /v9: https://api.example.com/v9';
    expect(events.map(({ text }) => text)).toEqual([
      `GET /v1/old is no longer recommended. /v1 is retired: every request ${note}`,
      `/v1 is no longer recommended. /v1 is retired: every request ${note}`,
      `/v1 may stop at any time from now on. /v1 is retired: every request ${note}`,
      `Every request to /v1 ${note}`,
    ]);
  });
});

describe('ids and times of change', () => {
  const dates = { deprecation: '2026-07-01', sunset: '2028-01-01' };
  const eventsOf = async (settings: object): Promise<Event[]> =>
    eventsIn(await served('/lifecycle.ics', await serveDiscovery(withVersion(settings))));

  it('ids stay the same after an edit of other settings', async () => {
    const before = await eventsOf(dates);
    const after = await eventsOf({ ...dates, info: 'https://example.com/new', limits: { body: '2MiB' } });
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(new Set(before.map(({ id }) => id)).size).toBe(2);
    for (const { id } of before)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('a date that is moved keeps its id', async () => {
    const [before, after] = [await eventsOf(dates), await eventsOf({ ...dates, sunset: '2028-06-01' })];
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('the time of change is that of the files, and never in the future', async () => {
    const file = join(contractFolder(), 'routes.yaml');
    const routes = { '/v1': { upstream: 'http://127.0.0.1:3001', ...dates, contract: 'v1.yaml' } };
    writeFileSync(file, JSON.stringify({ routes }));
    const future = new Date(systemClock.now() + 86_400_000);
    utimesSync(file, future, future);
    const server = async (): Promise<Served> => serveDiscovery(loadSnapshot(file));
    const changed = lastChangeOf(file) ?? 0;
    expect(changed).toBeLessThanOrEqual(systemClock.now());
    const second = new Date(changed).toISOString().replace(/\.\d+Z$/, 'Z');
    for (const one of [await server(), await server()]) {
      expect(eventsIn(await served('/lifecycle.ics', one)).map(({ revised }) => revised)).toEqual([second, second]);
      const feed = feedIn(await served('/lifecycle.atom', one));
      expect([feed.updated, ...(feed.entries ?? []).map(({ updated }) => updated)]).toEqual([second, second, second]);
    }
    // The clock of the file system may be ahead of the gateway's.
    const early = parseConfig(readFileSync(file), file, { clock: { now: () => changed - 60_000 } }).snapshot;
    expect(early?.filesChangedAt).toBe(changed - 60_000);
  });

  it('the time of change is that of a contract which was replaced later by an older file', async () => {
    const folder = contractFolder({ 'older.yaml': yamlContract });
    const file = join(folder, 'routes.yaml');
    writeFileSync(
      file,
      JSON.stringify({ routes: { '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml' } } }),
    );
    utimesSync(join(folder, 'older.yaml'), 0, 0);
    const before = loadSnapshot(file).filesChangedAt;
    await vi.waitUntil(() => systemClock.now() > before + 10);
    renameSync(join(folder, 'older.yaml'), join(folder, 'v1.yaml'));
    expect(loadSnapshot(file).filesChangedAt).toBeGreaterThan(before);
  });

  it('differ between two APIs, and between two base paths', async () => {
    const apis = [publicUrl, { public_url: 'https://other.example.com' }, { ...publicUrl, base_path: '/api' }];
    const ids = await Promise.all(
      apis.map(async (gateway) => {
        const snapshot = withVersion(dates, gateway);
        const base = snapshot.gateway.basePath;
        return eventsIn(await served(`${base}/lifecycle.ics`, await serveDiscovery(snapshot)))[0]?.id;
      }),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('the feed and its entries have the ids of the calendar', async () => {
    const server = await serveDiscovery(withVersion(dates));
    const events = eventsIn(await served('/lifecycle.ics', server));
    const feed = feedIn(await served('/lifecycle.atom', server));
    expect(feed.entries?.map(({ id }) => id)).toEqual(events.map(({ id }) => `urn:uuid:${id}`).reverse());
    expect(feed.id).toMatch(/^urn:uuid:/);
  });
});

describe('the text', () => {
  const awkward = '/a,b;c&<d>"e"/größe-größe-größe-größe-größe-größe-größe-größe-größe';

  it('has escaped values and lines of at most 75 octets', async () => {
    const ends = { [`GET ${awkward}`]: { deprecation: '2026-06-01' } };
    const server = await serveDiscovery(withVersion({ ends }));
    const text = await served('/lifecycle.ics', server);
    const lines = text.split('\r\n');
    expect(lines.pop()).toBe('');
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n\uFFFD]/);
    expect(lines.some((line) => line.startsWith(' '))).toBe(true);
    expect(eventsIn(text)[0]?.title).toBe(`GET /v1${awkward} is deprecated`);
    const feed = feedIn(await served('/lifecycle.atom', server));
    expect(feed.entries?.[0]).toMatchObject({ title: { value: `GET /v1${awkward} is deprecated` } });
  });

  it('is valid without any date', async () => {
    const snapshot = withVersion({});
    const server = await serveDiscovery(snapshot);
    const calendar = new ICAL.Component(ICAL.parse(await served('/lifecycle.ics', server)));
    expect(calendar.getAllSubcomponents().map(({ name }) => name)).toEqual(['vtimezone']);
    const feed = feedIn(await served('/lifecycle.atom', server));
    expect(feed.entries ?? []).toEqual([]);
    expect(Date.parse(feed.updated ?? '')).toBe(Math.floor(snapshot.filesChangedAt / 1000) * 1000);
  });

  it('has absolute links with a public URL, and relative ones without', async () => {
    const links = async (gateway: object): Promise<string[]> => {
      const snapshot = withVersion({ deprecation: '2026-07-01' }, gateway);
      const path = `${snapshot.gateway.basePath}/lifecycle.atom`;
      const { links = [], entries = [] } = feedIn(await served(path, await serveDiscovery(snapshot)));
      return [...links, ...(entries[0]?.links ?? [])].map(({ href }) => href ?? '');
    };
    const base = 'https://api.example.com/api';
    expect(await links({ ...publicUrl, base_path: '/api' })).toEqual([`${base}/lifecycle.atom`, base, base]);
    expect(await links({})).toEqual(['/lifecycle.atom', '/', '/']);
    const calendar = await served(
      '/lifecycle.ics',
      await serveDiscovery(withVersion({ deprecation: '2026-07-01' }, {})),
    );
    expect(calendar).not.toContain('URL:');
  });
});

describe('requests', () => {
  it.each([
    ['/lifecycle.ics', 'text/calendar; charset=utf-8'],
    ['/lifecycle.atom', 'application/atom+xml; charset=utf-8'],
  ])('%s answers GET, HEAD and conditional requests', async (path, type) => {
    const server = await serveDiscovery();
    const { status, headers, body } = await ask(server, path);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, type, 'public, max-age=60']);
    const etag = String(headers['etag']);
    expect(await ask(server, path, { 'if-none-match': etag })).toMatchObject({ status: 304, body: '' });
    const head = await ask(server, path, {}, 'HEAD');
    expect([head.status, head.body, head.headers['etag']]).toEqual([200, '', etag]);
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(body)));
    expect((await ask(server, path, {}, 'POST')).status).toBe(405);
    expect((await ask(server, `${path}?x=1`)).body).toBe(body);
  });

  it('the ETag stays the same while no date and no stage changes', async () => {
    const current = snapshotFrom(lifecycle, contractFolder());
    const etagAt = async (at: string): Promise<unknown> => {
      const server = await serve(createDiscovery({ current }, { now: () => Date.parse(at) }));
      return (await ask(server, '/lifecycle.ics')).headers['etag'];
    };
    expect(await etagAt('2026-11-22T10:00:00Z')).toBe(await etagAt(new Date(now).toISOString()));
  });

  it('the index links to both', async () => {
    const server = await serveDiscovery(snapshotWith({ base_path: '/api' }));
    const { headers } = await ask(server, '/api');
    expect(headers['link']).toContain('</api/lifecycle.ics>; rel="alternate"; type="text/calendar"');
    expect(headers['link']).toContain('</api/lifecycle.atom>; rel="alternate"; type="application/atom+xml"');
    const { body } = await ask(server, '/api', { accept: 'text/html' });
    expect(body).toContain('<link rel="alternate" type="application/atom+xml" href="/api/lifecycle.atom">');
    expect(body).toContain('<a href="/api/lifecycle.ics">calendar</a>');
  });
});
