import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../config/fault.ts';
import { systemClock } from '../shared/clock.ts';
import type { ExitCode, Io } from './io.ts';
import type { Patience } from './patience.ts';
import { type RunningStatus, type RunningVersion, unresponsiveWorkers } from './runningStatus.ts';

const pollEvery = 250;
// However little time is left, an answer needs some.
const [shortestAnswer, longestAnswer] = [1000, 10_000];

/** Waits until a retired version may be stopped; says why not, if not. @throws what `read` throws */
export async function waitUntilSafe(
  name: string,
  timeout: Patience,
  read: (patience: number) => Promise<RunningStatus>,
  format: 'text' | 'json',
  io: Io,
): Promise<ExitCode> {
  const until = systemClock.now() + timeout.ms;
  const end = (code: ExitCode, words: string, version?: RunningVersion): ExitCode => {
    if (format === 'json' && version) io.stdout.write(`${JSON.stringify(version, null, 2)}\n`);
    if (code !== 0) io.stderr.write(`${words}\n`);
    else if (format === 'text') io.stdout.write(`${words}\n`);
    return code;
  };
  let shown: string | undefined;
  for (;;) {
    const left = until - systemClock.now();
    const status = await read(Math.min(longestAnswer, Math.max(shortestAnswer, left)));
    const version = status.versions.find((one) => one.version === name);
    if (!version) return end(1, unknown(name, status.versions));
    if (version.stage !== 'retired' && version.stage !== 'removed') return end(1, stillServed(version), version);
    if (version.safe_to_stop) return end(0, `/${name}: 0 requests in flight, safe to stop`, version);
    const silent = unresponsiveWorkers(status).map((line) => `; ${printable(line)}, and may hold more`);
    const state = `${requests(version.in_flight + version.waiting)} in flight`;
    if (left <= 0) return end(1, `/${name}: still ${state} after ${timeout.text}${silent.join('')}`, version);
    const line = `/${name}: ${state}${silent.join('')}\n`;
    if (line !== shown) io.stderr.write(line);
    shown = line;
    await sleep(Math.min(pollEvery, left));
  }
}

function requests(count: number): string {
  return `${count} request${count === 1 ? '' : 's'}`;
}

function unknown(name: string, versions: readonly RunningVersion[]): string {
  const known = versions.map(({ version }) => printable(`/${version}`)).join(', ');
  return `The gateway knows no /${printable(name)}.  It knows ${known === '' ? 'none' : known}.`;
}

function stillServed({ version, stage }: RunningVersion): string {
  return printable(`/${version} is still served (${stage}).  Retire it first: set retired: true in routes.yaml.`);
}
