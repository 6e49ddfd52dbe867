import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeeds } from './programs.ts';

// Far longer than a start takes on a busy machine. An engine that fails ends earlier.
const startsWithinMs = 300_000;

/** Starts an engine with all its files in `folder`. Returns the variables for its clients, or a string: why it does not run. */
export async function startDaemon(folder: string): Promise<Record<string, string> | string> {
  const env = { DOCKER_HOST: `unix://${join(folder, 'docker.sock')}` };
  const isReady = () => succeeds('docker', ['ps'], { ...process.env, ...env }, 10);
  // A killed run has left its engine running.
  if (await isReady()) return env;
  const log = join(folder, 'dockerd.log');
  const output = openSync(log, 'w');
  const paths = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'run'), '--pidfile', pidFile(folder)];
  const daemon = spawn('dockerd', [...paths, '--host', env.DOCKER_HOST, ...mtu()], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  daemon.unref();
  const ended = once(daemon, 'exit').then(() => true);
  const startedAt = Date.now();
  while (Date.now() - startedAt < startsWithinMs) {
    if (await isReady()) return env;
    if (await Promise.race([ended, sleep(200).then(() => false)])) break;
  }
  return `dockerd does not start: ${readFileSync(log, 'utf8').trim().split('\n').at(-1)}`;
}

/** Containers must not send larger packets than the network interfaces of the machine allow. */
function mtu(): string[] {
  const sizes = readdirSync('/sys/class/net')
    .filter((name) => name !== 'lo' && readFileSync(`/sys/class/net/${name}/operstate`, 'utf8').trim() === 'up')
    .map((name) => Number(readFileSync(`/sys/class/net/${name}/mtu`, 'utf8')));
  return sizes.length === 0 ? [] : ['--mtu', String(Math.min(...sizes))];
}

/** Removes the containers, volumes and networks of a killed run. Keeps the images. */
export async function removeLeftovers(docker: (...args: string[]) => Promise<string>): Promise<void> {
  // A Swarm would start its tasks again.
  await docker('swarm', 'leave', '--force').catch(() => {});
  const ids = async (...args: string[]) => (await docker(...args)).split('\n').filter((id) => id !== '');
  const containers = await ids('ps', '--all', '--quiet');
  if (containers.length > 0) await docker('rm', '--force', '--volumes', ...containers);
  const volumes = await ids('volume', 'ls', '--quiet');
  if (volumes.length > 0) await docker('volume', 'rm', ...volumes);
  await docker('network', 'prune', '--force');
}

/** Deletes the images of a stopped engine. */
export async function removeData(folder: string): Promise<void> {
  // An engine that was killed leaves its data folder mounted on itself.
  await succeeds('umount', [join(folder, 'data')]);
  for (const name of ['data', 'run', 'dockerd.log']) rmSync(join(folder, name), { recursive: true, force: true });
}

export async function stopDaemon(folder: string): Promise<void> {
  const file = pidFile(folder);
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  if (!isDaemon(pid, file)) return;
  process.kill(pid, 'SIGTERM');
  if (await hasEnded(pid, file, 15_000)) return;
  console.error(`dockerd (process ${pid}) has not ended within 15 s and is killed`);
  process.kill(pid, 'SIGKILL');
  if (!(await hasEnded(pid, file, 5_000))) throw new Error(`dockerd (process ${pid}) cannot be killed`);
}

async function hasEnded(pid: number, file: string, withinMs: number): Promise<boolean> {
  const startedAt = Date.now();
  while (isDaemon(pid, file)) {
    if (Date.now() - startedAt > withinMs) return false;
    await sleep(100);
  }
  return true;
}

/** Checks that the process ID has not been reused, nor belongs to another engine. A zombie has no command line. */
function isDaemon(pid: number, file: string): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'dockerd' && args.includes(file);
  } catch {
    return false;
  }
}

function pidFile(folder: string): string {
  return join(folder, 'dockerd.pid');
}
