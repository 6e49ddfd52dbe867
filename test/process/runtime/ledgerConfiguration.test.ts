import { expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { LedgerConfiguration } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import type { LedgerSettings } from '../../../gateway/usage/ledger/writableLedger.ts';
import { hostOf } from '../../support/hostOf.ts';

const ignoring = (...clients: string[]) =>
  snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:3001' },
    usage: { store: 'usage.db' },
    retire: { ignore_clients: clients },
  });
const [probe, monitor] = ['x-client-id:probe', 'x-client-id:monitor'];

function configured() {
  const given: LedgerSettings[] = [];
  const configuration = new LedgerConfiguration(
    { configure: (settings) => void given.push(settings) },
    ignoring(monitor),
  );
  return { configuration, unmarked: () => given.at(-1)?.unmarked ?? [] };
}

const flushed = async () => true;

it('keeps a client that begins to count until all processes have flushed after the edit', async () => {
  const { configuration, unmarked } = configured();
  expect([unmarked(), configuration.isSettled]).toEqual([[monitor], true]);
  await configuration.around(ignoring(probe), async () => {});
  expect([new Set(unmarked()), configuration.isSettled]).toEqual([new Set([monitor, probe]), false]);
  expect(await configuration.whenFlushed(async () => false)).toBe(false);
  expect(configuration.isSettled).toBe(false);
  expect(await configuration.whenFlushed(flushed)).toBe(true);
  expect([unmarked(), configuration.isSettled]).toEqual([[probe], true]);
});

it('takes no flush for a proof that begins or ends while processes apply an edit', async () => {
  const { configuration, unmarked } = configured();
  const before = Promise.withResolvers<boolean>();
  const early = configuration.whenFlushed(() => before.promise);
  const during = Promise.withResolvers<boolean>();
  let late = Promise.resolve(false);
  await configuration.around(ignoring(), async () => {
    before.resolve(true);
    await early;
    await configuration.whenFlushed(flushed);
    late = configuration.whenFlushed(() => during.promise);
  });
  during.resolve(true);
  await late;
  expect([unmarked(), configuration.isSettled]).toEqual([[monitor], false]);
  await configuration.whenFlushed(flushed);
  expect([unmarked(), configuration.isSettled]).toEqual([[], true]);
});

it('knows an API only while all processes count its calls', async () => {
  const given: LedgerSettings[] = [];
  const configure = (settings: LedgerSettings) => void given.push(settings);
  const [orders, pay] = [hostOf(ignoring(), { '/orders': ignoring() }), hostOf(ignoring(), { '/pay': ignoring() })];
  const both = hostOf(orders, { '/pay': ignoring() });
  const configuration = new LedgerConfiguration({ configure }, both);
  const bases = () => given.at(-1)?.bases;
  expect(bases()).toEqual(['/orders', '/pay']);
  await configuration.around(pay, async () => expect(bases()).toEqual(['/pay']));
  expect(bases()).toEqual(['/pay']);
  await configuration.around(both, async () => expect(bases()).toEqual(['/pay']));
  expect(bases()).toEqual(['/orders', '/pay']);
  await configuration.around(ignoring(), async () => expect(bases()).toEqual([]));
});

it('stays unsettled after an edit that could not be applied, until a flush', async () => {
  const { configuration, unmarked } = configured();
  const fails = async () => {
    throw new Error('no worker can be started');
  };
  await expect(configuration.around(ignoring(probe), fails)).rejects.toThrow('no worker');
  expect(new Set(unmarked())).toEqual(new Set([monitor, probe]));
  await configuration.whenFlushed(flushed);
  expect([unmarked(), configuration.isSettled]).toEqual([[monitor], true]);
});
