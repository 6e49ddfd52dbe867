import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { largestFileBytes } from '../../gateway/shared/fileSystem.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { runIn } from '../process/cli/io.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrl } from '../support/gateway.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { type Running, run } from '../support/process.ts';
import { ask, message } from '../support/rawClient.ts';

const upstream = 'http://127.0.0.1:1';

/** A folder with a routes.yaml, which `edit` replaces. `accepted` is the record of the gateway beside it. */
function folderWith(routes: string, more = '') {
  const folder = temporaryFolder();
  const file = join(folder, 'routes.yaml');
  const edit = (text: string, rest = ''): void => writeFileSync(file, `routes:\n${text}${rest}`);
  edit(routes, more);
  const accepted = join(folder, '.version-gateway', 'accepted.json');
  return { folder, file, edit, accepted, versions: () => JSON.parse(readFileSync(accepted, 'utf8')).versions };
}

/** Starts the gateway as a separate process. */
async function start(file: string) {
  const args = [gatewayMain, 'start', '--config', file, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
  const gateway = run(process.execPath, args);
  const [, base] = await gateway.printed(/listens on (\S+)/);
  const [, admin] = await gateway.printed(/http:\/\/(127\.0\.0\.1:\d+)\/readyz/);
  return { gateway, base: base as string, admin: admin as string };
}

async function stop({ child }: Running): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** A backend that answers on demand. */
async function slowBackend() {
  const open: ServerResponse[] = [];
  const server = createServer((_req, res) => void open.push(res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open };
}

const past = 'deprecation: 2024-01-01, sunset: 2025-01-01';

it('a version is retired, waited for, and stopped when it has no requests in flight', async () => {
  const backend = await slowBackend();
  const v1 = `  /v1: { upstream: '${backend.url}', ${past} }\n`;
  const { file, edit } = folderWith(v1, 'guard: { quiet: off }\n');
  const { gateway, base, admin } = await start(file);
  const answers = [1, 2].map(() => fetch(`${base}/v1/x`));
  await eventually(() => expect(backend.open).toHaveLength(2));

  const early = await runIn('/', ['status', '--admin', admin, '--wait', '/v1']);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('/v1 is still served (sunset).')]);

  edit(v1.replace(' }', ', retired: true }'), 'guard: { quiet: off }\n');
  await gateway.printed(/\/v1: sunset → retired/);
  const late = await runIn('/', ['status', '--admin', admin, '--wait', '/v1', '--timeout', '50ms']);
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('/v1: still 2 requests in flight after 50ms')]);

  const waiting = run(process.execPath, [gatewayMain, 'status', '--admin', admin, '--wait', '/v1']);
  const ended = once(waiting.child, 'exit');
  await waiting.printed(/^\/v1: 2 requests in flight$/m);
  backend.open[0]?.end('one');
  await waiting.printed(/^\/v1: 1 request in flight$/m);
  backend.open[1]?.end('two');
  await waiting.printed(/^\/v1: 0 requests in flight, safe to stop$/m);
  expect(await ended).toEqual([0, null]);
  const texts = await Promise.all(answers.map(async (answer) => await (await answer).text()));
  expect(texts.sort()).toEqual(['one', 'two']);
});

