import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDiscovery } from '../../../gateway/operate/discovery/app.ts';
import { giving, guided } from './guides.ts';
import { ask, contractFolder, serve, serveDiscovery, snapshotWith } from './server.ts';

const path = '/guides/v1-to-v2';

describe('no guide is served', () => {
  it.each([
    '/guides/v1-to-v3',
    '/guides/v2-to-v3',
    '/guides/v1-to-v2.html',
    '/guides/v2-to-v1',
    '/guides/',
    '/guides/v1',
  ])('%s', async (other) => {
    const { status, headers } = await ask(await serveDiscovery(guided()), other);
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
  });

  it('without `guide: true` in routes.yaml', async () => {
    const served = await serveDiscovery(guided({ route: { guide: false } }));
    expect((await ask(served, path)).status).toBe(404);
    expect((await ask(served, '/')).body).not.toContain('guide');
  });

  it('for another method', async () => {
    const { status, headers } = await ask(await serveDiscovery(guided()), path, {}, 'POST');
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

it('announces brownouts until they are over or cancelled', async () => {
  const brownouts = [
    { at: '2027-03-02T14:00Z', for: '1h' },
    { at: '2027-03-16T14:00Z', for: '1h' },
  ];
  const current = guided({ route: { deprecation: '2026-07-01', sunset: '2028-01-01', brownouts } });
  let time = Date.parse('2027-03-01');
  const source = { current, cancelled: new Map<string, number>() };
  const served = await serve(createDiscovery(source, { now: () => time }));
  const announced = async () => (await ask(served, `${path}.md`)).body.match(/refused in brownouts: .*/)?.[0];
  const [first, second] = [
    '2027-03-02T14:00:00Z to 2027-03-02T15:00:00Z',
    '2027-03-16T14:00:00Z to 2027-03-16T15:00:00Z',
  ];
  expect(await announced()).toBe(`refused in brownouts: ${first}, ${second}.`);
  source.cancelled = new Map([['v1 2027-03-16T14:00:00Z', time]]);
  expect(await announced()).toBe(`refused in brownouts: ${first}.`);
  time = Date.parse('2027-03-02T15:00:00Z');
  expect(await announced()).toBeUndefined();
});

it('says, as the index does, that a retired version still serves single clients, until the last waiver ends', async () => {
  const waivers = [{ client: 'acme', until: '2028-06-01', reason: 'a contract' }];
  const end = { deprecation: '2026-07-01', sunset: '2028-01-01', after_sunset: 'gone', waivers };
  let time = Date.parse('2028-05-01');
  const served = await serve(createDiscovery({ current: guided({ route: end }) }, { now: () => time }));
  const announced = async () => (await ask(served, `${path}.md`)).body.match(/Move now: .*/)?.[0];
  const text = 'Move now: v1 is retired, and requests to it are answered with 410 Gone';
  expect(await announced()).toBe(`${text}, except requests of single clients, each until its own date.`);
  time = Date.parse('2028-06-01');
  expect(await announced()).toBe(`${text}.`);
});

it('answers 503 and reports the file while a contract cannot be read, and recovers', async () => {
  const folder = contractFolder();
  const notices: string[] = [];
  const served = await serveDiscovery(guided({ folder }), (line) => notices.push(line));
  rmSync(join(folder, 'old.json'));
  const { status, body } = await ask(served, path);
  expect([status, JSON.parse(body)]).toMatchObject([503, { code: 'CONTRACT_UNREADABLE' }]);
  expect(body).not.toContain(folder);
  expect(notices).toEqual([
    expect.stringContaining(`The guide ${path} cannot be written: ${join(folder, 'old.json')}`),
  ]);
  guided({ folder });
  expect((await ask(served, path)).status).toBe(200);
});

it.each([
  ['no Accept', {}, 'text/html; charset=utf-8'],
  ['a browser', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, 'text/html; charset=utf-8'],
  ['Markdown', { accept: 'text/markdown' }, 'text/markdown; charset=utf-8'],
  ['something else', { accept: 'image/png' }, 'text/html; charset=utf-8'],
])('answers %s', async (_what, headers, type) => {
  const { status, headers: got, body } = await ask(await serveDiscovery(guided()), path, headers);
  expect([status, got['content-type'], got['vary']]).toEqual([200, type, 'Accept']);
  expect(body).toMatch(type.startsWith('text/html') ? /^<!doctype html>/ : /^# Cocktails: moving from v1 to v2/);
});

it('has its own URL for Markdown', async () => {
  const { headers } = await ask(await serveDiscovery(guided()), `${path}.md`, { accept: 'text/html' });
  expect(headers['content-type']).toBe('text/markdown; charset=utf-8');
});

it('forbids scripts and other resources', async () => {
  const { headers, body } = await ask(await serveDiscovery(guided()), path);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; /);
  expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  expect(body).not.toContain('<script');
});

it('answers HEAD without a body, and 304 to a matching ETag', async () => {
  const served = await serveDiscovery(guided());
  const head = await ask(served, path, {}, 'HEAD');
  const etag = String(head.headers['etag']);
  expect([head.status, head.body]).toEqual([200, '']);
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  expect((await ask(served, path, { 'if-none-match': etag })).status).toBe(304);
  expect((await ask(served, `${path}.md`, { 'if-none-match': etag })).status).toBe(200);
});

it('is generated once for a snapshot', async () => {
  const folder = contractFolder();
  const served = await serveDiscovery(guided({ folder }));
  const first = await ask(served, path);
  writeFileSync(join(folder, 'old.json'), 'changed');
  expect((await ask(served, path)).body).toBe(first.body);
});

it('does not delay other requests while it is generated', async () => {
  const many = (type: string) =>
    Object.fromEntries(
      Array.from({ length: 600 }, (_unused, at) => [
        `/thing${at}`,
        giving({ [`f${at}`]: { type }, other: { type } }, {}),
      ]),
    );
  const served = await serveDiscovery(guided({ old: many('string'), now: many('integer'), route: { moved: {} } }));
  const order: string[] = [];
  const slow = ask(served, path).then(({ status }) => order.push(`guide ${status}`));
  for (let round = 0; round < 5; round += 1) await ask(served, '/').then(({ status }) => order.push(`index ${status}`));
  await slow;
  expect(order).toEqual([...Array.from({ length: 5 }, () => 'index 200'), 'guide 200']);
});

it('is linked from the index, its JSON and the catalog, below the base path', async () => {
  const gateway = { base_path: '/api', public_url: 'https://h.example' };
  const served = await serveDiscovery(guided({ gateway }));
  const url = `https://h.example/api${path}`;
  expect((await ask(served, '/api', { accept: 'text/html' })).body).toContain(
    `<a href="${url}">Guide from v1 to v2</a>`,
  );
  expect(JSON.parse((await ask(served, '/api')).body).versions[0].guide).toBe(url);
  const { linkset } = JSON.parse((await ask(served, '/.well-known/api-catalog')).body);
  expect(linkset[0]).toMatchObject({ deprecation: [{ href: url, type: 'text/html' }], sunset: [{ href: url }] });
  const { status, body } = await ask(served, `/api${path}`);
  expect(status).toBe(200);
  expect(body).toContain(
    'Call <code>https://h.example/api/v2</code> instead of <code>https://h.example/api/v1</code>.',
  );
});

it('is listed in addition to the `info` page of routes.yaml', async () => {
  const served = await serveDiscovery(guided({ route: { info: 'https://example.com/end' } }));
  const { linkset } = JSON.parse((await ask(served, '/.well-known/api-catalog')).body);
  expect(linkset[0].deprecation.map(({ href }: { href: string }) => href)).toEqual([
    'https://example.com/end',
    expect.stringContaining(path),
  ]);
});

it('is not found in a snapshot without guides', async () => {
  expect((await ask(await serveDiscovery(snapshotWith()), path)).status).toBe(404);
});
