import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AdminEndpoint } from '../../../gateway/process/cli/adminClient.ts';
import { adminEndpointOf } from '../../../gateway/process/cli/options.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { startForwardProxy } from '../../support/forwardProxy.ts';
import { refusedUrl, startTestGateway } from '../../support/gateway.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { serveKeptAlive } from '../../support/keptAliveServer.ts';
import { run } from '../../support/process.ts';
import { startFakeAdmin } from './fakeAdmin.ts';
import { runIn } from './io.ts';

const token = 'correct-horse-battery-staple';
const config = { fingerprint: 'x', generation: 1, loaded_at: '2026-11-21T10:00:00.000Z', trigger: 'start' };
const idle = { config: { ...config, last_failure: null }, versions: [] };

function json(status: number, body: unknown): RequestListener {
  return (_req, res) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

describe('reports that the gateway gives no usable answer', () => {
  it('because nothing listens', async () => {
    const url = await refusedUrl();
    const { code, stdout, stderr } = await runIn('/', ['status', '--admin', url]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe(
      `${url} does not answer: ECONNREFUSED.  Check that the gateway is running, or give its gateway.admin address: --admin host:port.\n`,
    );
  });

  it('because it takes too long', async () => {
    const admin = await startFakeAdmin(() => {});
    const { code, stderr } = await runIn('/', ['status', '--admin', admin, '--wait', '/v1', '--timeout', '1s']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no answer within 5 s')]);
  });

  it.each<[string, RequestListener, NodeJS.ProcessEnv, RegExp]>([
    ['a page', (_req, res) => res.end('<p>hello'), {}, /is not the admin listener/],
    ['an empty answer', (_req, res) => res.end(), {}, /is not the admin listener/],
    ['a list', json(200, []), {}, /is not the admin listener/],
    ['other JSON', json(200, { hello: 1 }), {}, /is not the admin listener/],
    ['another configuration', json(200, { config: {}, versions: [] }), {}, /is not the admin listener/],
    ['other versions', json(200, { ...idle, versions: ['v1'] }), {}, /is not the admin listener/],
    ['half an answer', (_req, res) => void res.write('{', () => res.destroy()), {}, /does not answer: /],
    ['401', json(401, {}), {}, /requires a token\. {2}Set ADMIN_TOKEN/],
    ['403', json(403, { detail: 'x' }), {}, /requires a token\. {2}Set ADMIN_TOKEN/],
    ['403 to a token', json(403, {}), { ADMIN_TOKEN: token }, /rejects the token\. {2}Set ADMIN_TOKEN/],
    [
      '404',
      json(404, { detail: 'Nothing.' }),
      {},
      /answered 404\. {2}Nothing\. {2}Check that the gateway is of this release\./,
    ],
    ['500', json(500, { detail: 'a\x1b[2J' }), {}, /answered 500\. {2}a\\x1b\[2J {2}See the gateway's log\./],
    [
      'a token that cannot be sent',
      json(200, idle),
      { ADMIN_TOKEN: `${token}\n${token}` },
      /ADMIN_TOKEN contains char/,
    ],
  ])('because it answers with %s', async (_what, listener, env, expected) => {
    const { code, stdout, stderr } = await runIn('/', ['status', '--admin', await startFakeAdmin(listener)], env);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(expected);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(stderr).not.toContain(token);
  });

  it('because it redirects, and does not send the token to the new address', async () => {
    const seen: unknown[] = [];
    const other = await startFakeAdmin((req, res) => {
      seen.push(req.url);
      json(200, idle)(req, res);
    });
    const admin = await startFakeAdmin((_req, res) => res.writeHead(307, { location: `http://${other}/` }).end());
    expect((await runIn('/', ['status', '--admin', admin], { ADMIN_TOKEN: token })).code).toBe(2);
    expect(seen).toEqual([]);
  });
});

it('uses no proxy, because the token is for the gateway only', async () => {
  const proxy = await startForwardProxy({});
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) vi.stubEnv(name, proxy.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const seen: unknown[] = [];
  const admin = await startFakeAdmin((req, res) => {
    seen.push(req.url);
    json(200, idle)(req, res);
  });
  const secret = { ADMIN_TOKEN: token };
  expect((await runIn('/', ['status', '--admin', admin], secret)).code).toBe(0);
  expect((await runIn('/', ['ready', '--admin', admin], secret)).code).toBe(0);
  expect((await runIn('/', ['status', '--admin', `https://${admin}`], secret)).code).toBe(2);
  expect([seen, proxy.requested]).toEqual([['/api/status', '/readyz'], []]);
});

it.each(['status', 'ready'])('%s leaves no connection open, and the command ends at once', async (command) => {
  const { port, sockets } = await serveKeptAlive(json(200, idle));
  const admin = `127.0.0.1:${port}`;
  expect((await runIn('/', [command, '--admin', admin])).code).toBe(0);
  await eventually(() => expect(sockets.size).toBe(0));
  // As a process: it ends although nothing ends it.
  const { child } = run(process.execPath, [gatewayMain, command, '--admin', admin]);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it.each([
  '9901',
  'localhost',
  ':9901',
  '127.0.0.1:99999',
  '127.0.0.1:0',
  '127.0.0.1:9901/api',
  'ftp://127.0.0.1:9901',
  'http://ada:secret@127.0.0.1:9901',
  'http://127.0.0.1:9901/?x',
  '::1:9901',
  '',
])('rejects the address %j', async (address) => {
  const { code, stdout, stderr } = await runIn('/', ['status', '--admin', address]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('Write host:port, or https://host:port.');
});

it.each([
  ['host:port', (admin: string) => admin],
  ['a name', (admin: string) => admin.replace('127.0.0.1', 'localhost')],
  ['a URL', (admin: string) => `http://${admin}`],
  ['a URL with a slash', (admin: string) => `http://${admin}/`],
])('connects to %s, with the token', async (_form, spell) => {
  const seen: unknown[] = [];
  const admin = await startFakeAdmin((req, res) => {
    seen.push([req.method, req.url, req.headers.authorization]);
    json(200, idle)(req, res);
  });
  const { code, stderr } = await runIn('/', ['status', '--admin', spell(admin)], { ADMIN_TOKEN: `${token}\n` });
  expect([code, stderr]).toEqual([0, '']);
  expect(seen).toEqual([['GET', '/api/status', `Bearer ${token}`]]);
});

it('needs the token of a real gateway, even on the same machine', async () => {
  const { adminPort } = await startTestGateway({ '/v1': 'http://127.0.0.1:1' }, { gateway: { admin_token: token } });
  const admin = ['--admin', `127.0.0.1:${adminPort}`];
  for (const command of [['status'], ['usage'], ['can-retire', '/v1']]) {
    const { code, stderr } = await runIn('/', [...command, ...admin]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/requires a token\. {2}Set ADMIN_TOKEN/)]);
  }
  expect((await runIn('/', ['status', ...admin], { ADMIN_TOKEN: token })).code).toBe(0);
});

const routes = 'routes: { /v1: "http://127.0.0.1:3001" }\n';

function folderWith(text: string, name = 'routes.yaml'): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), text);
  return folder;
}

const commands = [['status'], ['usage'], ['can-retire', '/v1']];

describe.each(commands)('%s', (...command) => {
  it('uses the address and the token of routes.yaml', async () => {
    const seen: unknown[] = [];
    const admin = await startFakeAdmin((req, res) => {
      seen.push(req.headers.authorization);
      res.end('{}');
    });
    const cwd = folderWith(`${routes}gateway: { admin: "${admin}", admin_token: "\${GATEWAY_TOKEN}" }`);
    const { stderr } = await runIn(cwd, command, { GATEWAY_TOKEN: 'correct-horse' });
    expect(stderr).toContain(`http://${admin} (gateway.admin of routes.yaml) is not the admin listener`);
    expect(seen).toEqual(['Bearer correct-horse']);
  });

  it('uses the address of --admin, and does not send the token of the file there', async () => {
    const seen: unknown[] = [];
    const admin = await startFakeAdmin((req, res) => {
      seen.push(req.headers.authorization);
      res.end('{}');
    });
    const cwd = folderWith(`${routes}gateway: { admin: 127.0.0.1:1, admin_token: correct-horse }`);
    await runIn(cwd, [...command, '--admin', admin]);
    expect(seen).toEqual([undefined]);
  });

  it('reports the source of an address that does not answer', async () => {
    const url = new URL(await refusedUrl());
    const cwd = folderWith(`${routes}gateway: { admin: "${url.host}" }`, 'other.yaml');
    const { code, stderr } = await runIn(cwd, [...command, '--config', 'other.yaml']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`${url.origin} (gateway.admin of other.yaml) does not answer: ECONNREFUSED.`),
    ]);
  });

  it('reports a missing file', async () => {
    const { code, stderr } = await runIn(temporaryFolder(), [...command, '--config', 'nowhere.yaml']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('nowhere.yaml')]);
  });
});

