import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { gatewayMain } from '../../support/gatewayMain.ts';

const folder = mkdtempSync(join(tmpdir(), 'unsuitable-'));
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

execFileSync('mkfifo', [join(folder, 'pipe')]);
for (const [name, mebibytes] of [
  ['9M', 9],
  ['65M', 65],
] as const) {
  writeFileSync(join(folder, name), '');
  truncateSync(join(folder, name), mebibytes * 2 ** 20);
}
const upstream = 'http://127.0.0.1:3001';
const contract = 'openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\n';
const files = {
  'routes.yaml': `routes: { /v1: "${upstream}" }`,
  'contract.yaml': contract,
  'contract-pipe.yaml': `routes: { /v1: { upstream: "${upstream}", contract: pipe } }`,
  'contract-65M.yaml': `routes: { /v1: { upstream: "${upstream}", contract: 65M } }`,
  'ca-pipe.yaml': `routes: { /v1: { upstream: "https://127.0.0.1:3001", tls: { ca: pipe } } }`,
  'names-pipe.yaml': `routes: { /v1: "${upstream}" }\nusage: { names: pipe }`,
  'certificate-pipe.yaml': `routes: { /v1: "${upstream}" }\ngateway: { tls: { cert: pipe, key: pipe } }`,
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);

// A separate process for each, because a blocking read would block the test.
function run(args: readonly string[]): Promise<{ code: number | string | null; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: folder, timeout: 120_000, killSignal: 'SIGKILL' } as const;
    execFile(process.execPath, [gatewayMain, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? null) : 0, output: stdout + stderr });
    });
  });
}

const pipe = 'is a pipe, not a file.  Name a regular file';

it.each<[command: string, code: number, output: string]>([
  ['check --config pipe', 2, `pipe cannot be read: it ${pipe}`],
  ['check --config /dev/zero', 2, '/dev/zero cannot be read: it is a device, not a file.  Name a regular file'],
  ['check --config 9M', 2, '9M cannot be read: it is 9.0 MiB long, but at most 8.0 MiB are read.  '],
  ['start --config pipe', 2, `pipe cannot be read: it ${pipe}`],
  ['status --config pipe', 2, `pipe cannot be read: it ${pipe}`],
  ['check --config contract-pipe.yaml', 1, `pipe cannot be read: it ${pipe}`],
  ['check --config contract-65M.yaml', 1, '65M cannot be read: it is 65.0 MiB long, but at most 64.0 MiB are read'],
  ['check --config ca-pipe.yaml', 1, `pipe cannot be read: it ${pipe}`],
  ['check --config names-pipe.yaml', 1, `pipe cannot be read: it ${pipe}`],
  ['check --config certificate-pipe.yaml', 1, `pipe cannot be read: it ${pipe}`],
  ['check --config routes.yaml --compose pipe', 2, `pipe cannot be read: it ${pipe}`],
  ['compat contract.yaml pipe', 2, 'is a pipe, not a file'],
  ['usage --store pipe', 2, 'it is a pipe, not a file'],
])('%s exits with %i and reports why', async (command, code, output) => {
  const result = await run(command.split(' '));
  expect(result.output).toContain(output);
  expect(result.code).toBe(code);
});
