import { once } from 'node:events';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { tag } from '../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { startWorkers } from './startWorkers.ts';
import { ask, startService } from './workerCounting.ts';

const key = 'sk-123456789';

/** Requests of a key that were counted under the hash with the ledger's salt, and under other hashes. */
async function countedIn(store: string): Promise<{ right: number; wrong: number }> {
  const ledger = LedgerReader.open(store);
  const salted = Ledger.open({ store, retention: 86_400_000 }, { clock: systemClock });
  const right = `x-client-id:${tag(salted.salt, key)}`;
  const uses = await ledger.byClient('v1', 0);
  ledger.close();
  salted.close();
  const sum = (those: typeof uses): number => those.reduce((total, { requests }) => total + requests, 0);
  return {
    right: sum(uses.filter(({ client }) => client === right)),
    wrong: sum(uses.filter(({ client }) => client !== right)),
  };
}

it.each([1, 2])('once a ledger can be read after the start, its salt is used, with %i workers', async (workers) => {
  const folder = temporaryFolder();
  const [away, kept] = [join(folder, 'away'), join(folder, 'kept')];
  const store = join(kept, 'usage.db');
  Ledger.open({ store: join(away, 'usage.db'), retention: 86_400_000 }, { clock: systemClock }).close();
  // A file is in place of its folder.
  writeFileSync(kept, '');
  const gateway = await startWorkers(
    workers,
    { '/v1': await startService() },
    { log: { access: 'off' }, usage: { store } },
  );
  const send = async (count: number): Promise<void> => {
    // A new connection each, so that every worker gets some.
    const agent = new Agent();
    await Promise.all(Array.from({ length: count }, () => ask(gateway.port, '/v1/x', key, agent)));
  };
  await send(10);
  rmSync(kept);
  renameSync(away, kept);
  const isRight = async (): Promise<void> => {
    await send(5);
    expect((await countedIn(store)).right).toBeGreaterThan(0);
  };
  await eventually(isRight);
  const before = await countedIn(store);
  await send(40);
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  const after = await countedIn(store);
  expect(after.wrong).toBe(before.wrong);
  expect(after.right).toBeGreaterThanOrEqual(before.right + 40);
});
