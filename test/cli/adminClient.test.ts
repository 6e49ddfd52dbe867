import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
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
    expect([code, stderr]).toEqual([2, expect.stringContaining('no answer within 1 s')]);
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
    ['403 to a token', json(403, {}), { ADMIN_TOKEN: token }, /rejects ADMIN_TOKEN\. {2}Set ADMIN_TOKEN/],
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
