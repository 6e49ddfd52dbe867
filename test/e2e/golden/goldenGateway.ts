import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { type Running, run } from '../../support/process.ts';
import { Admin } from './admin.ts';
import { ask, Corpus } from './corpus.ts';
import { knownTexts, type Mask, masked, masks, startOfRun } from './masks.ts';

export const fixtures = 'test/fixtures/golden';

/** A gateway that serves a copy of a golden `routes.yaml` at the start of the run, as a process of its own. */
export interface GoldenGateway extends Pick<Running, 'printed'> {
  readonly folder: string;
  readonly admin: Admin;
  readonly adminAddress: string;
  readonly corpus: Corpus;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Runs a command in the folder. `text`: everything that it shows to a person. */
  readonly command: (...args: string[]) => Promise<{ readonly stdout: string; readonly text: string }>;
  /** The golden files to compare with. */
  readonly golden: () => Promise<Golden>;
  /** Stops it with SIGTERM. @returns its exit code */
  readonly stop: () => Promise<unknown>;
}

export interface GoldenSettings {
  /** The values of the variables in `routes.yaml`. */
  readonly urls: Readonly<Record<string, string>>;
  /** The token of the admin listener. */
  readonly token?: string;
  /** Writes the ledger that the gateway finds. */
  readonly seed?: (store: string, tagOf: (key: string) => Promise<string>) => Promise<void>;
}

export async function startGolden(name: string, { urls, token = '', seed }: GoldenSettings): Promise<GoldenGateway> {
  const folder = temporaryFolder();
  const written = copyWithFixedTimes(join(fixtures, name), folder);
  // The metric is exported once, at the end. By default it is exported every minute, so also within a slow run.
  const env = { ...urls, ...atStartOfRun(), ADMIN_TOKEN: token, OTEL_METRIC_EXPORT_INTERVAL: '3600000' };
  await seed?.(join(folder, 'data', 'usage.db'), async (key) => {
    return (await runCommand(folder, env, ['tag', 'x-api-key'], key)).stdout.trim();
  });
  const gateway = run(process.execPath, [gatewayMain, 'start', '--config', join(folder, 'routes.yaml')], env);
  const [stdout, stderr] = [collected(gateway.child.stdout), collected(gateway.child.stderr)];
  const [, port = ''] = await gateway.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const [, adminPort = ''] = await gateway.printed(/http:\/\/127\.0\.0\.1:(\d+)\/readyz/);
  const admin = new Admin(Number(adminPort), token);
  return {
    folder,
    admin,
    adminAddress: `127.0.0.1:${adminPort}`,
    corpus: new Corpus(Number(port)),
    printed: gateway.printed,
    stdout,
    stderr,
    command: (...args) => runCommand(folder, env, args),
    golden: async () => {
      const { config } = (await admin.json('/api/status')) as { config: { fingerprint: string } };
      const known = knownTexts([
        [config.fingerprint, '<fingerprint>'],
        [config.fingerprint.slice(0, 12), '<fingerprint>'],
        [encodeURIComponent(`${folder}/routes.yaml`), '<folder>%2Froutes.yaml'],
        [encodeURIComponent(`http://127.0.0.1:${adminPort}`), 'http%3A%2F%2F127.0.0.1%3A<admin>'],
        [folder, '<folder>'],
        [secondsText(written), '<files written>'],
        [secondsText(written).replaceAll(/[-:]/g, ''), '<files written>'],
        [`"pid": ${gateway.child.pid}`, '"pid": <pid>'],
        [`127.0.0.1:${port}`, '127.0.0.1:<port>'],
        [`X-Forwarded-Port: ${port}`, 'X-Forwarded-Port: <port>'],
        [`127.0.0.1:${adminPort}`, '127.0.0.1:<admin>'],
        ...Object.entries(urls).flatMap(([variable, url]) => portTexts(variable, new URL(url).port)),
      ]);
      return new Golden(name, [...known, ...masks]);
    },
    stop: async () => {
      const ended = once(gateway.child, 'exit');
      gateway.child.kill('SIGTERM');
      return (await ended)[0];
    },
  };
}

