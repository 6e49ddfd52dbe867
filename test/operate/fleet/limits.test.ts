import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { importLedger } from '../../../gateway/operate/fleet/importLedger.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask } from './fleetGateway.ts';
import { startGatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

it('each gateway refuses a limit by the requests to the others, and plan reads them from the store', async () => {
  const store = await server.database();
  const { file } = ledgerWith([row('v2', 'user-agent:curl', Date.now())], Date.now() - 2 * day);
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  await importLedger(postgres, file);
  await postgres.close();
  const { url: upstream } = await startBackend(() => okAnswer);
  const routes = { '/v1': upstream, '/v2': upstream };
  const start = (name: string) => startGatewayHere({ store, name, routes });
  const [first, second] = [await start('gw-1'), await start('gw-2')];
  const send = { method: 'POST', body: 'x'.repeat(5000) };
  const response = await fetch(`http://127.0.0.1:${first.port}/v1/drinks`, send);
  expect([response.status, await response.text()]).toEqual([200, 'ok']);

  const folder = temporaryFolder();
  const candidate = (name: string, more: object) => {
    const base = { gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' }, routes };
    const path = join(folder, `${name}.yaml`);
    const guard = { trial: 'off', quiet: '1s' };
    writeFileSync(path, stringify({ ...base, guard, fleet: { store, name }, ...more }));
    return path;
  };
  const lower = candidate('lower', { defaults: { limits: { body: 4999 } } });
  // The second gateway waits for the counts of the first one.
  const check = await ask(second, 'check', lower, '--against-running');
  expect([check.code, check.stdout]).toEqual([
    1,
    expect.stringContaining('the largest body of the last 7 days was 5,000 bytes, at POST /drinks.'),
  ]);
  const enough = candidate('enough', { defaults: { limits: { body: 5000 } } });
  expect(await ask(second, 'check', enough, '--against-running')).toMatchObject({ code: 0 });

  await eventually(async () => {
    const stored = await query(store, `SELECT value FROM ${schemaName}.meta WHERE key = 'answers'`);
    expect(stored).toHaveLength(1);
  });
  const plan = (path: string) => runIn(folder, ['plan', path, '--store', store]);
  expect(await plan(lower)).toMatchObject({ code: 1, stdout: expect.stringContaining('limits.body would be 4,999') });
  expect(await plan(enough)).toMatchObject({ code: 0 });
  const moved = candidate('moved', {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', base_path: '/api' },
  });
  expect(await plan(moved)).toMatchObject({ code: 1, stdout: expect.stringContaining('changes from / to /api') });
});
