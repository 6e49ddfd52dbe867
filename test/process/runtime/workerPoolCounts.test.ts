import { once } from 'node:events';
import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, countExactly, startCounted, startService } from './workerCounting.ts';

it('the ledger has the exact counts by client and version after a reload and a rolling restart', () =>
  countExactly(9_000));

it('after SIGKILL the ledger file is valid and misses only the last seconds', async () => {
  const { gateway, store } = await startCounted(await startService());
  const agent = new Agent({ keepAlive: true });
  for (let count = 0; count < 200; count += 1) await ask(gateway.port, '/v1/x', 'steady', agent);
  const total = async (): Promise<number> => {
    const ledger = LedgerReader.open(store);
    try {
      return (await ledger.totals(0)).reduce((sum, { requests }) => sum + requests, 0);
    } finally {
      ledger.close();
    }
  };
  await eventually(async () => expect(await total()).toBe(200));
  for (let count = 0; count < 50; count += 1) await ask(gateway.port, '/v1/x', 'late', agent);
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGKILL');
  await exit;
  agent.destroy();
  expect(await total()).toBeGreaterThanOrEqual(200);
  expect(await total()).toBeLessThanOrEqual(250);
});
