import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { claimLedger } from '../../../../gateway/usage/ledger/file.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { eventually } from '../../../support/eventually.ts';
import { gatewayMain } from '../../../support/gatewayMain.ts';
import { type Running, run } from '../../../support/process.ts';

function routesWith(store: string, drain: string): string {
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain };
  return JSON.stringify({ routes: { '/v1': 'http://127.0.0.1:1' }, gateway, usage: { store } });
}

/** Starts a gateway with this ledger, and waits until it serves. */
async function startWith(store: string, file = join(temporaryFolder(), 'routes.yaml')): Promise<Running> {
  writeFileSync(file, routesWith(store, '1s'));
  const running = run(process.execPath, [gatewayMain, 'start', '--config', file]);
  await running.printed(/\/readyz/);
  return running;
}

async function end({ child }: Running, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

it('a second gateway with one ledger warns at the start, but not after the first has ended or was killed', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const warning = `warning: Another gateway already writes ${store}: the counts of both may become wrong.  Give each gateway its own usage.store.`;
  const first = await startWith(store);
  expect(first.output()).not.toContain('warning: Another gateway');
  const second = await startWith(store);
  expect(second.output()).toContain(warning);
  // It would claim the ledger once the first one has ended.
  await end(second, 'SIGTERM');
  expect((await startWith(`${store}-2`)).output()).not.toContain('warning: Another gateway');
  await end(first, 'SIGKILL');
  const next = await startWith(store);
  expect(next.output()).not.toContain('warning: Another gateway');
  await end(next, 'SIGTERM');
  expect((await startWith(store)).output()).not.toContain('warning: Another gateway');
});

it('each new gateway of a rolling restart knows of the one before it', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const first = await startWith(store);
  const second = await startWith(store);
  await end(first, 'SIGTERM');
  await eventually(() => {
    const claim = claimLedger(store);
    claim?.release();
    expect(claim).toBeUndefined();
  });
  expect((await startWith(store)).output()).toContain('warning: Another gateway');
  expect(second.child.exitCode).toBeNull();
});

it('a ledger whose folder cannot be written causes no warning about a second gateway', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  const running = await startWith(join(folder, 'file', 'usage.db'));
  expect(running.output()).not.toContain('warning: Another gateway');
  await running.printed(/cannot be written: a part of its path is not a folder/);
});

it('stops with the gateway.drain of the last reload', async () => {
  const folder = temporaryFolder();
  const [store, file] = [join(folder, 'usage.db'), join(folder, 'routes.yaml')];
  const running = await startWith(store, file);
  writeFileSync(file, routesWith(store, '2s'));
  await running.printed(/gateway: settings changed/);
  await end(running, 'SIGTERM');
  expect(running.output()).toContain('version-gateway is stopping: requests in flight have 2 s to finish');
});
