import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AdminTarget } from '../../gateway/cli/adminClient.ts';
import { targetOf } from '../../gateway/cli/options.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { refusedUrl } from '../support/gateway.ts';
import { startFakeAdmin } from './fakeAdmin.ts';
import { runIn } from './io.ts';

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

/** Without a command line. `told` collects what is written to stderr. */
function found(cwd: string, env: NodeJS.ProcessEnv = {}, told: string[] = []): AdminTarget {
  return targetOf({}, { env, cwd, stderr: { write: (text) => told.push(text) } });
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
    expect(found(cwd)).toEqual(expected);
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
    ['a half of it', 'routes: ['],
    ['nothing', ''],
  ])('is the default, with a notice, while a file that was not named contains %s', async (_what, text) => {
    const cwd = folderWith(text);
    const reason = 'routes.yaml cannot be parsed: see version-gateway check';
    const name = `${fallback} (the default, because ${reason})`;
    const told: string[] = [];
    expect(found(cwd, { ADMIN_TOKEN: 'mine' }, told)).toEqual({ origin: fallback, name, token: 'mine' });
    expect(told).toEqual([`Connecting to ${fallback}, the default: ${reason}.\n`]);
    const { code, stderr } = await runIn(cwd, ['status', '--config', 'routes.yaml']);
    expect([code, stderr]).toEqual([2, `${reason}.  Give the address of the gateway: --admin host:port.\n`]);
  });

  it('is the default, with a notice, while a file that was not named cannot be read', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'routes.yaml'));
    const reason = 'routes.yaml cannot be read: it is a folder, not a file.  Name a regular file';
    expect(found(cwd).name).toBe(`${fallback} (the default, because ${reason})`);
    const { code, stderr } = await runIn(cwd, ['status', '--config', 'routes.yaml']);
    expect([code, stderr]).toEqual([2, `${reason}\n`]);
  });
});
