import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Postgres } from '../../gateway/operate/fleet/postgres.ts';
import { type Child, startServer, temporaryFolder } from './children.ts';
import { freePort } from './ports.ts';

export interface BenchGateway extends Child {
  readonly name: string;
  readonly port: number;
  readonly adminPort: number;
  /** Its routes.yaml. */
  readonly file: string;
  /** The sections of routes.yaml other than `routes`. */
  readonly settings: string;
}

/**
 * Starts a gateway with one version, `/v1`. `store`: the store of its fleet; undefined: the gateway is in no fleet.
 * `nodeOptions`: options of the Node process that runs the gateway.
 */
export async function startGateway(
  name: string,
  backend: number,
  store?: string,
  nodeOptions: readonly string[] = [],
): Promise<BenchGateway> {
  const [port, adminPort, folder] = [await freePort(), await freePort(), temporaryFolder()];
  const file = join(folder, 'routes.yaml');
  const settings = [
    `gateway: { listen: "127.0.0.1:${port}", admin: "127.0.0.1:${adminPort}", drain: 5s }`,
    `usage: { store: "${join(folder, 'usage.db')}", identify: ["header:x-client-id"] }`,
    'log: { access: off }',
    ...(store === undefined ? [] : [`fleet: { store: "${store}", name: "${name}" }`]),
  ].join('\n');
  writeRoutes({ file, settings }, `"http://127.0.0.1:${backend}"`);
  const args = [...nodeOptions, 'gateway/main.ts', 'start', '--config', file];
  const server = await startServer({ program: process.execPath, args }, port, 'onAnyCore');
  return { name, port, adminPort, file, settings, ...server };
}

/** Replaces routes.yaml atomically. `v1`: the settings of `/v1`, as YAML. */
export function writeRoutes({ file, settings }: Pick<BenchGateway, 'file' | 'settings'>, v1: string): void {
  writeFileSync(`${file}.next`, `routes: { /v1: ${v1} }\n${settings}\n`);
  renameSync(`${file}.next`, file);
}

/** Runs one statement on a store. */
export async function queryStore<Row extends object>(store: string, statement: string): Promise<Row[]> {
  const sql = await Postgres.open({ store, passwordFile: undefined }, { connections: 1 });
  try {
    return await sql.query<Row>(statement);
  } finally {
    await sql.close();
  }
}
