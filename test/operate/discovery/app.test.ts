import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { createDiscovery } from '../../../gateway/operate/discovery/app.ts';
import { folderOfSeveralFiles } from '../../support/severalFiles.ts';
import {
  type Answer,
  ask,
  contractFolder,
  jsonContract,
  now,
  sendRaw,
  serve,
  serveDiscovery,
  snapshotWith,
  yamlContract,
} from './server.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('what a client accepts', () => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/*', 'application/json'],
    [browser, 'text/html; charset=utf-8'],
    ['text/*', 'text/html; charset=utf-8'],
    ['text/html;q=0.4, application/json;q=0.5', 'application/json'],
    ['application/json;q=0, */*', 'text/html; charset=utf-8'],
    ['image/png', 'application/json'],
  ])('%s → %s', async (accept, type) => {
    const answer = await ask(await serveDiscovery(), '/', accept === undefined ? {} : { accept });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.headers['vary']).toBe('Accept');
  });
});

it('lists every version with its stage, dates, successor and links', async () => {
  const served = await serveDiscovery(snapshotWith({ public_url: 'https://api.example.com' }));
  const { body, headers } = await ask(served, '/');
  expect(JSON.parse(body)).toEqual({
    latest: 'v4',
    versions: [
      {
        version: 'v0',
        url: 'https://api.example.com/v0',
        stage: 'retired',
        deprecation: '2024-03-01T00:00:00Z',
        sunset: '2025-03-01T00:00:00Z',
        successor: { name: 'v1', url: 'https://api.example.com/v1' },
      },
      {
        version: 'v1',
        url: 'https://api.example.com/v1',
        stage: 'sunset',
        deprecation: '2024-12-01T00:00:00Z',
        sunset: '2026-08-31T23:59:59Z',
        successor: { name: 'v2', url: 'https://api.example.com/v2' },
        contract: 'https://api.example.com/contracts/v1.yaml',
        info: 'https://example.com/v1-end',
      },
      {
        version: 'v2',
        url: 'https://api.example.com/v2',
        stage: 'deprecated',
        deprecation: '2026-06-30T00:00:00Z',
        sunset: '2028-06-30T00:00:00Z',
        successor: { name: 'v3', url: 'https://api.example.com/v3' },
        contract: 'https://api.example.com/contracts/v2.json',
      },
      {
        version: 'v3',
        url: 'https://api.example.com/v3',
        stage: 'announced',
        deprecation: '2027-02-01T00:00:00Z',
        successor: { name: 'v4', url: 'https://api.example.com/v4' },
      },
      { version: 'v4', url: 'https://api.example.com/v4', stage: 'active' },
    ],
    catalog: 'https://api.example.com/.well-known/api-catalog',
  });
  expect(headers).toMatchObject({
    'cache-control': 'public, max-age=60',
    'access-control-allow-origin': '*',
    link: expect.stringMatching(/^<\/\.well-known\/api-catalog>; rel="api-catalog", /),
  });
  expect(headers).not.toHaveProperty('x-powered-by');
});

it('answers below the base path, with and without the slash', async () => {
  const served = await serveDiscovery(snapshotWith({ base_path: '/a(b):c*/$$x' }));
  for (const path of ['/a(b):c*/$x', '/a(b):c*/$x/', '/a(b):c*/$x?y=1']) {
    const { body } = await ask(served, path, { host: 'h' });
    expect(JSON.parse(body).versions[1]).toMatchObject({
      url: '/a(b):c*/$x/v1',
      contract: '/a(b):c*/$x/contracts/v1.yaml',
    });
  }
});

