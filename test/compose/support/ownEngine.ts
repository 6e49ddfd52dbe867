import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeeds } from './programs.ts';

/** Starts an engine that has all it needs in `folder`; returns how to reach it. A text says why it cannot run here. */
export async function startDaemon(folder: string): Promise<Record<string, string> | string> {
  const env = { DOCKER_HOST: `unix://${join(folder, 'docker.sock')}` };
  const answers = () => succeeds('docker', ['ps'], { ...process.env, ...env }, 10);
  // A run that was killed has left it.
  if (await answers()) return env;
  const log = join(folder, 'dockerd.log');
  const output = openSync(log, 'w');
  const places = [
    '--data-root',
    join(folder, 'data'),
    '--exec-root',
    join(folder, 'run'),
    '--pidfile',
    pidFile(folder),
  ];
  const daemon = spawn('dockerd', [...places, '--host', env.DOCKER_HOST, ...mtu()], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  daemon.unref();
  const ended = once(daemon, 'exit').then(() => true);
  const begun = Date.now();
  while (Date.now() - begun < 40_000) {
    if (await answers()) return env;
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

/** A run that was killed has left its containers, which the engine brings back, and its networks. The images stay. */
export async function clear(docker: (...args: string[]) => Promise<string>): Promise<void> {
  const ids = async (...args: string[]) => (await docker(...args)).split('\n').filter((id) => id !== '');
  const containers = await ids('ps', '--all', '--quiet');
  if (containers.length > 0) await docker('rm', '--force', '--volumes', ...containers);
  const volumes = await ids('volume', 'ls', '--quiet');
  if (volumes.length > 0) await docker('volume', 'rm', ...volumes);
  await docker('network', 'prune', '--force');
}

/** Deletes the images and layers of an engine that has stopped. */
export function removeData(folder: string): void {
  for (const name of ['data', 'run', 'dockerd.log']) rmSync(join(folder, name), { recursive: true, force: true });
}

export async function stopDaemon(folder: string): Promise<void> {
  const file = pidFile(folder);
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  if (!isDaemon(pid, file)) return;
  process.kill(pid, 'SIGTERM');
  if (await hasEnded(pid, file, 15_000)) return;
  console.error(`dockerd (process ${pid}) does not end within 15 s: it is killed`);
  process.kill(pid, 'SIGKILL');
  if (!(await hasEnded(pid, file, 5_000))) throw new Error(`dockerd (process ${pid}) cannot be ended`);
}

async function hasEnded(pid: number, file: string, withinMs: number): Promise<boolean> {
  const begun = Date.now();
  while (isDaemon(pid, file)) {
    if (Date.now() - begun > withinMs) return false;
    await sleep(100);
  }
  return true;
}

/** The process could be another one by now, or another engine's. A zombie has no command line. */
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
