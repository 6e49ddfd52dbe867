import { join } from 'node:path';
import { expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/runtime/gateway.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { UnlistedVersions } from '../../../gateway/usage/counting/unlistedVersions.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { runIn } from '../../cli/io.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { startBackend } from '../../support/backend.ts';
import { ask, get } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';
import { hourMs, noon } from '../model.ts';

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
  expect(new UnlistedVersions().find(path, basePath, noon)).toEqual(expected);
});

it('has a hundred names an hour', () => {
  const unlisted = new UnlistedVersions();
  const names = Array.from({ length: 300 }, (_one, n) => unlisted.find(`/v${n}`, '', noon)?.version);
  expect(names.filter((name) => name !== undefined)).toHaveLength(100);
  expect(unlisted.find('/v99', '', noon)?.version).toBe('v99');
  expect(unlisted.find('/v299', '', noon)).toBeUndefined();
  expect(unlisted.find('/v299', '', noon + hourMs)?.version).toBe('v299');
});

it('does not start a new hour when a stream of the last one ends', () => {
  const unlisted = new UnlistedVersions();
  for (let n = 0; n < 100; n++) unlisted.find(`/v${n}`, '', noon);
  expect(unlisted.find('/v1', '', noon - hourMs)?.version).toBe('v1');
  expect(unlisted.find('/v299', '', noon)).toBeUndefined();
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