const fallback = 'http://127.0.0.1:9901';

/** The target without options. `printed` collects the output on stderr. */
function found(cwd: string, env: NodeJS.ProcessEnv = {}, printed: string[] = []): AdminEndpoint {
  return adminEndpointOf(
    {},
    { env, cwd, stderr: { write: (text) => printed.push(text) }, stdout: { write: () => {} } },
  );
}

describe('the gateway to connect to', () => {
  it.each([
    ['127.0.0.1:47901', 'http://127.0.0.1:47901'],
    ['":47901"', 'http://127.0.0.1:47901'],
    ['0.0.0.0:47901', 'http://127.0.0.1:47901'],
    ['"[::]:47901"', 'http://[::1]:47901'],
    ['"[2001:db8::1]:47901"', 'http://[2001:db8::1]:47901'],
    [`"\${ADMIN:-127.0.0.1:47901}"`, 'http://127.0.0.1:47901'],
  ])('with admin: %s is %s', (admin, origin) => {
    const cwd = folderWith(`${routes}gateway: { admin: ${admin} }`);
    const expected = { origin, name: `${origin} (gateway.admin of routes.yaml)`, token: '' };
    expect(found(cwd)).toMatchObject(expected);
  });

  it('does not depend on other faults of the file, or on unset variables', () => {
    const cwd = folderWith(`routes: { /v1: "\${V1_URL}" }\ngateway: { admin: 127.0.0.1:47901, lissten: x }`);
    expect(found(cwd).origin).toBe('http://127.0.0.1:47901');
  });

  it('is the default without a file, and without gateway.admin in the file', () => {
    const without = found(temporaryFolder());
    expect([without.origin, without.name]).toEqual([fallback, `${fallback} (the default)`]);
    const silent = found(folderWith(routes));
    expect([silent.origin, silent.name]).toEqual([
      fallback,
      `${fallback} (the default, because routes.yaml has no gateway.admin)`,
    ]);
  });

  it('prefers the token of the environment', () => {
    const cwd = folderWith(`${routes}gateway: { admin: 127.0.0.1:47901, admin_token: of-the-file }`);
    expect(found(cwd, { ADMIN_TOKEN: 'mine\n' }).token).toBe('mine');
    expect(found(cwd).token).toBe('of-the-file');
  });

  it.each([
    ['gateway: { admin: nowhere }', 'has no usable address in gateway.admin.'],
    [`gateway: { admin: "\${ADMIN}" }`, 'has no usable address in gateway.admin.'],
    ['gateway: { admin: 127.0.0.1:0 }', 'has no usable address in gateway.admin.'],
  ])('is not known from %j', async (text, reason) => {
    const { code, stderr } = await runIn(folderWith(text), ['status']);
    expect([code, stderr]).toEqual([2, `routes.yaml ${reason}  Give the address of the gateway: --admin host:port.\n`]);
  });

  it.each([
    ['an incomplete document', 'routes: ['],
    ['nothing', ''],
  ])('is the default, with a notice, if no --config names the file and it contains %s', async (_what, text) => {
    const cwd = folderWith(text);
    const reason = 'routes.yaml cannot be parsed: see version-gateway check';
    const name = `${fallback} (the default, because ${reason})`;
    const printed: string[] = [];
    expect(found(cwd, { ADMIN_TOKEN: 'mine' }, printed)).toMatchObject({ origin: fallback, name, token: 'mine' });
    expect(printed).toEqual([`Connecting to ${fallback}, the default: ${reason}.\n`]);
    const { code, stderr } = await runIn(cwd, ['status', '--config', 'routes.yaml']);
    expect([code, stderr]).toEqual([2, `${reason}.  Give the address of the gateway: --admin host:port.\n`]);
  });

  it('is the default, with a notice, if no --config names the file and it cannot be read', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'routes.yaml'));
    const reason = 'routes.yaml cannot be read: it is a folder, not a file.  Name a regular file';
    expect(found(cwd).name).toBe(`${fallback} (the default, because ${reason})`);
    const { code, stderr } = await runIn(cwd, ['status', '--config', 'routes.yaml']);
    expect([code, stderr]).toEqual([2, `${reason}\n`]);
  });
});
