import { expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { runIn } from '../../process/cli/io.ts';
import { hostOf } from '../../support/hostOf.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { startAdminOf } from '../../support/startAdmin.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';

function api(sunset: string) {
  return snapshotFrom({ routes: { '/v1': { upstream, deprecation: '2026-01-01', sunset }, '/v2': upstream } });
}

async function started() {
  const host = hostOf(api('2026-11-01'), { '/orders': api('2026-10-01'), '/a/b': api('2026-09-01') });
  const rows = [
    row('v1', 'x-client-id:root', now - day),
    row('orders/v1', 'x-client-id:orders', now - 2 * day),
    row('a/b/v1', 'x-client-id:deep', now - 3 * day),
  ];
  return startAdminOf(host, ledgerWith(rows, now - 100 * day).queries, now);
}

it.each([
  ['v1', 'x-client-id:root'],
  ['orders%2Fv1', 'x-client-id:orders'],
  ['orders/v1', 'x-client-id:orders'],
  ['a%2Fb%2Fv1', 'x-client-id:deep'],
  // Some proxies decode a part of an address.
  ['a/b%2Fv1', 'x-client-id:deep'],
  ['a/b/v1', 'x-client-id:deep'],
])('the path of an operation names %s', async (version, client) => {
  const admin = await started();
  const response = await fetch(`http://${admin}/api/versions/${version}/retirement`);
  const { facts } = (await response.json()) as { facts: { clients: { client: string }[] } };
  expect(facts.clients.map((one) => one.client)).toEqual([client]);
});

it.each(['orders%2Fv1', 'orders/v1'])('the requests of a shadow of %s are not its report', async (version) => {
  const admin = await started();
  const detailOf = async (path: string) => {
    const response = await fetch(`http://${admin}/api/shadow/${path}`);
    return { status: response.status, ...((await response.json()) as { code: string; detail: string }) };
  };
  expect(await detailOf(`${version}/requests`)).toMatchObject({
    code: 'NO_SHADOW',
    detail: '/orders/v1 has no shadow.',
  });
});

it.each([
  [['can-retire', '/orders/v1'], 'x-client-id:orders'],
  [['can-retire', 'a/b/v1'], 'x-client-id:deep'],
  [['usage', '/orders/v1'], 'x-client-id:orders'],
  [['can-retire', '/v1'], 'x-client-id:root'],
])('%j asks about a version of its API', async (args, expected) => {
  const { stdout, stderr } = await runIn('.', [...args, '--admin', await started()]);
  expect(stdout + stderr).toContain(expected);
});

it('lists the versions API by API, if one is unknown', async () => {
  const { stderr } = await runIn('.', ['can-retire', '/orders/v9', '--admin', await started()]);
  expect(stderr).toContain('The configuration has /v1, /v2, /a/b/v1, /a/b/v2, /orders/v1, /orders/v2');
});
