import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { apiOf, receiversOf, rootApi } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { receiverKeyOf } from '../../../gateway/operate/notify/delivery.ts';
import { digestEvent } from '../../../gateway/operate/notify/ledgerEvents.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { fastLane } from '../../support/gateway.ts';
import { hostOf } from '../../support/hostOf.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const now = Date.now();
const yesterday = new Date(now - 86_400_000).toISOString();

async function hostWith(own: { readonly root?: Receiver[]; readonly orders?: Receiver[]; readonly pay?: Receiver[] }) {
  const backend = await startBackend();
  const usage = { store: join(temporaryFolder(), 'usage.db') };
  const api = (receivers: readonly Receiver[] = []) =>
    snapshotFrom({
      routes: { '/v1': { upstream: backend.url, deprecation: yesterday }, '/v2': backend.url },
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...fastLane },
      notify: receivers.map(({ url }) => ({ url, digest: 'weekly' })),
      usage,
    });
  return hostOf(api(own.root), { '/orders': api(own.orders), '/pay': api(own.pay) });
}

/** The events about dates, as `type version api`; the weekly digest is due on some days only. */
const eventsAt = ({ received }: Receiver): string[] =>
  received
    .map(({ body }) => JSON.parse(body) as { type: string; data: { version?: string; api?: string } })
    .filter(({ type }) => type === 'deprecation')
    .map(({ data }) => `${data.version} ${data.api}`)
    .sort();

it('sends an event to the receivers of its API, and those of the root, once', async () => {
  const [root, shared, orders, pay] = [
    await startReceiver(),
    await startReceiver(),
    await startReceiver(),
    await startReceiver(),
  ];
  // /orders repeats both receivers of the root, and /pay names one of /orders.
  const host = await hostWith({ root: [root, shared], orders: [root, shared, orders], pay: [orders, pay] });
  // It also names one of the root, with other settings.
  const [ofPay, ofRoot] = [apiOf('pay/v1', host), rootApi(host)];
  const again = ofRoot.notify.slice(0, 1).map((one) => ({ ...one, digest: 'off' as const }));
  const apis = new Map(host.apis).set('/pay', { ...ofPay, notify: [...ofPay.notify, ...again] });
  const running = await startGateway({ ...host, apis });
  onTestFinished(() => running.close());
  await eventually(() => {
    expect(eventsAt(root)).toEqual(['orders/v1 /orders', 'pay/v1 /pay', 'v1 undefined']);
    expect(eventsAt(shared)).toEqual(eventsAt(root));
    expect(eventsAt(orders)).toEqual(['orders/v1 /orders', 'pay/v1 /pay']);
    expect(eventsAt(pay)).toEqual(['pay/v1 /pay']);
  });
  expect(pay.titles().filter((one) => one.includes('deprecated'))).toEqual([expect.stringMatching(/^\/pay\/v1 is/)]);
});

it('gives the receivers of each API their own keys', async () => {
  const [root, orders] = [await startReceiver(), await startReceiver()];
  const host = await hostWith({ root: [root], orders: [root, orders], pay: [orders] });
  const receivers = receiversOf(host);
  expect(receivers.map(({ url, api }) => [url, api])).toEqual([
    [root.url, undefined],
    [root.url, '/orders'],
    [orders.url, '/orders'],
    [orders.url, '/pay'],
  ]);
  expect(new Set(receivers.map(receiverKeyOf)).size).toBe(4);
});

it('has only the versions and requests of its API in the digest of an API', async () => {
  const snapshot = await hostWith({});
  const rows = ['v1', 'orders/v1', 'pay/v1'].map((version, at) =>
    row(version, 'x-client-id:shop', now, { requests: 10 ** at }),
  );
  const { queries } = ledgerWith(rows, now - 60 * day);
  const query = { snapshot, queries, state: undefined, gateway: undefined, since: now - 7 * day, now };
  const [ofOrders, ofHost] = [await digestEvent({ ...query, api: '/orders' }), await digestEvent(query)];
  expect(ofOrders?.data).toMatchObject({ api: '/orders', requests: 10, versions: [{ version: 'orders/v1' }] });
  expect(JSON.stringify(ofOrders)).not.toMatch(/pay|"\/v1|of \/v1/);
  expect(ofHost?.data['requests']).toBe(111);
});
