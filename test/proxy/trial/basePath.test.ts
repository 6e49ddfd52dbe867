import { expect, it } from 'vitest';
import { day, hour, row } from '../../support/ledgerWith.ts';
import { reasonsOf, startBackend, startEdited } from './candidates.ts';

it('refuses another base path while clients call the present one, until it is forced', async () => {
  const backend = await startBackend((path) => path === '/drinks');
  const document = { routes: { '/v1': backend.url, '/v2': backend.url } };
  const { edit, preview, get } = await startEdited(document);
  expect(await get('/v1/drinks')).toEqual([200]);
  const gateway = { base_path: '/api' };
  for (const outcome of [await preview({ ...document, gateway }), await edit({ ...document, gateway })]) {
    expect(outcome.kind).toBe('refused');
    expect(reasonsOf(outcome)).toMatch(
      /^\/v1 is answered 404 at its present paths, because gateway\.base_path changes from \/ to \/api, and was last called/,
    );
    // No call of /v2 is known, but the ledger is new.
    expect(reasonsOf(outcome)).toMatch(
      /\/v2 is answered 404 .+, and its calls may be missing\. The usage ledger begins/,
    );
  }
  expect(await get('/v1/drinks')).toEqual([200]);
  const forced = { guard: { force: { '/v1': 'the clients have moved', '/v2': 'it is new' } } };
  expect((await edit({ ...document, ...forced, gateway })).kind).toBe('reloaded');
  expect(await get('/v1/drinks', '/api/v1/drinks')).toEqual([404, 200]);
});

it('refuses another base path after the calls of the last days, also if guard.quiet is shorter', async () => {
  const backend = await startBackend(() => true);
  const guard = { quiet: '1m' };
  const names = ['v1', 'v2', 'v3', 'v4'].map((name) => [`/${name}`, backend.url]);
  const document = { routes: Object.fromEntries(names), guard, retire: { ignore_clients: ['probe'] } };
  const now = Date.now();
  const rows = [
    row('v1', 'x-client-id:ios', now - 2 * hour, { requests: 3_000 }),
    row('v1', 'x-client-id:web', now - 6 * day, { requests: 783 }),
    row('v2', 'user-agent:probe', now - hour, { requests: 9 }),
    row('v3', 'x-client-id:broken', now - hour, { requests: 9, failing: 9, used: 0, errors: 9 }),
    row('v4', 'x-client-id:gone', now - 9 * day),
  ];
  const { edit, preview, post } = await startEdited(document, { isCovered: true, rows });
  const moved = { ...document, gateway: { base_path: '/api' } };
  for (const outcome of [await preview(moved), await edit(moved)])
    expect(outcome).toMatchObject({
      kind: 'refused',
      refusals: [
        {
          version: 'v1',
          known: true,
          message:
            '/v1 is answered 404 at its present paths, because gateway.base_path changes from / to /api, and had 3,783 requests in the last 7 days.',
        },
      ],
    });
  // The plan counts the failed requests, too.
  expect(await post('/api/plan', {})).toMatchObject({ total: { lost: 3_783 + 9 } });
  // The period is guard.quiet if that is longer.
  const longer = await preview({ ...moved, guard: { quiet: '216h' } });
  expect(reasonsOf(longer)).toMatch(/^\/v1 .+ and was last called 2 h ago\.\n/);
  expect((await edit({ ...moved, guard: { quiet: 'off' } })).kind).toBe('reloaded');
});
