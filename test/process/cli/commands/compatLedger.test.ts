import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { importLedger } from '../../../../gateway/operate/fleet/importLedger.ts';
import { Membership } from '../../../../gateway/operate/fleet/membership.ts';
import { Postgres } from '../../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../../gateway/operate/fleet/schema.ts';
import { Ledger } from '../../../../gateway/usage/ledger/ledger.ts';
import { gatewayState, identity } from '../../../operate/fleet/gatewayRow.ts';
import { refusedUrl } from '../../../support/gateway.ts';
import { ledgerWith, row } from '../../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres.ts';
import { contract, Repository, routesFile } from '../compatRepository.ts';

const dayMs = 86_400_000;
const now = Date.now();
const routes = { 'routes.yaml': routesFile({ v1: 'v1.json', v2: 'v2.json' }) };
const fields = { price: 'string' };
const v1 = contract({ 'GET /v1/drinks/{id}': fields, 'GET /v1/bars': fields });
const v2 = contract({ 'GET /cocktails': fields });
const renamed = v1
  .replaceAll('{id}', '{drink}')
  .replace('"name": "id"', '"name": "drink"')
  .replaceAll('"price"', '"cost"');

function called(coveredSince: number, rows: Parameters<Ledger['add']>[0]): Repository {
  const repository = Repository.of({ ...routes, 'v1.json': v1, 'v2.json': v2 }).write({ 'v1.json': renamed });
  const store = join(repository.folder, '.version-gateway/usage.db');
  mkdirSync(join(repository.folder, '.version-gateway'));
  const clock = { time: coveredSince, now: () => clock.time };
  const ledger = Ledger.open({ store, retention: 400 * dayMs }, { clock });
  clock.time = now;
  ledger.add(rows);
  ledger.close();
  return repository;
}

async function told(repository: Repository): Promise<(number | null)[]> {
  const { code, stdout, stderr } = await repository.compat(['--routes', 'routes.yaml', '--format', 'json']);
  expect([code, stderr]).toEqual([1, '']);
  const [ofV1] = (JSON.parse(stdout) as { comparings: { findings: Found[] }[] }).comparings;
  const removed = ofV1?.findings.filter(({ rule }) => rule === 'response-field-removed') ?? [];
  expect(removed.map(({ routes: [route] }) => route?.path)).toEqual(['/drinks/{drink}', '/bars']);
  return removed.map(({ calls }) => calls);
}

interface Found {
  readonly rule: string;
  readonly routes: { readonly path: string }[];
  readonly calls: number | null;
}

describe('the number of calls of a route', () => {
  const rows = [
    row('v1', 'a', now - dayMs, { route: 'GET /drinks/{id}', requests: 1200 }),
    row('v1', 'b', now - 29 * dayMs, { route: 'GET /drinks/{drink}', requests: 34 }),
    row('v1', 'a', now - 31 * dayMs, { route: 'GET /drinks/{id}', requests: 5000 }),
    row('v2', 'a', now - dayMs, { route: 'GET /bars', requests: 7 }),
  ];

  it('comes from the ledger, whatever the names of its parameters were', async () => {
    const repository = called(now - 100 * dayMs, rows);
    expect(await told(repository)).toEqual([1234, 0]);
    const { stdout } = await repository.compat(['--routes', 'routes.yaml']);
    expect(stdout).toContain('called 1,234 times in 30 days');
    expect(stdout).toContain('not called in 30 days');
  });

  it('is unknown instead of 0 if the ledger is too young', async () => {
    expect(await told(called(now - 3 * dayMs, rows.slice(0, 1)))).toEqual([1200, null]);
  });

  it('is unknown instead of 0 if some routes were counted together', async () => {
    expect(await told(called(now - 100 * dayMs, [row('v1', 'a', now - dayMs, { route: 'other' })]))).toEqual([
      null,
      null,
    ]);
  });

  it.each([
    ['there is no ledger', undefined],
    ['it is not a ledger', 'something else'],
  ])('is unknown if %s', async (_name, content) => {
    const repository = Repository.of({ ...routes, 'v1.json': v1, 'v2.json': v2 }).write({ 'v1.json': renamed });
    if (content !== undefined) {
      mkdirSync(join(repository.folder, '.version-gateway'));
      writeFileSync(join(repository.folder, '.version-gateway/usage.db'), content);
    }
    expect(await told(repository)).toEqual([null, null]);
  });

  it('is read from the ledger that routes.yaml names', async () => {
    const repository = called(now - 100 * dayMs, rows);
    repository.write({ 'routes.yaml': routesFile({ v1: 'v1.json', v2: 'v2.json' }, { usage: { store: 'none.db' } }) });
    expect(await told(repository)).toEqual([null, null]);
  });

  describe('in a fleet', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    /** Another gateway has counted these rows; the ledger of the working tree has a call that is not in the store. */
    function fleetRepository(store: string): Repository {
      const repository = called(now - 100 * dayMs, [row('v1', 'c', now - dayMs, { route: 'GET /bars', requests: 9 })]);
      repository.write({
        'routes.yaml': routesFile({ v1: 'v1.json', v2: 'v2.json' }, { fleet: { store } }),
      });
      return repository;
    }

    /** A store with the rows, that a gateway has written until `writtenAt`. */
    async function filledStore(writtenAt = now): Promise<{ store: string; postgres: Postgres }> {
      const store = await server.database();
      const postgres = await Postgres.open({ store, passwordFile: undefined });
      onTestFinished(() => postgres.close());
      const written = row('v2', 'a', writtenAt, { route: 'GET /bars' });
      const { file, ledger } = ledgerWith([...rows, written], now - 100 * dayMs);
      ledger.close();
      await importLedger(postgres, file);
      return { store, postgres };
    }

    it('comes from the shared ledger', async () => {
      const { store } = await filledStore();
      expect(await told(fleetRepository(store))).toEqual([1234, 0]);
    });

    it('is unknown instead of 0 if no gateway has written lately', async () => {
      const { store } = await filledStore(now - 2 * 3_600_000);
      expect(await told(fleetRepository(store))).toEqual([1234, null]);
    });

    it('is unknown instead of 0 while a gateway is silent, or has not sent its counts', async () => {
      const { store, postgres } = await filledStore();
      await new Membership(postgres, identity('gw-2')).writeHeartbeat(gatewayState());
      // It is heard, but does not report its counts.
      expect(await told(fleetRepository(store))).toEqual([1234, null]);
      await postgres.query(`UPDATE ${schemaName}.gateways SET heard = now() - interval '1 minute'`);
      expect(await told(fleetRepository(store))).toEqual([1234, null]);
    });

    it('is unknown while the store cannot be reached, and a note says so', async () => {
      const store = (await refusedUrl()).replace('http:', 'postgres:');
      const repository = fleetRepository(store);
      expect(await told(repository)).toEqual([null, null]);
      const { stdout } = await repository.compat(['--routes', 'routes.yaml']);
      expect(stdout).toContain(
        "the calls of the routes are not known: The fleet's store cannot be reached: connect ECONNREFUSED",
      );
      // All contracts were compared.
      expect(stdout).not.toContain('not compared');
    });
  });
});
