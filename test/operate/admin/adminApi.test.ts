import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { startShadowed, tomorrow } from '../../contracts/shadow/shadowedGateway.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { describedBody } from '../../support/describedAnswer.ts';
import { eventually } from '../../support/eventually.ts';
import { filesBelow } from '../../support/imports.ts';

const document = JSON.parse(readFileSync('gateway/operate/admin/adminApi.json', 'utf8')) as {
  paths: Record<string, Record<string, { parameters: { name: string }[]; requestBody?: { required: boolean } }>>;
};
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method} ${path}`),
);

it('describes every route', () => {
  const otherRoutes = filesBelow('gateway/operate/admin').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/router\.\w+\([`'](\/api\/[^`']+)/g)].map(([, path]) => path),
  );
  // The compiler compares the handlers of all others with the types. Server-sent events cannot be described with OpenAPI.
  expect(otherRoutes).toEqual(['/api/events']);
});

it('describes the answers of a gateway with every feature', async () => {
  const folder = temporaryFolder();
  const names = join(folder, 'clients.yaml');
  writeFileSync(names, '"user-agent:old": Old\n');
  const contract = join(folder, 'v2.json');
  const content = { 'application/json': { schema: { type: 'object', properties: { b: { type: 'integer' } } } } };
  const paths = { '/drinks': { get: { responses: { 200: { description: 'ok', content } } } } };
  writeFileSync(contract, JSON.stringify({ openapi: '3.1.1', info: { title: 'T', version: '2.0.0' }, paths }));
  const receiver = await startBackend(answer(204, ''));
  const gateway = await startShadowed({
    shadow: {},
    v1: {
      deprecation: '2026-01-01',
      sunset: '2030-01-01',
      brownouts: [{ at: '2029-01-01T10:00:00Z', for: '1h' }],
      freeze: { from: '2026-02-01' },
      waivers: [],
    },
    v2: { contract, drift: { sample: '100%', until: tomorrow } },
    usage: { store: join(folder, 'usage.db'), names },
    notify: [{ url: receiver.url }],
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', admin_token: 'correct-horse' },
  });
  for (const path of ['/v1/drinks', '/v1/drinks', '/v2/drinks', '/v3/drinks']) {
    await fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers: { 'user-agent': 'old' } });
  }
  const seen = new Set<string>();
  const headers = { authorization: 'Bearer correct-horse', 'content-type': 'application/json' };
  const ask = async (method: 'get' | 'post', path: string, body?: object) => {
    const response = await fetch(`${gateway.admin}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) seen.add(`${method} ${path.replace(/\/v\d\b/, '/{version}').split('?')[0]}`);
    return describedBody(method, response);
  };

  await eventually(async () => {
    expect((await ask('get', '/api/shadow/v1')).pairs).toBeGreaterThan(0);
    expect((await ask('get', '/api/drift/v2')).routes).not.toEqual([]);
    expect((await ask('get', '/api/usage')).rows).toHaveLength(3);
  });
  for (const by of ['version', 'client', 'route', 'day', 'migration'])
    await ask('get', `/api/usage?by=${by}&version=v1`);
  await ask('get', '/api/usage?by=client&version=v1&state=any');
  await ask('get', '/api/usage?by=nothing');
  await ask('get', '/api/usage.csv');
  for (const version of ['v1', 'v2', 'v3', 'v9']) await ask('get', `/api/versions/${version}/retirement`);
  await ask('get', '/api/versions/v1/retirement?route=GET%20/drinks');
  for (const path of ['openapi.json', 'status', 'digest', 'brownouts', 'brownouts/v1', 'shadow', 'drift'])
    await ask('get', `/api/${path}`);
  await ask('get', '/api/shadow/v1/requests');
  // Without a body.
  const posts = Object.entries(document.paths).flatMap(([path, { post }]) => (post ? [{ path, ...post }] : []));
  for (const { path, requestBody } of posts) {
    const { status = 200 } = await ask('post', path);
    // 503: this gateway has no fleet.
    expect(requestBody?.required ? [400, 503] : [200], path).toContain(status);
  }
  await ask('post', '/api/plan', { retire: 'v1' });
  await ask('post', '/api/plan', { routes_yaml: 'routes: 7' });
  await ask('post', '/api/plan', { routes_yaml: 7 });
  await ask('post', '/api/usage/names', { client: 'user-agent:old', name: 'New', was: 'Old' });
  expect((await ask('post', '/api/usage/names', { client: 'user-agent:old', name: '', was: 'New' })).name).toBeNull();
  await ask('post', '/api/notify/test', {});
  await ask('post', '/api/brownouts/stop', { version: 'v1' });
  await ask('post', '/api/brownouts/stop', { version: 'v1', at: '2029-01-01T10:00:00Z' });
  for (const [kind, version] of [
    ['shadow', 'v1'],
    ['drift', 'v2'],
  ])
    await ask('post', `/api/${kind}/stop`, { version });
  await ask('post', '/api/reload', {});
  await ask('post', '/api/reload/preview', {});
  await ask('get', '/api/fleet');
  await ask('post', '/api/fleet/forget', { name: 'a', reason: 'b' });
  // This gateway has no fleet: fleet.test.ts has these answers.
  expect(described.filter((operation) => !seen.has(operation))).toEqual(['get /api/fleet', 'post /api/fleet/forget']);
});

it('lists the parameters of a query', () => {
  const parametersOf = (path: string) => document.paths[path]?.['get']?.parameters;
  expect(parametersOf('/api/usage.csv')?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['since', 'by', 'limit']),
  );
  expect(parametersOf('/api/versions/{version}/retirement')?.map(({ name }) => name)).toEqual([
    'version',
    'quiet',
    'route',
  ]);
});