// These responses are `public`, and a cache does not distinguish these requests.
describe('no answer depends on', () => {
  const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
  const pages = [
    ['/', 'application/json'],
    ['/', 'text/html'],
    ['/.well-known/api-catalog', '*/*'],
    ['/lifecycle.ics', '*/*'],
    ['/lifecycle.atom', '*/*'],
    ['/contracts/v1.yaml', '*/*'],
    ['/guides/v1-to-v2', 'text/html'],
    ['/nothing', '*/*'],
  ] as const;

  it.each([
    ['the Host', {}, { host: 'evil.example:8080' }],
    ['a Host that is none', {}, { host: '"><script>' }],
    ['what a trusted proxy passes on', { trusted_proxies: ['loopback'] }, proxied],
    ['either of them with a public_url', { trusted_proxies: ['loopback'], public_url: 'https://p.example' }, proxied],
  ])('%s', async (_name, gateway, headers) => {
    const served = await serveDiscovery(snapshotWith(gateway));
    for (const [path, accept] of pages) {
      const [plain, changed] = [await ask(served, path, { accept }), await ask(served, path, { accept, ...headers })];
      const undated = ({ headers, ...answer }: Answer) => ({ ...answer, headers: { ...headers, date: undefined } });
      expect(undated(changed), path).toEqual(undated(plain));
    }
  });

  it('the authority of an absolute-form target', async () => {
    const raw = await sendRaw(
      await serveDiscovery(),
      'GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n',
    );
    expect(raw).toContain('"url": "/v4"');
    expect(raw).not.toMatch(/[ab]\.example/);
  });
});

it.each([
  [{}, '/v4'],
  [{ public_url: 'https://p.example' }, 'https://p.example/v4'],
])('with %o a link is %s', async (gateway, expected) => {
  const { body } = await ask(await serveDiscovery(snapshotWith(gateway)), '/');
  expect(JSON.parse(body).versions[4].url).toBe(expected);
});

it('follows the clock and a reload', async () => {
  const source = { current: snapshotWith() };
  const clock = { now: () => now };
  const served = await serve(createDiscovery(source, clock));
  const stages = async (path: string): Promise<string[]> =>
    JSON.parse((await ask(served, path)).body).versions.map((version: { stage: string }) => version.stage);
  expect(await stages('/')).toEqual(['retired', 'sunset', 'deprecated', 'announced', 'active']);
  clock.now = () => Date.parse('2028-06-30T00:00:00Z');
  expect(await stages('/')).toEqual(['retired', 'sunset', 'sunset', 'deprecated', 'active']);
  source.current = snapshotWith({ base_path: '/api' });
  expect(await stages('/api')).toHaveLength(5);
  expect((await ask(served, '/')).status).toBe(404);
});

describe('methods', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND'])('%s is rejected with the allowed methods', async (method) => {
    for (const path of ['/', '/contracts/v1.yaml', '/.well-known/api-catalog']) {
      const { status, headers, body } = await ask(await serveDiscovery(), path, {}, method);
      expect(status).toBe(405);
      expect(headers).toMatchObject({ allow: 'GET, HEAD, OPTIONS', 'content-type': 'application/problem+json' });
      expect(JSON.parse(body)).toMatchObject({ status: 405, title: 'Method not allowed' });
    }
  });

  it('HEAD has the headers of GET and no body', async () => {
    const served = await serveDiscovery();
    for (const path of ['/', '/contracts/v1.yaml', '/.well-known/api-catalog']) {
      const [get, head] = [await ask(served, path), await ask(served, path, {}, 'HEAD')];
      expect(head).toEqual({ ...get, body: '', headers: { ...get.headers, date: head.headers['date'] } });
    }
  });

  it('OPTIONS answers a preflight', async () => {
    const { status, headers, body } = await ask(
      await serveDiscovery(),
      '/',
      { origin: 'https://x.example' },
      'OPTIONS',
    );
    expect([status, body]).toEqual([204, '']);
    expect(headers).toMatchObject({
      allow: 'GET, HEAD, OPTIONS',
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    });
  });
});

it('answers 304 to a matching ETag', async () => {
  const served = await serveDiscovery();
  const { headers } = await ask(served, '/');
  const again = await ask(served, '/', { 'if-none-match': String(headers['etag']) });
  expect([again.status, again.body]).toEqual([304, '']);
  expect(again.headers['vary']).toBe('Accept');
});

