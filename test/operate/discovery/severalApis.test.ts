import { describe, expect, it } from 'vitest';
import { idIn } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { type Snapshot, type Version, withVersions } from '../../../gateway/config/snapshot.ts';
import { announcementsAt, linksFor } from '../../../gateway/versions/lifecycle/announcement.ts';
import { hostOf, withoutRoot } from '../../support/hostOf.ts';
import { ask, contractFolder, now, serveDiscovery } from './server.ts';

const upstream = 'http://127.0.0.1:3001';
const origin = 'https://api.example.com';
const ends = { upstream, deprecation: '2026-06-30', sunset: '2027-06-30' };

function api(routes: object, basePath = '/'): Snapshot {
  const gateway = { public_url: origin, base_path: basePath };
  const snapshot = snapshotFrom({ routes: routes as Record<string, unknown>, gateway }, contractFolder());
  return { ...snapshot, filesChangedAt: now };
}

const drinks = () => api({ '/v1': ends, '/v2': upstream });

/** The host, with some keys of a version changed: a file of one API cannot name a version of another one yet. */
function changed(host: Snapshot, id: string, keys: Partial<Version>): Snapshot {
  const version = host.versions.get(id);
  if (!version) throw new Error(id);
  return withVersions(host, new Map([[id, { ...version, ...keys }]]));
}

async function json(host: Snapshot, path: string) {
  return JSON.parse((await ask(await serveDiscovery(host), path, { accept: 'application/json' })).body);
}

describe('the pages of the host', () => {
  it('list the other APIs beside the versions of the API at the root', async () => {
    const host = hostOf(api({ '/v7': ends, '/v8': upstream }), { '/drinks': drinks(), '/a/b': drinks() });
    const { latest, versions, apis, catalog } = await json(host, '/');
    expect([latest, versions.map(({ version }: { version: string }) => version)]).toEqual(['v8', ['v7', 'v8']]);
    expect(apis).toEqual([
      { api: '/drinks', url: `${origin}/drinks` },
      { api: '/a/b', url: `${origin}/a/b` },
    ]);
    expect(catalog).toBe(`${origin}/.well-known/api-catalog`);
    const page = await ask(await serveDiscovery(host), '/', { accept: 'text/html' });
    expect(page.body).toContain(`<a href="${origin}/a/b">/a/b</a>`);
    expect(await json(host, '/drinks')).not.toHaveProperty('apis');
  });

  it('list only the other APIs if the root has no versions', async () => {
    const host = withoutRoot(hostOf(drinks(), { '/drinks': drinks() }));
    expect(await json(host, '/')).toEqual({
      apis: [{ api: '/drinks', url: `${origin}/drinks` }],
      catalog: `${origin}/.well-known/api-catalog`,
    });
    const page = await ask(await serveDiscovery(host), '/', { accept: 'text/html' });
    expect(page.body).toContain('<a href="https://api.example.com/drinks">/drinks</a>');
    expect(page.body).not.toContain('No version is in service');
  });

  it('do not list an API that is not to be listed, which has its own pages nevertheless', async () => {
    const host = hostOf(drinks(), { '/open': drinks(), '/secret': drinks() });
    const secret = host.apis.get('/secret');
    if (!secret) throw new Error('no API');
    const apis = new Map([...host.apis, ['/secret', { ...secret, listed: false }] as const]);
    const served = await serveDiscovery({ ...host, apis });
    for (const path of ['/', '/lifecycle.ics', '/lifecycle.atom', '/.well-known/api-catalog']) {
      const { body } = await ask(served, path);
      expect([body.includes('open'), body.includes('secret')]).toEqual([true, false]);
    }
    expect((await ask(served, '/secret')).body).toContain(`"url": "${origin}/secret/v1"`);
  });

  it('have one catalog with the versions of all APIs', async () => {
    const host = hostOf(api({ '/v7': ends }, '/api'), { '/drinks': api({ '/v1': ends, '/v2': upstream }, '/api') });
    const { linkset } = await json(host, '/.well-known/api-catalog');
    expect(linkset).toMatchObject([
      { anchor: `${origin}/api/v7`, 'service-doc': [{ href: `${origin}/api` }] },
      {
        anchor: `${origin}/api/drinks/v1`,
        'service-doc': [{ href: `${origin}/api/drinks` }],
        'successor-version': [{ href: `${origin}/api/drinks/v2` }],
      },
      { anchor: `${origin}/api/drinks/v2` },
    ]);
  });

  it('have the dates of all APIs, each with the id that it has on the page of its API', async () => {
    const served = await serveDiscovery(hostOf(api({ '/v7': ends }), { '/drinks': drinks(), '/a/b': drinks() }));
    const datesOf = async (path: string) => {
      const { body } = await ask(served, path);
      const ids = [...body.matchAll(/^UID:(.*)\r$|<entry>\n<id>urn:uuid:(.*)<\/id>/gm)].map(([, uid, id]) => uid ?? id);
      return { ids, body };
    };
    for (const page of ['/lifecycle.ics', '/lifecycle.atom']) {
      const host = await datesOf(page);
      expect(new Set(host.ids).size).toBe(6);
      const [ofDrinks, ofOther] = [await datesOf(`/drinks${page}`), await datesOf(`/a/b${page}`)];
      expect(ofDrinks.ids).toHaveLength(2);
      expect(host.ids).toEqual(expect.arrayContaining([...ofDrinks.ids, ...ofOther.ids]));
      expect([host.body.includes('Sunset of /drinks/v1'), ofDrinks.body.includes('Sunset of /v1')]).toEqual([
        true,
        true,
      ]);
    }
  });
});

