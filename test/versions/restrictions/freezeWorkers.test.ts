import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { StartedGateway } from '../../process/runtime/startWorkers.ts';
import { frozenWorkers, send } from './frozenWorkers.ts';

const knownClients = 2_000;
const oldKeys = Array.from({ length: knownClients }, (_one, index) => `old-${index}`);
it('refuses no known client in two workers, over reloads, rolling restarts and a restart', async () => {
  const { routes, start } = await frozenWorkers(knownClients);
  const gateway = await start();
  const refusesNewOnes = async (one: StartedGateway, name: string): Promise<void> => {
    const keys = Array.from({ length: 20 }, (_one, index) => `${name}-${index}`);
    expect(await send(one.port, keys)).toEqual({ 403: 20 });
  };
  await refusesNewOnes(gateway, 'first');
  // The gateway reloads and restarts its workers while requests arrive.
  const before = await gateway.pids();
  const all = send(gateway.port, oldKeys);
  gateway.edit(routes, { retire: { quiet: '1h', rhythm: 'off' } });
  gateway.child.kill('SIGHUP');
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  expect(await all).toEqual({ 200: knownClients });
  expect((await gateway.pids()).filter((pid) => before.includes(pid))).toEqual([]);
  // The new workers have the names, too.
  await expect.poll(() => send(gateway.port, ['late-1', 'late-2', 'late-3', 'late-4'])).toEqual({ 403: 4 });
  expect(await send(gateway.port, oldKeys.slice(0, 200))).toEqual({ 200: 200 });
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  await ended;
  const again = await start();
  await refusesNewOnes(again, 'first');
  expect(await send(again.port, oldKeys.slice(0, 200))).toEqual({ 200: 200 });
});
