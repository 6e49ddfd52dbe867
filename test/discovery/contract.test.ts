import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, contractFolder, jsonContract, serveDiscovery, snapshotWith, yamlContract } from './server.ts';

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
