import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseRequestFile } from '../../../gateway/contracts/shadow/replay/requestFile.ts';
import type { RequestFile } from '../../../gateway/contracts/shadow/sampling/requestFormat.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startShadowed } from './shadowedGateway.ts';

const paths = { '/drinks/{id}': { get: {} }, '/cocktails/{id}': { get: {} }, '/search': { get: {} } };
const contract = JSON.stringify({ openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths });

/** A gateway whose v1 has a contract and moved a route, and the command `shadow` for it. */
async function exporting({ shadow: settings = {}, hasContract = true } = {}) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'contract.json'), contract);
  const described = hasContract ? { contract: join(folder, 'contract.json') } : {};
  const v1 = { ...described, moved: { '/drinks/{id}': '/cocktails/{id}' } };
  const gateway = await startShadowed({ shadow: settings, v1, v2: described });
  const shadow = (...args: string[]) =>
    runIn(folder, ['shadow', ...args, '--admin', gateway.admin.replace('http://', '')]);
  return { ...gateway, folder, shadow };
}

function contentOf(folder: string): RequestFile {
  const text = readFileSync(join(folder, 'r.json'), 'utf8');
  parseRequestFile(text, 'r.json', Date.now());
  return JSON.parse(text) as RequestFile;
}

it('exports names and types of parameters, and values only if the configuration keeps them', async () => {
  const { folder, shadow, port, v2 } = await exporting({ shadow: { values: 'on' } });
  expect(await shadow('export', 'r.json')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No request to /v1'),
  });
  const targets = [
    '/v1/drinks/a%20b?page=2&page=3&deep[x]=true&ann%40example.com=1&price=1.5',
    '/v1/drinks/7?page=1',
    '/v1/drinks/8?page=1',
    '/v1/search?token=abc',
    `/v1/search?q=${'long'.repeat(60)}`,
  ];
  for (const [index, target] of targets.entries()) {
    await ask(port, get(target, 'Accept-Language: de', 'Authorization: Bearer abc'));
    // The request with a token is not sampled.
    await eventually(() => expect(v2.requests).toHaveLength(index < 3 ? index + 1 : index));
  }

  const done = await shadow('export', 'r.json');
  expect(done).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Gateway .+\n$/) });
  expect(done.stdout).toMatch(/^r\.json: 3 requests of 2 routes, without values; expires 20/);
  expect(statSync(join(folder, 'r.json')).mode & 0o777).toBe(0o600);
  const plain = contentOf(folder);
  const headers = { 'Accept-Language': { type: 'string' } };
  expect(plain.requests).toEqual([
    {
      route: 'GET /drinks/{id}',
      to: '/cocktails/{id}',
      path: { id: { type: 'integer' } },
      query: { page: { type: 'integer' } },
      headers,
      count: 2,
    },
    {
      route: 'GET /drinks/{id}',
      to: '/cocktails/{id}',
      path: { id: { type: 'string' } },
      query: { page: { type: 'array' }, 'deep[x]': { type: 'boolean' }, price: { type: 'number' } },
      headers,
      count: 1,
    },
    { route: 'GET /search', query: { q: { type: 'string' } }, headers, count: 1 },
  ]);
  expect(plain.contracts?.['v1']).toMatch(/^[\da-f]{64}$/);
  expect(Date.parse(plain.expires ?? '') - Date.parse(plain.created ?? '')).toBe(7 * 86_400_000);

  await shadow('export', 'r.json', '--values');
  const valued = contentOf(folder).requests;
  expect(valued).toHaveLength(4);
  expect(valued[0]).toMatchObject({
    path: { id: { type: 'string', value: 'a b' } },
    query: { page: { type: 'array', value: ['2', '3'] }, 'deep[x]': { type: 'boolean', value: 'true' } },
    headers: { 'Accept-Language': { type: 'string', value: 'de' } },
  });
  expect(valued[3]?.query).toEqual({ q: { type: 'string' } });
  const { stdout } = await shadow('export', '-', '/v1', '--values');
  expect(JSON.parse(stdout)).toMatchObject({ requests: valued });
});

it('exports a parameter that is no UTF-8 as the client wrote it', async () => {
  const { shadow, port, v2 } = await exporting({ shadow: { values: 'on' } });
  await ask(port, get('/v1/drinks/caf%E9'));
  await eventually(() => expect(v2.requests).toHaveLength(1));
  const { stdout } = await shadow('export', '-', '/v1', '--values');
  expect(JSON.parse(stdout)).toMatchObject({ requests: [{ path: { id: { type: 'string', value: 'caf%E9' } } }] });
});

it('keeps no values unless the configuration says so, and bounds what it keeps', async () => {
  const { folder, shadow, port, v2, edit } = await exporting();
  for (let index = 0; index < 12; index += 1) await ask(port, get(`/v1/search?q${'abcdefghijkl'[index]}=secret-value`));
  await eventually(() => expect(v2.requests).toHaveLength(12));
  const refused = await shadow('export', 'r.json', '--values');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('The gateway keeps no values of requests to /v1.  Set shadow.values: on');
  expect(readdirSync(folder)).toEqual(['contract.json']);
  await shadow('export', 'r.json');
  expect(contentOf(folder).requests).toHaveLength(10);
  expect(readFileSync(join(folder, 'r.json'), 'utf8')).not.toContain('secret-value');

  // Other settings forget the requests.
  await edit({ values: 'on' });
  expect((await shadow('export', 'r.json')).code).toBe(1);
  await edit(undefined);
  expect((await shadow('export', 'r.json')).stderr).toContain('The configuration has no shadow');
  expect((await shadow('export', 'r.json', '/v1')).stderr).toContain('/v1 has no shadow');
});

it('forgets the values of a parameter that a reload adds to log.redact', async () => {
  const values = { values: 'on' };
  const { folder, shadow, port, v2, edit } = await exporting({ shadow: values });
  await ask(port, get('/v1/search?voucher=spring'));
  await eventually(() => expect(v2.requests).toHaveLength(1));
  await shadow('export', 'r.json', '--values');
  expect(JSON.stringify(contentOf(folder))).toContain('spring');
  await edit(values, { log: { redact: ['voucher'] } });
  expect((await shadow('export', 'r.json', '--values')).code).toBe(1);
});

it('replaces a file that others may read, and refuses what is no file', async () => {
  const { folder, shadow, port, v2 } = await exporting({ hasContract: false });
  await ask(port, get('/v1/guests/1234567/x'));
  await eventually(() => expect(v2.requests).toHaveLength(1));
  const at = (name: string) => join(folder, name);
  writeFileSync(at('r.json'), 'former', { mode: 0o644 });
  chmodSync(at('r.json'), 0o644);
  expect((await shadow('export', 'r.json')).code).toBe(0);
  expect(statSync(at('r.json')).mode & 0o777).toBe(0o600);
  expect(contentOf(folder)).toMatchObject({
    contracts: { v1: null, v2: null },
    requests: [{ route: 'GET /guests/{p1}/x', path: { p1: { type: 'integer' } }, count: 1 }],
  });
  mkdirSync(at('folder'));
  symlinkSync(at('r.json'), at('link'));
  expect(await shadow('export', 'folder')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not a regular file'),
  });
  expect(await shadow('export', 'link')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not a regular file'),
  });
  expect(await shadow('export', 'none/r.json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('none/r.json cannot be written: there is no such file'),
  });
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});
