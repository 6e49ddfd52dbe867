import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { PathTable } from '../../../gateway/shared/pathTable.ts';
import { pathWithoutIds, RouteNames, unlistedVersionIn } from '../../../gateway/usage/counting/routeNames.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startBackend } from '../../support/backend.ts';
import { ask, get } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';

describe('a path', () => {
  it.each([
    ['/', '/'],
    ['', '/'],
    ['/drinks', '/drinks'],
    ['/drinks/17', '/drinks/{}'],
    ['/drinks/17/', '/drinks/{}/'],
    ['/drinks/17.json', '/drinks/{}.json'],
    ['/drinks/mojito', '/drinks/mojito'],
    ['/oauth2/token', '/oauth2/token'],
    ['/password-reset-confirmations', '/password-reset-confirmations'],
    ['/api-docs/openapi.json', '/api-docs/openapi.json'],
    ['/a/3fa85f64-5717-4562-b3fc-2c963f66afa6', '/a/{}'],
    ['/a/2026-11-21', '/a/{}'],
    ['/a/2026-11-21T10:00:00Z', '/a/{}'],
    ['/a/507f1f77bcf86cd799439011', '/a/{}'],
    ['/a/deadbeef1', '/a/{}'],
    ['/a/01ARZ3NDEKTSV4RRFFQ69G5FAV', '/a/{}'],
    ['/a/cus_9s6XKzkNRiz8i3', '/a/{}'],
    ['/a/dQw4w9WgXcQ', '/a/{}'],
    ['/a/order-7', '/a/{}'],
    ['/a/-12.5', '/a/{}'],
    ['/a/ann@example.org', '/a/{}'],
    ['/a/ann%40example.org', '/a/{}'],
    ['/a/%3Cscript%3E', '/a/{}'],
    ['/a/<b>', '/a/{}'],
    ['/a/\x1b[31m', '/a/{}'],
    [`/a/${'x'.repeat(5_000)}`, '/a/{}'],
    ['/1/2/3/4/5/6/7/8/9/10', '/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}'],
    ['/1/2/3/4/5/6/7/8/9/10/11/12', '/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}/*'],
  ])('%j folds to %s', (path, expected) => {
    expect(pathWithoutIds(path)).toBe(expected);
  });

  it('is short and safe to print, whatever it was', () => {
    for (let code = 0; code < 256; code++) {
      const folded = pathWithoutIds(`/a${String.fromCharCode(code).repeat(9)}`.repeat(500));
      expect(folded).toMatch(/^[\w.~:+$/{}*-]{1,410}$/);
    }
  });
});

describe('the names of routes', () => {
  const drinks = new PathTable<true>([
    ['/drinks/{id}', true],
    ['/drinks/random', true],
  ]);

  it('are those of the contract, if it has the path', () => {
    const names = new RouteNames(10);
    expect(names.nameOf('GET', '/drinks/mojito', drinks, 200)).toBe('GET /drinks/{id}');
    expect(names.nameOf('GET', '/drinks/random', drinks, 200)).toBe('GET /drinks/random');
    expect(names.nameOf('GET', '/glasses/4', drinks, 404)).toBe('GET /glasses/{}');
  });

  it('follow another contract', () => {
    const names = new RouteNames(10);
    expect(names.nameOf('GET', '/drinks/mojito', undefined, 200)).toBe('GET /drinks/mojito');
    expect(names.nameOf('GET', '/drinks/mojito', drinks, 200)).toBe('GET /drinks/{id}');
  });

  it('are limited', () => {
    const names = new RouteNames(3);
    const asked = ['/a', '/b', '/c', '/d', '/e', '/a', '/d'].map((path) => names.nameOf('GET', path, undefined, 200));
    expect(asked).toEqual(['GET /a', 'GET /b', 'GET /c', 'other', 'other', 'GET /a', 'other']);
  });

  it('stay available for existing routes during a scan', () => {
    const names = new RouteNames(10);
    const scanned = Array.from({ length: 20 }, (_one, n) =>
      names.nameOf('GET', `/scan${'x'.repeat(n)}`, undefined, 404),
    );
    expect(new Set(scanned).size).toBe(6);
    expect(names.nameOf('GET', `/scan${'x'.repeat(19)}`, undefined, 200)).toBe(`GET /scan${'x'.repeat(19)}`);
  });

  it.each(['get', 'A'.repeat(1_000), '<b>', ''])('replace the unusual method %j by OTHER', (method) => {
    expect(new RouteNames(3).nameOf(method, '/a', undefined, 501)).toBe('OTHER /a');
  });

  it('survive a flood of methods', () => {
    const names = new RouteNames(3);
    for (let n = 0; n < 1_000; n++) names.nameOf(`M${n}`, '/a', undefined, 501);
    expect(names.nameOf('GET', '/a', undefined, 200)).toBe('GET /a');
  });
});

