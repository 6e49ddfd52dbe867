import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { threads } from '../../gateway/shared/packageFiles.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { run } from '../support/process.ts';

// The package as another project installs it. This needs npm's registry or cache.
const installTimeout = 300_000;
const consumer = temporaryFolder();
const installed = join(consumer, 'node_modules', 'version-gateway');
let printedByPack = '';
let tarball: readonly string[] = [];

beforeAll(async () => {
  const folder = temporaryFolder();
  printedByPack = await shell('npm', ['pack', '--pack-destination', folder], process.cwd());
  const file = join(folder, readdirSync(folder)[0] ?? '');
  tarball = (await shell('tar', ['-tzf', file], folder)).trim().split('\n');
  const scripts = { version: 'node -v', where: 'command -v node' };
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ private: true, type: 'module', scripts }));
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const types = `@types/node@${devDependencies?.['@types/node']}`;
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await shell('npm', ['install', ...options, file, types], consumer);
}, installTimeout);

describe('the installed package', () => {
  it('does not change the Node of its consumer', async () => {
    const [version, where] = [
      await shell('node', ['-v'], consumer),
      await shell('sh', ['-c', 'command -v node'], consumer),
    ];
    expect(await shell('npm', ['run', '--silent', 'version'], consumer)).toBe(version);
    expect(await shell('npm', ['run', '--silent', 'where'], consumer)).toBe(where);
    expect(readdirSync(join(consumer, 'node_modules', '.bin'))).not.toContain('node');
    expect(readdirSync(join(consumer, 'node_modules')).filter((name) => name.startsWith('node-'))).toEqual([]);
  });

  it('has less than 60 MiB, dependencies included', () => {
    expect(sizeOf(join(consumer, 'node_modules')) / 1024 ** 2).toBeLessThan(60);
  });

  // The pre-commit framework takes this output as a file name.
  it('is packed without any output but its file name', () => {
    expect(printedByPack.trim()).toMatch(/^version-gateway-[\w.-]+\.tgz$/);
  });

  it('contains only the files of its manifest', () => {
    const folders = new Set(tarball.map((file) => file.split('/').slice(0, 2).join('/')));
    expect([...folders].sort()).toEqual(
      ['LICENSE', 'README.md', 'bin', 'dist', 'examples', 'gateway', 'package.json'].map((name) => `package/${name}`),
    );
    expect(tarball.filter((file) => /^package\/(?:gateway|examples)\//.test(file))).toEqual([
      'package/examples/pre-commit',
      'package/gateway/routes.schema.json',
    ]);
  });

  it('contains the entry point of each thread, and the licences of the packages that are joined with it', () => {
    expect(tarball).toEqual(expect.arrayContaining(threads.map((thread) => `package/dist/${thread}.js`)));
    const licences = readFileSync(join(installed, 'dist', 'LICENSES.txt'), 'utf8');
    for (const name of ['commander', 'yaml', 'zod']) expect(licences).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'));
    expect(licences.match(/Permission (?:is hereby granted|to use)/g)).toHaveLength(3);
  });

  // V8 needs two bytes for each character of a module if one character is not in Latin-1.
  it('has only ASCII characters in its bundled files', () => {
    const bundled = tarball.filter((file) => /^package\/dist\/(?:chunks\/)?[^/]+\.js$/.test(file));
    const texts = bundled.map((file) => readFileSync(join(installed, file.slice('package/'.length)), 'utf8'));
    expect(texts.length).toBeGreaterThan(50);
    expect(texts.filter((text) => /[^\0-\x7f]/.test(text))).toEqual([]);
  });

  it('starts its threads, and finds the files of the dashboard', async () => {
    const launcher = join(installed, 'bin', 'version-gateway.js');
    const routes = join(consumer, 'threads.yaml');
    const version = (contract: string, more = '') => `{ upstream: "http://127.0.0.1:1", contract: ${contract}${more} }`;
    const contract = (path: string) =>
      `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: { ${path}: { get: { responses: {} } } }\n`;
    writeFileSync(join(consumer, 'v1.yaml'), contract('/old'));
    writeFileSync(join(consumer, 'v2.yaml'), contract('/new'));
    const both = `routes:\n  /v1: ${version('v1.yaml', ', guide: true')}\n  /v2: ${version('v2.yaml')}\n`;
    // Nothing listens at the upstreams.
    const settings = 'guard: { trial: off }\nusage: { store: ./threads.db }\n';
    writeFileSync(routes, both + settings);
    const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    const gateway = run(process.execPath, [launcher, 'start', '--config', routes, ...anyPorts]);
    const [, base] = await gateway.printed(/listens on (\S+)/);
    const [, admin] = await gateway.printed(/Dashboard: (\S+)/);
    expect((await fetch(`${base}/v1/old`)).status).toBe(502);
    const get = async (url: string) => {
      const response = await fetch(url);
      expect([url, response.status]).toEqual([url, 200]);
      return response.text();
    };
    expect(await get(`${base}/guides/v1-to-v2.md`)).toContain('/old');
    expect(await get(`${admin}api/usage`)).toContain('"problem":null');
    expect(await get(`${admin}`)).toContain('<html');
    expect(await get(`${admin}assets/uplot.js`)).toContain('uPlot');
    writeFileSync(routes, `${both}  /v3: "http://127.0.0.1:1"\n${settings}`);
    gateway.child.kill('SIGHUP');
    await gateway.printed(/\/v3 (?:is )?added|reload \(\w+\): reloaded/);
    expect(gateway.output()).not.toMatch(/ledger ended|cannot be/);
    gateway.child.kill('SIGTERM');
    await gateway.printed(/is stopping/);
  });

  it('starts, and stops on SIGTERM', async () => {
    const launcher = join(installed, 'bin', 'version-gateway.js');
    const routes = join(consumer, 'routes.yaml');
    writeFileSync(routes, 'routes: { /v1: "http://127.0.0.1:1" }\nusage: { store: ./usage.db }\n');
    const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    const gateway = run(process.execPath, [launcher, 'start', '--config', routes, ...anyPorts]);
    const [, base] = await gateway.printed(/listens on (\S+)/);
    expect((await fetch(`${base}/v1/`)).status).toBe(502);
    gateway.child.kill('SIGTERM');
    await gateway.printed(/is stopping/);
  });

  it('serves without the packages of OpenTelemetry, and prints the command that installs them', async () => {
    const launcher = join(installed, 'bin', 'version-gateway.js');
    const routes = join(consumer, 'exporting.yaml');
    const telemetry = 'telemetry: { otlp: "http://127.0.0.1:1", sample: 100% }';
    writeFileSync(routes, `routes: { /v1: "http://127.0.0.1:1" }\nusage: { store: ./exporting.db }\n${telemetry}\n`);
    const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    const gateway = run(process.execPath, [launcher, 'start', '--config', routes, ...anyPorts]);
    const [, base] = await gateway.printed(/listens on (\S+)/);
    await gateway.printed(
      /^telemetry: nothing is exported: Cannot find package '@opentelemetry\/[\w-]+'\. {2}Run npm install @/m,
    );
    expect((await fetch(`${base}/v1/`)).status).toBe(502);
    gateway.child.kill('SIGTERM');
    await gateway.printed(/is stopping/);
    expect(gateway.output().match(/^telemetry:/gm)).toHaveLength(1);
  });

  it('does not start in a fleet without the package pg, and prints the command that installs it', async () => {
    const launcher = join(installed, 'bin', 'version-gateway.js');
    const routes = join(consumer, 'fleet.yaml');
    const fleet = 'fleet: { store: "postgres://127.0.0.1:1/gateway", name: gw-1 }';
    writeFileSync(routes, `routes: { /v1: "http://127.0.0.1:1" }\nusage: { store: ./fleet.db }\n${fleet}\n`);
    const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    const program = run(process.execPath, [launcher, 'start', '--config', routes, ...anyPorts]);
    expect(await once(program.child, 'close')).toEqual([1, null]);
    expect(program.output()).toMatch(/^fleet\.store needs the package pg\. {2}Install it: npm install pg@8$/m);
  });

  it('reports a Node that is too old', async () => {
    const launcher = join(installed, 'bin', 'version-gateway.js');
    const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`;
    const program = run(process.execPath, ['--import', pretend, launcher, '--help']);
    expect(await once(program.child, 'close')).toEqual([2, null]);
    expect(program.output()).toMatch(/^version-gateway: Node 24 or later is needed, and this is .*; install it\.\n$/);
  });

  it('has types that compile in a strict project without skipLibCheck', async () => {
    const source = `import { createServer } from 'node:http';
import { ConfigError, createVersionGateway, UnreadableFileError, type VersionGateway } from 'version-gateway';
import { type VersionLifecycle, versionLifecycle } from 'version-gateway/express';
const lifecycle: VersionLifecycle = versionLifecycle('routes.yaml', { ledger: true, reload: true });
createServer((req, res) => lifecycle(req, res, () => res.end())).on('upgrade', lifecycle.upgrade((_req, socket) => socket.end()));
const gateway: VersionGateway = createVersionGateway({ routes: { '/v1': 'http://127.0.0.1:1' } });
createServer(gateway).on('upgrade', gateway.upgrade).on('close', () => gateway.close());
export const isFault = (error: unknown): boolean => error instanceof ConfigError && error.faults.length > 0;
export const isMissing = (error: unknown): boolean => error instanceof UnreadableFileError && error.file !== '';
`;
    writeFileSync(join(consumer, 'uses.ts'), source);
    const settings = { module: 'nodenext', target: 'es2022', lib: ['es2023'], types: ['node'], strict: true };
    const compilerOptions = { ...settings, skipLibCheck: false, noEmit: true };
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['uses.ts'] }));
    const compiler = join(process.cwd(), 'node_modules', '.bin', 'tsc');
    // Several checkers would each check the types that they share.
    expect(await shell(compiler, ['-p', consumer, '--checkers', '1'], consumer)).toBe('');
  });

  it('can be embedded in another server', async () => {
    const backend = createServer((req, res) => res.end(`backend ${req.url}`)).listen(0, '127.0.0.1');
    onTestFinished(() => void backend.close());
    await once(backend, 'listening');
    const upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
    const source = `import { createServer } from 'node:http';
import { createVersionGateway } from 'version-gateway';
import { versionLifecycle } from 'version-gateway/express';
const gateway = createVersionGateway({ routes: { '/v1': process.env.UPSTREAM } });
const lifecycle = versionLifecycle({ routes: { '/v2': { deprecation: '2026-01-01' } }, gateway: { base_path: '/own' } });
const server = createServer((req, res) => {
  if (req.url.startsWith('/own')) lifecycle(req, res, () => res.end('own'));
  else gateway(req, res);
});
server.listen(0, '127.0.0.1', () => console.log('port: ' + server.address().port));
`;
    writeFileSync(join(consumer, 'embeds.js'), source);
    const program = run(process.execPath, [join(consumer, 'embeds.js')], { UPSTREAM: upstream });
    const [, port] = await program.printed(/port: (\d+)/);
    expect(await (await fetch(`http://127.0.0.1:${port}/v1/a`)).text()).toBe('backend /a');
    expect((await fetch(`http://127.0.0.1:${port}/own/v2/a`)).headers.get('deprecation')).toBe('@1767225600');
  });
});

/** Runs a program without the Node of this checkout and without its npm variables, as another project would. */
async function shell(command: string, args: readonly string[], cwd: string): Promise<string> {
  const ours = /^(?:npm_(?:package|lifecycle|command|config_local_prefix|execpath|node_execpath)|INIT_CWD$)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
  const isOurs = (folder: string): boolean => folder.endsWith(join('node_modules', '.bin'));
  const PATH = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !isOurs(folder))
    .join(delimiter);
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { ...env, PATH } });
  return stdout;
}

/** In bytes, without the targets of links. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files.reduce((sum, file) => sum + (file.isFile() ? lstatSync(join(file.parentPath, file.name)).size : 0), 0);
}
