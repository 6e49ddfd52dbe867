import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInstalled, outputOf, succeeds } from './programs.ts';

/** A container engine, and how to reach it. */
export interface Engine {
  readonly env: Record<string, string>;
  /** Started here: what is in it is nobody else's. */
  readonly isOurs: boolean;
  stop(): Promise<void>;
}

/** Kept between runs, so that the second one finds its images. */
const folder = join(tmpdir(), 'version-gateway-engine');
const ours = { DOCKER_HOST: `unix://${join(folder, 'docker.sock')}` };
const pidFile = join(folder, 'dockerd.pid');

/** The engine at hand, else one of our own. A text says why there is none. */
export async function findEngine(): Promise<Engine | string> {
  if (await answers({})) return isInstalled('docker-compose') || (await hasPlugin()) ? foreign : 'there is no Compose';
  if (process.getuid?.() !== 0) return 'no container engine answers, and only root can start one';
  const missing = ['dockerd', 'docker', 'docker-compose', 'debootstrap', 'iptables'].filter((one) => !isInstalled(one));
  if (missing.length > 0) {
    if (!isInstalled('apt-get')) return `${missing.join(', ')} cannot be installed here: this is not Debian`;
    const failure = await install();
    if (failure !== undefined) return failure;
    // Its package may have started one.
    if (await answers({})) return foreign;
  }
  return startOurs();
}

const foreign: Engine = { env: {}, isOurs: false, stop: async () => {} };

function answers(env: Record<string, string>): Promise<boolean> {
  return succeeds('docker', ['info', '--format', '{{.ServerVersion}}'], { ...process.env, ...env }).then(
    (isThere) => isThere && succeeds('docker', ['ps'], { ...process.env, ...env }),
  );
}

export function hasPlugin(): Promise<boolean> {
  return succeeds('docker', ['compose', 'version']);
}

async function install(): Promise<string | undefined> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = ['docker.io', 'docker-compose', 'debootstrap', 'iptables', 'ca-certificates'];
  console.log(`installing ${packages.join(', ')}`);
  try {
    await outputOf('apt-get', ['update'], env);
    await outputOf('apt-get', ['install', '-y', '--no-install-recommends', ...packages], env);
    return undefined;
  } catch (error) {
    return `the engine cannot be installed: ${error instanceof Error ? error.message : error}`;
  }
}

async function startOurs(): Promise<Engine | string> {
  mkdirSync(folder, { recursive: true });
  const log = join(folder, 'dockerd.log');
  const engine = { env: ours, isOurs: true, stop };
  // A run that was killed has left it.
  if (await answers(ours)) return engine;
  const places = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'run'), '--pidfile', pidFile];
  const output = openSync(log, 'w');
  const daemon = spawn('dockerd', [...places, '--host', ours.DOCKER_HOST, ...mtu()], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  daemon.unref();
  const ended = once(daemon, 'exit').then(() => true);
  for (let tries = 0; tries < 150; tries += 1) {
    if (await answers(ours)) return engine;
    if (await Promise.race([ended, sleep(200).then(() => false)])) break;
  }
  return `dockerd does not start: ${readFileSync(log, 'utf8').trim().split('\n').at(-1)}`;
}

/** Containers must not send longer packets than the machine's own way out takes. */
function mtu(): string[] {
  const smallest = readdirSync('/sys/class/net')
    .filter((name) => name !== 'lo' && readFileSync(`/sys/class/net/${name}/operstate`, 'utf8').trim() === 'up')
    .map((name) => Number(readFileSync(`/sys/class/net/${name}/mtu`, 'utf8')));
  return smallest.length === 0 ? [] : ['--mtu', String(Math.min(...smallest))];
}

async function stop(): Promise<void> {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  process.kill(pid, 'SIGTERM');
  for (let tries = 0; tries < 100 && existsSync(`/proc/${pid}`); tries += 1) await sleep(100);
}
