import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { type Running, run } from '../../support/process.ts';

export interface ServingGateway {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly admin: string;
  readonly folder: string;
}

/** A gateway with a process of its own. */
export interface FleetGateway extends Running, ServingGateway {}

/** What a test does at its end. */
type End = Pick<TestContext, 'onTestFinished'>;

export interface FleetGatewayOptions {
  readonly store: string;
  readonly name: string;
  readonly routes: Readonly<Record<string, unknown>>;
  /** Other sections of routes.yaml. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** `fleet:`, besides store and name. */
  readonly fleet?: Readonly<Record<string, unknown>>;
  /** The folder of an earlier run, with its ledger. */
  readonly folder?: string;
  /** How far its clock is ahead, ms. */
  readonly clockOffset?: number;
  /** A file with this difference, which the test may change at any time. */
  readonly clockFile?: string;
}

// Short, so that tests wait little. A machine that is busy must not make a gateway look silent.
export const quick = { heartbeat: '500ms', silent_after: '4s' };

/** Starts a gateway of a fleet as a process of its own. It is ended after the test, or at the `end` of several tests. */
export async function startFleetGateway(options: FleetGatewayOptions, end?: End): Promise<FleetGateway> {
  const folder = options.folder ?? temporaryFolder();
  writeMountedRoutes(folder, options);
  const running = startProcess(folder, options, end);
  // After SIGSTOP, a process ends on SIGTERM only once it is continued.
  (end?.onTestFinished ?? onTestFinished)(() => void running.child.kill('SIGCONT'));
  const [, port] = await running.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const [, admin = ''] = await running.printed(/http:\/\/(127\.0\.0\.1:\d+)\/readyz/);
  return { ...running, port: Number(port), admin, folder };
}

/** Starts a gateway with the routes.yaml in this folder, and does not wait until it serves clients. It is ended after the test. */
export function startProcess(
  folder: string,
  { clockOffset, clockFile }: Pick<FleetGatewayOptions, 'clockOffset' | 'clockFile'> = {},
  end?: End,
): Running {
  const hasOwnClock = clockOffset !== undefined || clockFile !== undefined;
  const clock = hasOwnClock ? ['--import', './test/support/clockOffset.mjs'] : [];
  const args = [...clock, gatewayMain, 'start', '--config', join(folder, 'routes.yaml')];
  const file = clockFile === undefined ? {} : { CLOCK_OFFSET_FILE: clockFile };
  return run(process.execPath, args, { CLOCK_OFFSET_MS: String(clockOffset ?? 0), ...file }, end);
}

/**
 * Writes routes.yaml as Kubernetes mounts a ConfigMap: `routes.yaml` → `..data/routes.yaml`, `..data` → a folder. An edit
 * replaces the link `..data`.
 */
export function writeMountedRoutes(
  folder: string,
  { store, name, routes, settings, fleet }: FleetGatewayOptions,
): void {
  const text = stringify({
    routes,
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' },
    usage: { store: join(folder, 'usage.db') },
    ...settings,
    // The upstreams of these tests need not exist. The quiet period is short, so that a version may end soon after a start.
    guard: { trial: 'off', quiet: '1s', ...(settings?.['guard'] as object | undefined) },
    fleet: { store, name, ...quick, ...fleet },
  });
  const data = `..${Date.now()}${Math.random()}`;
  mkdirSync(join(folder, data));
  writeFileSync(join(folder, data, 'routes.yaml'), text);
  symlinkSync(data, join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  rmSync(join(folder, 'routes.yaml'), { force: true });
  symlinkSync('..data/routes.yaml', join(folder, 'routes.yaml'));
}

/** Runs a command against the admin listener of a gateway. */
export function ask({ admin }: Pick<ServingGateway, 'admin'>, ...args: string[]) {
  return runIn('.', [...args, '--admin', admin]);
}

export async function readyz({ admin }: Pick<ServingGateway, 'admin'>) {
  const response = await fetch(`http://${admin}/readyz`);
  return { status: response.status, body: (await response.json()) as { ready: boolean; reason?: string } };
}
