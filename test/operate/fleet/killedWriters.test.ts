import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { bundle } from '../../../tools/bundle.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { cases } from '../../support/cases.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { type Running, run } from '../../support/process.ts';
import { query, sumsIn } from './startMember.ts';

// Beside the built gateway, whose package.json it reads. From the sources, each start would take three times the CPU time.
const built = join(inject('builtGateway'), 'writingMember');

let server: PostgresServer;
beforeAll(async () => {
  await bundle(built, { writingMember: 'test/operate/fleet/writingMember.ts' });
  server = await startPostgres();
});
afterAll(() => server.stop());

/** The requests in ledger files, by `version client route`. */
function sumsOfLedgers(files: readonly string[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const file of files) {
    const ledger = new DatabaseSync(file, { readOnly: true });
    const rows = ledger
      .prepare(
        `SELECT v.name || ' ' || c.name || ' ' || r.name AS key, SUM(requests) AS requests FROM pair_day AS p
          JOIN versions v ON v.id = p.version JOIN clients c ON c.id = p.client JOIN routes r ON r.id = p.route GROUP BY 1`,
      )
      .all();
    ledger.close();
    for (const { key, requests } of rows) sums[String(key)] = (sums[String(key)] ?? 0) + Number(requests);
  }
  return sums;
}

/** How many batches the store has confirmed. */
async function confirmed(store: string): Promise<number> {
  const [row] = await query<{ sum: number | null }>(store, 'SELECT SUM(seq) AS sum FROM version_gateway.writers').catch(
    () => [],
  );
  return row?.sum ?? 0;
}

it('has every count of a ledger file once, though gateways are killed and PostgreSQL crashes at any time', async () => {
  const [members, kills] = [4, cases(8, 16)];
  const crashes = [1, 2].map((third) => Math.floor((third * kills) / 3));
  const store = await server.database();
  const files = Array.from({ length: members }, () => join(temporaryFolder(), 'usage.db'));
  const start = (number: number, ...rest: readonly string[]): Running =>
    run(process.execPath, [join(built, 'writingMember.js'), store, files[number] as string, `gw-${number}`, ...rest]);
  const running = files.map((_file, number) => start(number));
  await Promise.all(running.map((one) => one.printed(/^started$/m)));

  for (let kill = 0; kill < kills; kill += 1) {
    const before = await confirmed(store);
    // Not before the store has taken further batches, so that each kill hits gateways that write.
    await eventually(async () => expect(await confirmed(store)).toBeGreaterThan(before + 5));
    await sleep(Math.random() * 50);
    if (crashes.includes(kill)) {
      await server.crash();
      await server.start();
    }
    const number = kill % members;
    const { child } = running[number] as Running;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    running[number] = start(number);
  }
  await Promise.all(running.map((one) => one.printed(/^started$/m)));
  // The last batches of all gateways are sent in an orderly way.
  await Promise.all(
    running.map(async ({ child }) => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    }),
  );
  const expected = sumsOfLedgers(files);
  expect(await sumsIn(store)).toEqual(expected);
  const total = Object.values(expected).reduce((sum, one) => sum + one, 0);
  expect(total).toBeGreaterThan(1_000);
  for (const table of ['version_hour', 'client_day', 'route_block', 'pair_hour', 'version_day_instance'])
    expect(await query(store, `SELECT SUM(requests) AS sum FROM version_gateway.${table}`), table).toEqual([
      { sum: total },
    ]);
});