describe('check --against-running', () => {
  const kept = `  /v1: { upstream: '${upstream}', deprecation: 2026-01-01, sunset: 2099-01-01 }\n`;
  const check = (folder: string, admin: string, ...more: string[]) =>
    runIn(folder, ['check', '--against-running', '--admin', admin, ...more], {});

  it('does not connect for a file that is faulty by itself', async () => {
    const { folder } = folderWith('  /v1: nowhere\n');
    const { code, stdout, stderr } = await check(folder, await refusedUrl());
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain('routes.yaml is not valid: 1 fault.');
    expect(stdout).not.toContain('running');
  });

  it('exits 2 when the gateway does not answer, unlike for a faulty file', async () => {
    const { folder } = folderWith(kept);
    const { code, stdout, stderr } = await check(folder, await refusedUrl());
    expect([code, stdout]).toEqual([2, expect.stringContaining('routes.yaml: 1 warning.')]);
    expect(stderr).toMatch(/^http:\S+ does not answer: ECONNREFUSED\. .+\n$/);
  });

  it('shows what a reload would do, and changes nothing', async () => {
    const running = folderWith(kept, '# the running file\n');
    const { admin } = await start(running.file);
    const edited = async (routes: string, ...more: string[]) => {
      const { folder } = folderWith(routes);
      return await check(folder, admin, ...more);
    };
    const same = await check(running.folder, admin);
    expect([same.code, same.stdout]).toEqual([
      0,
      expect.stringContaining('A reload of the running gateway would change nothing'),
    ]);

    // Nothing listens at the upstream.
    const sound = `${kept}  /v2: ${upstream}\nguard: { trial: off }\n`;
    const changed = await edited(sound);
    expect(changed.code).toBe(0);
    expect(changed.stdout).toContain(
      'The running gateway would accept this file.\n  would change: /v2: added, active\n',
    );

    const json = await edited(sound, '--format', 'json');
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      0,
      expect.objectContaining({
        ok: true,
        running: expect.objectContaining({ kind: 'reloaded', changes: ['/v2: added, active'], forced: [] }),
      }),
    ]);

    const refused = await edited(kept.replace('2099', '2098'));
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('The running gateway would refuse this edit');
    expect(refused.stdout).toContain('The sunset of /v1 moves from 2099-01-01 to 2098-01-01');
    expect(refused.stdout).toContain('guard: { force: { /v1: "<why this is right>" } }');

    const { versions } = (await (await fetch(`http://${admin}/api/status`)).json()) as { versions: object[] };
    expect(versions).toMatchObject([{ version: 'v1', sunset: '2099-01-01T00:00:00.000Z' }]);
  });

  it('takes a file of the largest size, but no larger text', async () => {
    const { admin } = await start(folderWith(kept).file);
    // In JSON, each quotation mark takes two bytes.
    const comment = (bytes: number) => `# ${'"'.repeat(bytes)}`;
    const largest = folderWith(kept, comment(largestFileBytes - Buffer.byteLength(`routes:\n${kept}# `)));
    expect(statSync(largest.file).size).toBe(largestFileBytes);
    const { code, stdout, stderr } = await check(largest.folder, admin);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('A reload of the running gateway would change nothing');

    const [, adminPort] = admin.split(':');
    const preview = (text: string) => {
      const body = JSON.stringify({ routes_yaml: text });
      const fields = [`Host: ${admin}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
      return ask(Number(adminPort), message('POST /api/reload/preview HTTP/1.1', ...fields) + body);
    };
    const [larger, muchLarger] = [
      await preview('x'.repeat(largestFileBytes + 1)),
      await preview('"'.repeat(largestFileBytes * 2)),
    ];
    expect([larger.status, muchLarger.status]).toEqual([413, 413]);
    expect(JSON.parse(larger.body)).toMatchObject({
      code: 'BODY_TOO_LARGE',
      detail: expect.stringContaining('routes_yaml'),
    });
  });

  it('shows the faults that only the running gateway has', async () => {
    const { admin } = await start(folderWith(kept).file);
    const { folder } = folderWith(`  /v1: { upstream: '$ONLY_HERE', deprecation: 2026-01-01, sunset: 2099-01-01 }\n`);
    const args = ['check', '--against-running', '--admin', admin];
    const { code, stdout } = await runIn(folder, args, { ONLY_HERE: upstream });
    expect(code).toBe(1);
    expect(stdout).toContain('routes.yaml: 1 warning.');
    expect(stdout).toMatch(
      /With its environment and folder, the file has these faults:\n {2}\S+:2:\d+ {2}routes\.\/v1\.upstream\n/,
    );
    const json = await runIn(folder, [...args, '--format', 'json'], { ONLY_HERE: upstream });
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { ok: false, running: { kind: 'faulty' } }]);
  });
});

describe('at the start', () => {
  const announced = `  /v1: { upstream: '${upstream}', deprecation: 2026-01-01, sunset: 2099-01-01 }\n`;
  const both = `${announced}  /v2: ${upstream}\n`;
  const moved = both.replace('2099', '2098');
  const warned = /^warning: The sunset of \/v1 moves from 2099-01-01 to 2098-01-01, which is earlier\.$/m;

  it('the file is compared with earlier announcements, once, and the start succeeds', async () => {
    const { file, edit, versions } = folderWith(both);
    const first = await start(file);
    expect(first.gateway.output()).not.toContain('warning');
    await stop(first.gateway);

    edit(moved);
    const second = await start(file);
    expect(second.gateway.output()).toMatch(warned);
    expect(versions()).toMatchObject([{ sunset: Date.parse('2098-01-01') }, { name: 'v2' }]);
    await stop(second.gateway);
    expect((await start(file)).gateway.output()).not.toContain('warning');
  });

  it('a reason in the file prevents the warning', async () => {
    const { file, edit } = folderWith(both);
    await stop((await start(file)).gateway);
    edit(moved, 'guard: { force: { /v1: "no client is left" } }\n');
    expect((await start(file)).gateway.output()).not.toContain('warning');
  });

  it('the comparison is with accepted reloads, and not with rejected ones', async () => {
    const { file, edit, versions } = folderWith(both);
    const { gateway } = await start(file);
    edit(both.replace('2099', '2100'));
    await gateway.printed(/reload \(file\): \/v1: sunset 2100-01-01/);
    expect(versions()[0]).toMatchObject({ sunset: Date.parse('2100-01-01') });
    edit(both);
    await gateway.printed(/the edit is refused/);
    expect(versions()[0]).toMatchObject({ sunset: Date.parse('2100-01-01') });
    await stop(gateway);
    expect((await start(file)).gateway.output()).toMatch(/^warning: .+ from 2100-01-01 to 2099-01-01/m);
  });

  it('a start that fails does not change the record', async () => {
    const { file, edit } = folderWith(both);
    const { gateway, admin } = await start(file);
    await stop(gateway);
    const other = await start(folderWith(both).file);
    edit(moved);
    const taken = ['--listen', '127.0.0.1:0', '--admin', other.admin];
    const failed = run(process.execPath, [gatewayMain, 'start', '--config', file, ...taken]);
    await failed.printed(/is in use by another process/);
    expect(admin).not.toBe(other.admin);
    expect((await start(file)).gateway.output()).toMatch(warned);
  });

  it.each([
    [
      'cannot be written',
      (folder: string) => writeFileSync(join(folder, '.version-gateway'), ''),
      /cannot be written: .*The next start/g,
    ],
    [
      'is damaged',
      (folder: string) => {
        mkdirSync(join(folder, '.version-gateway'));
        writeFileSync(join(folder, '.version-gateway/accepted.json'), '{');
      },
      /cannot be read: its content is not a valid record/g,
    ],
  ])('a record that %s only causes a warning', async (_what, prepare, expected) => {
    const { folder, file, edit } = folderWith(both);
    prepare(folder);
    const { gateway, base } = await start(file);
    expect((await fetch(`${base}/v1/x`)).status).toBe(502);
    edit(both.replace('2099', '2100'));
    await gateway.printed(/reload \(file\): \/v1: sunset 2100-01-01/);
    expect(gateway.output().match(expected)).toHaveLength(1);
  });

  it('a check writes no record', async () => {
    const { folder, accepted } = folderWith(both);
    expect((await runIn(folder, ['check'])).code).toBe(0);
    expect(existsSync(accepted)).toBe(false);
  });
});

it('a missing file is reported, once, until it is back', async () => {
  const { file, edit } = folderWith(`  /v1: ${upstream}\n`);
  const { gateway, admin } = await start(file);
  const failure = async (): Promise<unknown> => {
    const { config } = (await (await fetch(`http://${admin}/api/status`)).json()) as {
      config: Record<string, unknown>;
    };
    return config['last_failure'];
  };
  rmSync(file);
  await gateway.printed(/reload \(file\): routes.yaml has errors/);
  expect(await failure()).toMatchObject({ trigger: 'file', reasons: [expect.stringContaining(file)] });
  edit(`  /v1: ${upstream}\n`);
  await eventually(async () => expect(await failure()).toBeNull());
});

it('a target that was not contacted yet is shown as not tried', async () => {
  const { file } = folderWith(`  /v1: ${upstream}\n`);
  const { admin, base } = await start(file);
  const status = async (): Promise<string> => (await runIn('/', ['status', '--admin', admin])).stdout;
  expect(await status()).toMatch(/127\.0\.0\.1:1 {2}not tried yet {2}0 in flight now/);
  expect((await fetch(`${base}/v1/x`)).status).toBe(502);
  expect(await status()).toMatch(/127\.0\.0\.1:1 {2}failing since \S+, unreachable {2}0 in flight now/);
});