it.each([
  ['/v7', '', { version: 'v7', resource: '' }],
  ['/v7/drinks/1', '', { version: 'v7', resource: '/drinks/1' }],
  ['/v0/x', '', { version: 'v0', resource: '/x' }],
  ['/v999/x', '', { version: 'v999', resource: '/x' }],
  ['/api/v7/x', '/api', { version: 'v7', resource: '/x' }],
  ['/v7/x', '/api', undefined],
  ['/apiv7/x', '/api', undefined],
  ['/v1000/x', '', undefined],
  ['/v07/x', '', undefined],
  ['/V7/x', '', undefined],
  ['/v7x', '', undefined],
  ['/v7.1/x', '', undefined],
  ['//v7/x', '', undefined],
  ['', '', undefined],
])('%s below %j', (path, basePath, expected) => {
  expect(unlistedVersionIn(path, { gateway: { basePath }, apis: new Map([['', {}]]) }, 1)).toEqual(expected);
});

it.each([
  ['/v7/x', { version: 'v7', resource: '/x' }],
  ['/orders/v7', { version: 'orders/v7', resource: '' }],
  ['/orders/v7/x/v8', { version: 'orders/v7', resource: '/x/v8' }],
  ['/shop/pay/v7/x', { version: 'shop/pay/v7', resource: '/x' }],
  ['/foo/v7/x', undefined],
  ['/shop/v7/x', undefined],
  ['/Orders/v7/x', undefined],
  ['/orders/V7/v7', undefined],
  ['/orders/v07/x', undefined],
  ['/orders/v1000/x', undefined],
  ['/orders//v7/x', undefined],
  ['/orders/x/v7', undefined],
])('%s on a host with several APIs', (path, expected) => {
  const apis = new Map(['', '/orders', '/shop/pay'].map((base) => [base, {}]));
  expect(unlistedVersionIn(`/api${path}`, { gateway: { basePath: '/api' }, apis }, 3)).toEqual(expected);
});

it('usage and can-retire list the clients of a version that was removed from routes.yaml', async () => {
  const { url } = await startBackend();
  const snapshotOf = (routes: object, force = {}) =>
    snapshotFrom({
      routes,
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      log: { access: 'off' },
      usage: { store },
      guard: { force },
    });
  const store = join(temporaryFolder(), 'usage.db');
  const before = snapshotOf({ '/v1': url, '/v2': url });
  const ledger = Ledger.open(before.usage, { clock: systemClock });
  let current = before;
  const gateway = await startGateway(before, { ledger, load: () => current });
  await ask(gateway.port, get('/v1/drinks/7', 'X-Client-Id: shop'));
  current = snapshotOf({ '/v2': url }, { '/v1': 'its clients were told' });
  expect((await gateway.reload('admin')).kind).toBe('reloaded');
  for (const path of ['/v1/drinks/8', '/v1/drinks/9?x=1', '/v2/x', '/x', '/v1%2f/x', '/v1/../v2', '/v01/x']) {
    await ask(gateway.port, get(path, 'X-Client-Id: shop'));
  }
  // Applying a reload writes the counts.
  current = snapshotOf({ '/v2': url, '/v3': url });
  await gateway.reload('admin');

  const admin = `127.0.0.1:${gateway.adminPort}`;
  const usage = await runIn('/', ['usage', '/v1', '--format', 'json', '--admin', admin]);
  expect(JSON.parse(usage.stdout).rows).toMatchObject([
    {
      version: 'v1',
      client: 'x-client-id:shop',
      requests: 3,
      top_routes: [{ route: 'GET /drinks/{}', requests: 3 }],
    },
  ]);
  const { code, stdout } = await runIn('/', ['can-retire', '/v1', '--admin', admin]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('/v1 is no longer in routes.yaml')]);
  expect(stdout).toContain('x-client-id:shop');
  await gateway.close();
  expect((await readLedger(ledger).totals(0)).map(({ version }) => version).sort()).toEqual(['', 'v1', 'v2']);
  ledger.close();
});
