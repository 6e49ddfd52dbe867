import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../config/temporary.ts';
import { runIn } from '../io.ts';

const done = { get: { responses: { 204: { description: 'done' } } } };

function contract(...paths: string[]): string {
  const info = { title: 'Cocktails', version: '1' };
  return JSON.stringify({ openapi: '3.1.0', info, paths: Object.fromEntries(paths.map((path) => [path, done])) });
}

const routes = `routes:
  /v1: { upstream: http://127.0.0.1:3001, contract: v1.yaml, deprecation: 2026-06-30, moved: { /b: null } }
  /v2: { upstream: http://127.0.0.1:3002, contract: v2.yaml }
  /v3: { upstream: http://127.0.0.1:3003 }
  /v4: { upstream: http://127.0.0.1:3004, contract: v4.yaml }
`;

function folder(text = routes): string {
  const path = temporaryFolder();
  writeFileSync(join(path, 'routes.yaml'), text);
  writeFileSync(join(path, 'v1.yaml'), contract('/a', '/b', '/c/{id}'));
  writeFileSync(join(path, 'v2.yaml'), contract('/a', '/cc/{id}'));
  writeFileSync(
    join(path, 'v4.yaml'),
    'openapi: 3.1.0\npaths: { /a: { get: { responses: { "204": { $ref: "#/nowhere" } } } } }\n',
  );
  return path;
}

describe.each(['migrate', 'moved', 'adapter'])('%s', (command) => {
  it.each([
    ['a version that is not there', ['/v1', '/v9'], 'routes.yaml has no version /v9. It has /v1, /v2, /v3, /v4.\n'],
    [
      'a version without a contract',
      ['/v1', '/v3'],
      '/v3: has no contract in routes.yaml.  Set routes./v3.contract.\n',
    ],
    ['the wrong way round', ['/v2', '/v1'], '/v1 is not later than /v2. Give the older version first.\n'],
    ['twice the same', ['v1', '/v1'], '/v1 is not later than /v1. Give the older version first.\n'],
    [
      'a file that is not there',
      ['/v1', '/v2', '--config', 'x.yaml'],
      'x.yaml cannot be read: there is no such file\n',
    ],
  ])('refuses %s', async (_what, args, stderr) => {
    expect(await runIn(folder(), [command, ...args])).toEqual({ code: 2, stdout: '', stderr });
  });

  it.each([
    ['no version', ['/v1', 'newest'], 'Write a version such as /v1.'],
    ['one version', ['/v1'], "missing required argument 'new'"],
  ])('refuses %s', async (_what, args, message) => {
    const { code, stdout, stderr } = await runIn(folder(), [command, ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('reports the faults of routes.yaml', async () => {
    const { code, stderr } = await runIn(folder('routes: { /v1: nowhere }'), [command, '/v1', '/v2']);
    expect(code).toBe(2);
    expect(stderr).toContain('nowhere is not an http:// or https:// URL');
  });
});

it('reports where a contract is broken', async () => {
  const { code, stdout, stderr } = await runIn(folder(), ['migrate', '/v2', '/v4']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^v4\.yaml#\/paths\/~1a\/get\/responses\/204: refers to "#\/nowhere"/);
});

it('writes Markdown', async () => {
  const { code, stdout, stderr } = await runIn(folder(), ['migrate', '/v1', 'v2']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^# Cocktails: moving from v1 to v2\n/);
  expect(stdout).toContain('| [`GET /b`](#get-b) | – | removed |');
});

it('writes an HTML page to a file', async () => {
  const path = folder();
  const { code, stdout, stderr } = await runIn(path, [
    'migrate',
    '/v1',
    '/v2',
    '--format',
    'html',
    '--output',
    'guide.html',
  ]);
  expect([code, stdout, stderr]).toEqual([0, '', 'Wrote guide.html.\n']);
  const page = readFileSync(join(path, 'guide.html'), 'utf8');
  expect(page).toMatch(/^<!doctype html>\n/);
  // It has no link to a gateway, which may not be reachable.
  expect(page).not.toMatch(/href="(?!#|data:)/);
});

it('reports a file that cannot be written', async () => {
  const { code, stderr } = await runIn(folder(), ['migrate', '/v1', '/v2', '--output', 'no/where.md']);
  expect([code, stderr]).toEqual([2, 'no/where.md cannot be written: there is no such file\n']);
});

it('proposes rows that routes.yaml accepts, and proposes nothing once they are there', async () => {
  const path = folder();
  const { code, stdout } = await runIn(path, ['moved', '/v1', '/v2']);
  expect(code).toBe(0);
  expect(stdout).toBe(`# Routes of v1 that have another path in v2. Review each row, and add it to /v1 in routes.yaml.
moved:
  # likely: a similar path, the same parameters
  /c/{id}: /cc/{id}
`);
  const pasted = routes.replace('moved: { /b: null }', 'moved: { /b: null, "/c/{id}": "/cc/{id}" }');
  expect((await runIn(folder(pasted), ['moved', '/v1', '/v2'])).stdout).toBe(
    '# Every route of v1 has the same path in v2, or a row under moved.\n',
  );
});

it('lists routes without a similar one', async () => {
  const { stdout } = await runIn(folder(routes.replace(', moved: { /b: null }', '')), ['moved', '/v1', '/v2']);
  expect(stdout).toContain('  # no similar route in v2: write null if it was removed\n  # /b: null\n');
});

it('proposes them as JSON', async () => {
  const { code, stdout } = await runIn(folder(), ['moved', '/v1', '/v2', '--format', 'json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    from: 'v1',
    to: 'v2',
    unmatched: [],
    proposals: [{ from: '/c/{id}', to: '/cc/{id}', sure: 'likely' }],
  });
});
