import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { importLedger } from '../../../gateway/operate/fleet/importLedger.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { migrate, schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { type Answer, type Backend, okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { ask, type FleetGateway, type ServingGateway, startFleetGateway } from './fleetGateway.ts';
import { type GatewayHere, startGatewayHere } from './gatewayHere.ts';
import { query } from './startMember.ts';

// A fleet whose store covers two days without a call of /v1, and what each place answers that is asked whether /v1 may end.

export const settings = { retire: { quiet: '1h' }, guard: { quiet: '1h', trial: 'off' } };

export interface Fleet {
  readonly store: string;
  readonly routes: Readonly<Record<string, unknown>>;
  readonly upstream: string;
  readonly backend: Backend;
  /** Starts a process, for a gateway that dies, hangs, or has workers or a clock of its own. */
  start(name: string, options?: Partial<Parameters<typeof startFleetGateway>[0]>): Promise<FleetGateway>;
  /** Starts a gateway in this process, in a fraction of the CPU time. */
  startHere(name: string, options?: Partial<Parameters<typeof startGatewayHere>[0]>): Promise<GatewayHere>;
}

/** A store whose ledger covers two days without a call of /v1. `script`: what the backend answers. */
export async function createFleet(server: Pick<PostgresServer, 'store'>, script: Answer = okAnswer): Promise<Fleet> {
  const store = await server.store();
  const { file, ledger } = ledgerWith([row('v2', 'user-agent:curl', Date.now())], Date.now() - 2 * day);
  ledger.close();
  const postgres = await Postgres.open({ store, passwordFile: undefined });
  await importLedger(postgres, file);
  await postgres.close();
  const backend = await startBackend(script);
  const { url: upstream } = backend;
  const routes = { '/v1': { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' }, '/v2': upstream };
  return {
    store,
    routes,
    upstream,
    backend,
    start: (name, options = {}) => startFleetGateway({ store, name, routes, settings, ...options }),
    startHere: (name, options = {}) => startGatewayHere({ store, name, routes, settings, ...options }),
  };
}

/** The address of the store behind a proxy, as behind a network that may break. */
export async function behindProxy(
  { port }: Pick<PostgresServer, 'port'>,
  { store }: Pick<Fleet, 'store'>,
  onEnd?: (stop: () => void) => void,
) {
  const proxy = await startTcpProxy(port, onEnd);
  return { proxy, store: store.replace(`:${port}/`, `:${proxy.port}/`) };
}

export async function call({ port }: Pick<ServingGateway, 'port'>, version = 'v1'): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/${version}/drinks`, { headers: { 'user-agent': 'shop' } });
  expect(response.status).toBe(200);
  await response.text();
}

type CommandResult = Awaited<ReturnType<typeof ask>>;

/**
 * What each place answers that is asked whether /v1 may end, or whether its backend may: its exit code. 0 is a yes.
 * @param check gets the answer of `can-retire`. If it throws, no other place is asked: that takes ten times as much CPU time.
 */
export async function answersOf(
  gateway: ServingGateway,
  { store, routes }: Fleet,
  check: (canRetire: CommandResult) => void = () => {},
) {
  const canRetire = await ask(gateway, 'can-retire', '/v1');
  check(canRetire);
  const candidate = join(temporaryFolder(), 'routes.yaml');
  const retired = { ...routes, '/v1': { ...(routes['/v1'] as object), retired: true } };
  const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  writeFileSync(
    candidate,
    stringify({
      routes: retired,
      gateway: listeners,
      usage: { store: join(gateway.folder, 'usage.db') },
      ...settings,
      fleet: { store, name: 'candidate' },
    }),
  );
  const config = join(gateway.folder, 'routes.yaml');
  // Without the version, and without any setting of the fleet.
  const shorter = join(temporaryFolder(), 'routes.yaml');
  writeFileSync(shorter, stringify({ routes: { '/v2': routes['/v2'] }, ...settings }));
  // At the same time, because most of them wait for the heartbeats of the other gateways, and the gateways cost CPU time meanwhile.
  const [guard, plan, planOfStore, planOfFile, wait] = await Promise.all([
    ask(gateway, 'check', candidate, '--against-running'),
    ask(gateway, 'plan', '--retire', '/v1'),
    runIn('.', ['plan', '--retire', '/v1', '--store', store, '--config', config]),
    runIn('.', ['plan', shorter, '--store', store]),
    ask(gateway, 'status', '--wait', '/v1', '--timeout', '1ms'),
  ]);
  return { canRetire, guard, plan, planOfStore, planOfFile, wait };
}

export async function expectYes(gateway: ServingGateway, fleet: Fleet): Promise<void> {
  await eventually(async () => {
    // Its backend is in use until it is retired.
    const { wait: _wait, ...answers } = await answersOf(gateway, fleet, ({ code }) => expect(code).toBe(0));
    expect(Object.values(answers)).toMatchObject(Array(5).fill({ code: 0 }));
  }, 1_000);
}

/** Expects that no place says yes. `because`: the reason that `can-retire` prints. */
export async function expectNoYes(gateway: ServingGateway, fleet: Fleet, because: RegExp): Promise<void> {
  const answers = await answersOf(gateway, fleet, ({ stdout }) => expect(stdout).toMatch(because));
  for (const [place, { code, stdout, stderr }] of Object.entries(answers))
    expect(code, `${place}: ${stdout}${stderr}`).not.toBe(0);
}

export async function kill({ child }: FleetGateway, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

export async function waitForState(store: string, name: string, condition: string): Promise<void> {
  await eventually(async () =>
    expect(
      await query(store, `SELECT name FROM ${schemaName}.gateways WHERE name = '${name}' AND ${condition}`),
    ).toHaveLength(1),
  );
}

/**
 * Keeps a copy of the tables. The returned function sets the store back to it. With `recreate`, it drops the tables and creates them
 * again, as a restore with `pg_restore --clean` does.
 */
export async function dump(store: string, { recreate = false } = {}): Promise<() => Promise<void>> {
  const tables = (
    await query<{ name: string }>(
      store,
      `SELECT c.relname AS name FROM pg_class AS c WHERE relnamespace = '${schemaName}'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition ORDER BY 1`,
    )
  ).map(({ name }) => name);
  const copy = `dump_${Math.random().toString(36).slice(2)}`;
  const copies = tables
    .map((name) => `CREATE TABLE ${copy}.${name} AS SELECT to_jsonb(t) AS row FROM ${schemaName}.${name} AS t;`)
    .join('\n');
  await query(store, `CREATE SCHEMA ${copy}; ${copies}`);
  return async () => {
    if (recreate) {
      await query(store, `DROP SCHEMA ${schemaName} CASCADE`);
      const postgres = await Postgres.open({ store, passwordFile: undefined });
      await migrate(postgres);
      await postgres.close();
      const now = Date.now();
      await query(
        store,
        `SET search_path TO ${schemaName}; SELECT create_partitions(${now - 40 * day}, ${now + day}); RESET search_path`,
      );
    }
    const restored = tables.map(
      (name) => `INSERT INTO ${schemaName}.${name} OVERRIDING SYSTEM VALUE
          SELECT (jsonb_populate_record(NULL::${schemaName}.${name}, row)).* FROM ${copy}.${name};`,
    );
    await query(
      store,
      `BEGIN; TRUNCATE ${tables.map((name) => `${schemaName}.${name}`).join(', ')}; ${restored.join('\n')} COMMIT;`,
    );
  };
}

export const setBack = /The shared store was set back|it was set back to an earlier time/;