describe('a contract', () => {
  it.each([
    ['/contracts/v1.yaml', 'application/yaml', yamlContract],
    ['/contracts/v2.json', 'application/json', jsonContract],
  ])('%s is the file as %s', async (path, type, body) => {
    const answer = await ask(await serveDiscovery(), path);
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(answer.headers).toMatchObject({
      'content-type': type,
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=60',
      'x-content-type-options': 'nosniff',
      etag: expect.any(String),
      'last-modified': expect.any(String),
    });
  });

  it('of several files is one document, also for a conditional request', async () => {
    const folder = folderOfSeveralFiles();
    const routes = { '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'api.yaml' } };
    const notices: string[] = [];
    const served = await serveDiscovery(snapshotFrom({ routes }, folder), (line) => notices.push(line));
    const answer = await ask(served, '/contracts/v1.yaml');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/yaml']);
    expect(answer.body).toContain('$ref: "#/x-files/paths~1drinks.yaml"');
    const again = await ask(served, '/contracts/v1.yaml', { 'if-none-match': String(answer.headers['etag']) });
    expect([again.status, again.body]).toEqual([304, '']);
    expect((await ask(served, '/contracts/v1.yaml', {}, 'HEAD')).body).toBe('');
    expect((await ask(served, '/contracts/paths/drinks.yaml')).status).toBe(404);
    expect(notices).toEqual([]);
  });

  it('of several files that cannot be read is answered 503, and served when it can', async () => {
    const folder = folderOfSeveralFiles();
    const routes = { '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'api.yaml' } };
    const notices: string[] = [];
    const served = await serveDiscovery(snapshotFrom({ routes }, folder), (line) => notices.push(line));
    const file = join(folder, 'api.yaml');
    renameSync(file, `${file}.away`);
    const { status, body } = await ask(served, '/contracts/v1.yaml');
    expect([status, JSON.parse(body)]).toMatchObject([503, { code: 'CONTRACT_UNREADABLE' }]);
    expect(notices).toEqual([expect.stringContaining(`The contract ${file} cannot be served: ${file}`)]);
    renameSync(`${file}.away`, file);
    expect((await ask(served, '/contracts/v1.yaml')).status).toBe(200);
  });

  it.each([
    ['not published', '/contracts/v3.yaml'],
    ['no contract', '/contracts/v4.yaml'],
    ['no such version', '/contracts/v77.yaml'],
    ['the other format', '/contracts/v1.json'],
    ['the other format', '/contracts/v2.yaml'],
  ])('is not found: %s, %s', async (_name, path) => {
    const { status, headers, body } = await ask(await serveDiscovery(), path);
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({
      type: 'urn:version-gateway:problem:not-found',
      title: 'Not found',
      status: 404,
      detail: 'No contract is published under this name.',
    });
  });

  it('does not reveal the path of a deleted file', async () => {
    const folder = contractFolder();
    const served = await serveDiscovery(snapshotWith({}, folder));
    rmSync(join(folder, 'v1.yaml'));
    const { status, headers, body } = await ask(served, '/contracts/v1.yaml');
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      503,
      'application/problem+json',
      'no-store',
    ]);
    expect(JSON.parse(body)).toMatchObject({ status: 503, detail: 'The contract cannot be read at the moment.' });
    expect(body).not.toContain(folder);
  });

  it('serves the current file, and honours validators', async () => {
    const folder = contractFolder();
    const served = await serveDiscovery(snapshotWith({}, folder));
    const etag = String((await ask(served, '/contracts/v1.yaml')).headers['etag']);
    expect((await ask(served, '/contracts/v1.yaml', { 'if-none-match': etag })).status).toBe(304);
    expect((await ask(served, '/contracts/v1.yaml', { 'if-match': '"other"' })).status).toBe(412);
    writeFileSync(join(folder, 'v1.yaml'), `${yamlContract}# more\n`);
    expect((await ask(served, '/contracts/v1.yaml', { 'if-none-match': etag })).body).toBe(`${yamlContract}# more\n`);
  });
});