describe('a successor in another API', () => {
  // v2 of drinks is followed by v1 of cocktails, which has a lower major.
  function movedHost(withContract: object = { contract: 'v1.yaml' }): Snapshot {
    const before = api({ '/v1': { ...ends, ...withContract }, '/v2': { ...ends, ...withContract } });
    const after = api({ '/v1': { upstream, ...withContract }, '/v2': upstream });
    const host = hostOf(api({ '/v7': upstream }), { '/drinks': before, '/x/cocktails': after });
    return changed(host, 'drinks/v2', { successor: idIn('/x/cocktails', 'v1'), guide: true });
  }

  it('is named by its API on the pages of the version', async () => {
    const { versions } = await json(movedHost(), '/drinks');
    expect(versions[1]).toMatchObject({
      version: 'v2',
      successor: { name: 'x/cocktails/v1', url: `${origin}/x/cocktails/v1` },
      guide: `${origin}/drinks/guides/v2-to-x-cocktails-v1`,
    });
    const served = await serveDiscovery(movedHost());
    const { body } = await ask(served, '/drinks', { accept: 'text/html' });
    expect(body).toContain('<a href="/x/cocktails#about-v1">x/cocktails/v1</a>');
    expect((await ask(served, '/drinks/lifecycle.ics')).body.replaceAll('\r\n ', '')).toContain(
      `Move to /x/cocktails/v1: ${origin}/x/cocktails/v1`,
    );
    const guide = await ask(served, '/drinks/guides/v2-to-x-cocktails-v1.md');
    expect([guide.status, guide.body]).toEqual([200, expect.stringContaining('from v2 to x/cocktails/v1')]);
    for (const name of ['v2-to-v1', 'v1-to-x-cocktails-v1', 'v2-to-drinks-v1'])
      expect((await ask(served, `/drinks/guides/${name}`)).status).toBe(404);
  });

  it('and the latest version of its API are in the links of responses', () => {
    const host = movedHost({});
    const links = (id: string) => {
      const version = host.versions.get(id);
      const announcement = version && announcementsAt(host, now).get(version);
      return announcement && linksFor('/7', announcement, '');
    };
    expect(links('drinks/v2')).toEqual([
      '</x/cocktails/v1/7>; rel="successor-version"',
      '</x/cocktails/v2/7>; rel="latest-version"',
    ]);
    expect(links('drinks/v1')).toEqual(['</drinks/v2/7>; rel="successor-version"']);
  });
});
