import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { CallMarks } from '../../gateway/usage/ledger/callMarks.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { readMarkFile } from '../../gateway/usage/ledger/markFile.ts';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { startBackend } from '../support/backend.ts';
import { hostOf } from '../support/hostOf.ts';
import { coverTenDays, day, hour } from '../support/ledgerWith.ts';
import { ask, get } from '../support/rawClient.ts';
import { readLedger } from '../support/readLedger.ts';
import { machine } from './evidence/machine.ts';
import { ServingProcess } from './evidence/servingProcess.ts';

/** A gateway whose APIs ignore these clients, with a ledger. */
async function startHost(ignored: { readonly root: string[]; readonly orders: string[] }) {
  const { url } = await startBackend();
  const store = join(temporaryFolder(), 'usage.db');
  const api = (clients: string[]) =>
    snapshotFrom({
      routes: { '/v1': url },
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      log: { access: 'off' },
      usage: { store },
      retire: { ignore_clients: clients },
    });
  const host = hostOf(api(ignored.root), { '/orders': api(ignored.orders), '/shop/pay': api([]) });
  const marks = CallMarks.open(store, Date.now());
  const ledger = Ledger.open(host.usage, { clock: systemClock, marks });
  const gateway = await startGateway(host, { ledger });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  return {
    call: (path: string, client: string) => ask(gateway.port, get(path, `X-Client-Id: ${client}`)),
    marked: () => (readMarkFile(marks.files.file)?.marks ?? []).map(({ version }) => version).sort(),
    /** Ends the gateway. @returns version → its clients */
    counted: async () => {
      await gateway.close();
      const reader = readLedger(ledger);
      const versions = (await reader.totals(0)).map(({ version }) => version).sort();
      const clientsOf = async (version: string) => (await reader.byClient(version, 0)).map(({ client }) => client);
      return Object.fromEntries(await Promise.all(versions.map(async (one) => [one, await clientsOf(one)] as const)));
    },
  };
}

it('marks and counts the calls of each API under its ids, and of unlisted versions only below a base', async () => {
  const host = await startHost({ root: [], orders: [] });
  const paths = ['/v1/a', '/orders/v1/a', '/shop/pay/v1/a', '/v9/a', '/orders/v9/a', '/shop/pay/v9/a'];
  for (const path of [...paths, '/foo/v7/a', '/shop/v7/a', '/orders/v1000/a', '/orders/V7/a'])
    await host.call(path, 'app');
  const ids = ['orders/v1', 'orders/v9', 'shop/pay/v1', 'shop/pay/v9', 'v1', 'v9'];
  expect(host.marked()).toEqual(ids);
  const app = ['x-client-id:app'];
  expect(await host.counted()).toEqual(Object.fromEntries(['', ...ids].map((id) => [id, app])));
});

it('marks the calls of a client that another API ignores', async () => {
  const host = await startHost({ root: ['monitor'], orders: ['probe'] });
  for (const path of ['/v1/a', '/orders/v1/a', '/shop/pay/v1/a', '/orders/v9/a', '/orders/v1/a'])
    await host.call(path, 'probe');
  expect(host.marked()).toEqual(['shop/pay/v1', 'v1']);
  for (const path of ['/v1/a', '/orders/v1/a', '/v8/a', '/orders/v9/a']) await host.call(path, 'monitor');
  expect(host.marked()).toEqual(['orders/v1', 'orders/v9', 'shop/pay/v1', 'v1']);
});

it('goes on marking an open request to an API that a reload has removed, whomever the others ignore', () => {
  const store = join(temporaryFolder(), 'usage.db');
  const { files } = CallMarks.open(store, Date.now());
  const api = (ignored: string[]) =>
    snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, retire: { ignore_clients: ignored } });
  machine.now = Date.now();
  const serving = new ServingProcess({ files, process: 0 }, hostOf(api(['probe']), { '/orders': api([]) }));
  serving.begin('orders/v1', 'probe', 'usual', false);
  serving.apply(api(['probe']));
  machine.now += 5_000;
  serving.countOpen();
  expect(readMarkFile(files.file)?.marks).toEqual([{ process: 0, version: 'orders/v1', at: machine.now }]);
  serving.kill();
});

it('does not know what was called below the base of an API before the gateway served it', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const clock = { time: Date.now(), now: () => clock.time };
  coverTenDays(store, clock.time);
  const settings = (bases: readonly string[]) => ({ store, retention: 400 * day, bases });
  const run = (bases: readonly string[], work = (_ledger: Ledger): void => {}) => {
    clock.time += 1_000;
    const ledger = Ledger.open(settings(bases), { clock });
    work(ledger);
    ledger.close();
    return clock.time;
  };
  const coveredSince = async (...versions: readonly string[]) => {
    const reader = LedgerReader.open(store);
    const since = await Promise.all(versions.map(async (one) => (await reader.coverage(one, hour)).since ?? 0));
    await reader.close();
    return since;
  };
  const [always = 0] = await coveredSince('v1');
  const withOrders = run(['/orders']);
  const all = ['v1', 'orders/v1', 'orders/v9', 'pay/v1', 'orders/eu/v1'];
  expect(await coveredSince(...all)).toEqual([always, withOrders, withOrders, always, always]);
  const withPay = run(['/orders'], (ledger) => {
    clock.time += 1_000;
    ledger.configure(settings(['/pay', '/orders']));
  });
  expect(await coveredSince(...all)).toEqual([always, withOrders, withOrders, withPay, always]);
  // It may come back.
  run([]);
  const again = run(['/pay', '/orders/eu']);
  expect(await coveredSince(...all)).toEqual([always, withOrders, withOrders, again, again]);
});

it('knows all calls to the APIs that a new ledger begins with, but not to those that are added', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const clock = { time: Date.now(), now: () => clock.time };
  const settings = (bases: readonly string[]) => ({ store, retention: 400 * day, bases });
  const ledger = Ledger.open(settings(['/orders']), { clock });
  clock.time += hour;
  ledger.configure(settings(['/orders', '/pay']));
  ledger.close();
  const reader = LedgerReader.open(store);
  const since = async (version: string) => (await reader.coverage(version, hour)).since;
  expect([await since('orders/v1'), await since('pay/v1')]).toEqual([clock.time - hour, clock.time]);
  await reader.close();
});
