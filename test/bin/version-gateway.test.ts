import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';

const root = new URL('../../', import.meta.url).pathname;
const platform = `node-${process.platform}-${process.arch}`;

interface Layout {
  readonly main: Readonly<Record<string, string>>;
  readonly hasNode: boolean;
}

/** A package with the launcher and the given entry points. */
function packageWith(folder: string, { main, hasNode }: Layout): string {
  const home = join(temporaryFolder(), folder);
  mkdirSync(join(home, 'bin'), { recursive: true });
  cpSync(join(root, 'bin/version-gateway.js'), join(home, 'bin/version-gateway.js'));
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }');
  for (const [path, code] of Object.entries(main)) {
    mkdirSync(join(home, path, '..'), { recursive: true });
    writeFileSync(join(home, path), code);
  }
  if (hasNode) {
    mkdirSync(join(home, 'node_modules'));
    symlinkSync(join(root, 'node_modules', platform), join(home, 'node_modules', platform));
  }
  return join(home, 'bin/version-gateway.js');
}

/** Runs the launcher in a Node that pretends to have another version. */
function launch(launcher: string, args: string[], version?: string) {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
  const flags = version === undefined ? [] : ['--import', pretend];
  const child = spawn(process.execPath, [...flags, launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    printed.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    printed.stderr += chunk;
  });
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, ...printed })) };
}

const tell = 'console.log("ran", process.pid === +process.env.SELF, ...process.argv.slice(2)); process.exitCode = 7;';

it('fails without a suitable Node', async () => {
  const launcher = packageWith('app', { main: { 'gateway/main.ts': tell }, hasNode: false });
  const { code, stdout, stderr } = await launch(launcher, [], '20.20.2').ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/Node 24 or later is needed.*npm ci/);
});

it('reports a missing entry point', async () => {
  const { code, stderr } = await launch(packageWith('app', { main: {}, hasNode: true }), []).ended;
  expect([code, stderr]).toEqual([2, expect.stringContaining('neither dist/main.js nor gateway/main.ts')]);
});

it.each([undefined, '20.20.2'])('passes arguments and the exit code on, on Node %s', async (version) => {
  const launcher = packageWith('app', { main: { 'gateway/main.ts': tell }, hasNode: true });
  const { code, stdout } = await launch(launcher, ['check', '--config', 'a b'], version).ended;
  expect([code, stdout]).toEqual([7, 'ran false check --config a b\n']);
});

it('runs the sources in a checkout, and dist/ in an installed package', async () => {
  const main = { 'gateway/main.ts': 'console.log("source")', 'dist/main.js': 'console.log("built")' };
  const runs = ['app', 'node_modules/version-gateway'].map(
    (folder) => launch(packageWith(folder, { main, hasNode: false }), []).ended,
  );
  expect((await Promise.all(runs)).map(({ stdout }) => stdout)).toEqual(['source\n', 'built\n']);
});

it('passes signals on', async () => {
  const code =
    'process.on("SIGTERM", () => { console.log("term"); process.exit(3); }); setInterval(() => {}, 1000); console.log("up");';
  const { child, ended } = launch(
    packageWith('app', { main: { 'gateway/main.ts': code }, hasNode: true }),
    [],
    '20.20.2',
  );
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 3, stdout: 'up\nterm\n' });
});

it('exits with 128 + the number of the signal that ended it', async () => {
  const code = 'process.kill(process.pid, "SIGKILL");';
  const launcher = packageWith('app', { main: { 'gateway/main.ts': code }, hasNode: true });
  expect((await launch(launcher, [], '20.20.2').ended).code).toBe(137);
});

it('checks the file of this repository', async () => {
  const { code, stdout } = await launch(join(root, 'bin/version-gateway.js'), [
    'check',
    '--config',
    join(root, 'config', 'routes.yaml'),
  ]).ended;
  expect(stdout).toContain('/v1');
  expect(code).toBe(0);
});
