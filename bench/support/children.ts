import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Core, pinned } from './cores.ts';
import { waitUntilListening } from './ports.ts';
import { processTree } from './proc.ts';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The file that receives the standard output of a server; default: none. */
  readonly output?: string;
}

export interface Child {
  readonly pid: number;
  stop(): Promise<void>;
}

const livingPids = new Set<number>();
const folders = new Set<string>();

/** Creates a folder that is removed when this process exits. */
export function temporaryFolder(): string {
  cleanUpOnExit();
  const folder = mkdtempSync(join(tmpdir(), 'version-gateway-bench-'));
  folders.add(folder);
  return folder;
}

/** Starts a server and waits until it accepts connections on `port`; tries every `attemptMs`. */
export async function startServer(command: Command, port: number, core: Core, attemptMs?: number): Promise<Child> {
  const errorFile = join(temporaryFolder(), 'stderr');
  const errorDescriptor = openSync(errorFile, 'w');
  const outputDescriptor = command.output === undefined ? 'ignore' : openSync(command.output, 'w');
  const { program, args } = pinned(command, core);
  const child = spawn(program, args, {
    env: { ...process.env, NODE_ENV: 'production', ...command.env },
    stdio: ['ignore', outputDescriptor, errorDescriptor],
  });
  closeSync(errorDescriptor);
  if (typeof outputDescriptor === 'number') closeSync(outputDescriptor);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()));
  const { pid } = child;
  if (pid === undefined) throw new Error(`cannot start ${command.program}`);
  livingPids.add(pid);
  ended.then(() => livingPids.delete(pid));
  const stop = () => stopTree(child, pid, ended);
  try {
    await waitUntilListening(
      port,
      () => {
        if (!livingPids.has(pid))
          throw new Error(`${command.program} ended: ${readFileSync(errorFile, 'utf8').slice(-2000)}`);
      },
      attemptMs,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid, stop };
}

/** Runs a program to its end. Returns what it wrote to stdout. */
export async function runToEnd(command: Command, core: Core): Promise<string> {
  cleanUpOnExit();
  const { program, args } = pinned(command, core);
  const child = spawn(program, args, { env: { ...process.env, ...command.env }, stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid !== undefined) livingPids.add(child.pid);
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const [code] = await once(child, 'close');
  if (child.pid !== undefined) livingPids.delete(child.pid);
  if (code !== 0) throw new Error(`${command.program} ended with ${code}: ${written}`);
  return written;
}

/** Sends SIGTERM. After one second, kills the whole process tree, because the worker of nginx survives a killed master. */
async function stopTree(child: ChildProcess, pid: number, ended: Promise<void>): Promise<void> {
  if (!livingPids.has(pid)) return;
  child.kill('SIGTERM');
  await Promise.race([ended, sleep(1000, undefined, { ref: false })]);
  if (livingPids.has(pid)) killTree(pid);
  await ended;
}

function killTree(pid: number): void {
  for (const member of processTree(pid)) {
    try {
      process.kill(member, 'SIGKILL');
    } catch {
      // The process has ended in the meantime.
    }
  }
}

let isCleanUpRegistered = false;

function cleanUpOnExit(): void {
  if (isCleanUpRegistered) return;
  isCleanUpRegistered = true;
  process.once('exit', () => {
    for (const pid of livingPids) killTree(pid);
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}