/** A clock of a process that shows the start of the run now, also in its threads. */
function atStartOfRun(): Record<string, string> {
  const offset = String(startOfRun - Date.now());
  return { CLOCK_OFFSET_MS: offset, NODE_OPTIONS: `--import=${resolve('test/support/clockOffset.mjs')}` };
}

/** The texts in which a port appears. */
function portTexts(name: string, port: string): [text: string, label: string][] {
  return [
    [`127.0.0.1:${port}`, `127.0.0.1:<${name}>`],
    [`"server.port": ${port}`, `"server.port": <${name}>`],
  ];
}

/** Everything that a stream brings, so far. */
function collected(stream: Readable | null): () => string {
  let sum = '';
  stream?.on('data', (chunk) => (sum += chunk));
  return () => sum;
}

/** Runs a command in the folder. `text`: everything that it shows to a person. */
async function runCommand(folder: string, env: Record<string, string>, args: readonly string[], input = '') {
  const child = spawn(process.execPath, [gatewayMain, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: 'pipe',
  });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, text: `$ version-gateway ${args.join(' ')}\n${stdout}${stderr}(exit code ${code})\n` };
}

/**
 * Copies the fixtures. The times of files are part of what the gateway sends. Their modification is set to a fixed time. @returns when
 * they were written, which the system does not let anybody set, in epoch ms
 */
function copyWithFixedTimes(fixture: string, folder: string): number {
  cpSync(fixture, folder, { recursive: true });
  mkdirSync(join(folder, 'data'));
  const changed = new Date('2031-01-05T08:00:00Z');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  for (const file of files) if (statSync(file).isFile()) utimesSync(file, changed, changed);
  return Math.max(...files.map((file) => statSync(file).ctimeMs));
}

/** `2026-11-30T21:47:28Z` */
function secondsText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+/, '');
}

/** Waits until the ledger has a request that is sent after all others. */
export async function ledgerHasEverything(
  { corpus, admin }: GoldenGateway,
  line: string,
  client: string,
): Promise<void> {
  await corpus.exchange([ask('last', line, `X-Client-Id: ${client}`)]);
  await eventually(async () => {
    const usage = JSON.stringify(await admin.json('/api/usage?by=client'));
    if (!usage.includes(client)) throw new Error(`the ledger does not have ${client} yet`);
  });
}

/** Notices come from several timers. A line that is indented belongs to the notice before it. */
export function sortedNotices(stderr: string): string {
  return stderr
    .trimEnd()
    .split(/\n(?! )/)
    .sort()
    .map((notice) => `${notice}\n`)
    .join('');
}

/** The files that the gateway has written, with their modes. The mode of a folder depends on the umask. */
export function filesText(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const written = names.filter((name) => name === 'access.log' || name.startsWith('data/'));
  const lines = written.map((name) => `${(statSync(join(folder, name)).mode & 0o777).toString(8)} ${name}`);
  return `${lines.join('\n')}\n`;
}

/** The golden files of one run. */
export class Golden {
  readonly #folder: string;
  readonly #masks: readonly Mask[];
  readonly #texts = new Map<string, string>();

  constructor(folder: string, all: readonly Mask[]) {
    this.#folder = folder;
    this.#masks = all;
  }

  /** `more`: masks that hold in this file only. */
  add(name: string, whole: string, more: readonly Mask[] = []): void {
    this.#texts.set(name, this.masked(whole, more));
  }

  masked(whole: string, more: readonly Mask[] = []): string {
    return masked(whole, [...this.#masks, ...more]);
  }

  /** Compares all files, so that one run shows every difference. */
  async compare(): Promise<void> {
    const failures: unknown[] = [];
    for (const [name, whole] of this.#texts) {
      const file = join('..', '..', 'fixtures', 'golden', 'expected', this.#folder, name);
      await expect(whole, name)
        .toMatchFileSnapshot(file)
        .catch((error: unknown) => failures.push(error));
    }
    const [first] = failures;
    if (failures.length === 1) throw first;
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} golden files differ`);
  }
}
