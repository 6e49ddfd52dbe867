import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startBackend as startKnowing } from '../../proxy/trial/candidates.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { coverTenDays, day, row } from '../../support/ledgerWith.ts';
import { type Running, run } from '../../support/process.ts';

// Situations of one gateway in which a command or the guard said yes without evidence. Each test runs the gateway as a process and asks
// it as an operator does. Others are in test/proxy/trial (new targets), test/wire/missingCounterparts.test.ts, test/browser,
// test/usage/report/trend.test.ts and test/process/cli/output/periods.test.ts. Those of a fleet are in test/operate/fleet/evidence.test.ts.

const ended = { deprecation: '2026-01-01', sunset: '2026-02-01' };

type AtEnd = (close: () => void | Promise<void>) => void;

interface Served {
  readonly folder: string;
  readonly url: string;
  readonly admin: string;
  readonly child: Running['child'];
}

function write(folder: string, routes: object, more: object = {}): void {
  const { gateway, ...others } = more as Record<string, object>;
  const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...gateway };
  const document = { routes, gateway: listeners, usage: { store: 'usage.db' }, ...others };
  writeFileSync(join(folder, 'routes.yaml'), stringify(document));
}

/** @param atEnd gets the function that ends the gateway */
async function start(folder: string, atEnd: AtEnd = onTestFinished): Promise<Served> {
  const args = [gatewayMain, 'start', '--config', join(folder, 'routes.yaml')];
  const { child, printed } = run(process.execPath, args, {}, { onTestFinished: atEnd });
  const [, url = ''] = await printed(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
  const [, admin = ''] = await printed(/http:\/\/(127\.0\.0\.1:\d+)\/readyz/);
  return { folder, url, admin, child };
}

async function stop({ child }: Pick<Served, 'child'>): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

function ask({ folder, admin }: Pick<Served, 'folder' | 'admin'>, ...args: string[]) {
  return runIn(folder, [...args, '--admin', admin]);
}

async function statusOf(url: string, client = 'shop'): Promise<number> {
  const response = await fetch(url, { headers: { 'user-agent': client } });
  await response.arrayBuffer();
  return response.status;
}

/** What each place answers that is asked whether /v1 may be retired: its exit code. The edit is in another file. */
async function answersOf(gateway: Served, routes: object) {
  const folder = temporaryFolder();
  write(folder, { ...routes, '/v1': { ...ended, ...(routes as Record<string, object>)['/v1'], retired: true } });
  const canRetire = await ask(gateway, 'can-retire', '/v1');
  const check = await ask(gateway, 'check', join(folder, 'routes.yaml'), '--against-running');
  const plan = await ask(gateway, 'plan', '--retire', '/v1');
  return { canRetire, check, plan };
}

async function exitCodes(gateway: Served, routes: object): Promise<Record<string, number>> {
  const answers = await answersOf(gateway, routes);
  return Object.fromEntries(Object.entries(answers).map(([place, { code }]) => [place, code]));
}

/** Saves the retirement, and expects that v1 is served after the gateway has judged it. */
async function expectEditIsRefused(gateway: Served, routes: object): Promise<void> {
  write(gateway.folder, { ...routes, '/v1': { ...(routes as Record<string, object>)['/v1'], retired: true } });
  await eventually(async () => {
    const { stdout } = await ask(gateway, 'status');
    expect(stdout).toMatch(/after an edit of the file (?:was rejected|was refused)|\/v1 +retired/);
  });
  expect(await statusOf(`${gateway.url}/v1/drinks`)).toBe(200);
}

it('new gateway, no ledger yet, v1 past its sunset; `retired: true` added', async () => {
  const { url: upstream } = await startBackend(() => okAnswer);
  const routes = { '/v1': { upstream, ...ended }, '/v2': upstream };
  const folder = temporaryFolder();
  write(folder, routes);
  const gateway = await start(folder);
  const { canRetire, check, plan } = await answersOf(gateway, routes);
  expect([canRetire.code, check.code, plan.code]).toEqual([1, 3, 3]);
  expect(canRetire.stdout).toContain('not yet');
  expect(check.stdout).toMatch(/would refuse .*\n.*calls in the last 1 day \(guard\.quiet\) may be missing/);
  expect(check.stdout).toMatch(/it will cover the last 1 day at \S+, in (?:23 h|1 day)/);
  const json = await ask(gateway, 'plan', '--retire', '/v1', '--format', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({ known: false });
  await expectEditIsRefused(gateway, routes);
});

it.each<[string, (store: string) => void, 'stopped' | 'running']>([
  ['a ledger that was lost while the gateway was stopped', (store) => removeLedger(store), 'stopped'],
  ['a ledger that was lost while the gateway runs', (store) => removeLedger(store), 'running'],
  ['a damaged ledger', (store) => writeFileSync(store, 'This is no database.'.repeat(1000)), 'stopped'],
])('%s', async (_name, harm, when) => {
  const { url: upstream } = await startBackend(() => okAnswer);
  const routes = { '/v1': { upstream, ...ended }, '/v2': upstream };
  const folder = temporaryFolder();
  write(folder, routes);
  const store = join(folder, 'usage.db');
  coverTenDays(store);
  let gateway = await start(folder);
  expect(await exitCodes(gateway, routes)).toEqual({ canRetire: 0, check: 0, plan: 0 });
  if (when === 'stopped') await stop(gateway);
  harm(store);
  if (when === 'stopped') gateway = await start(folder);
  // The gateway that runs notices it with its next write.
  else await eventually(async () => expect(await exitCodes(gateway, routes)).not.toMatchObject({ canRetire: 0 }));
  expect(await exitCodes(gateway, routes)).toEqual({ canRetire: 1, check: 3, plan: 3 });
  await expectEditIsRefused(gateway, routes);
});

function removeLedger(store: string): void {
  for (const suffix of ['', '-wal', '-shm', '.calls']) rmSync(`${store}${suffix}`, { force: true });
}

describe('candidate:', () => {
  const isV1 = (path: string): boolean => /^\/drinks/.test(path);
  const isV2 = (path: string): boolean => /^\/v2\/cocktails/.test(path);

  /** A gateway whose ledger covers ten days and has recent requests of both versions. */
  async function startUsed(atEnd: AtEnd = onTestFinished) {
    const [v1, v2] = [(await startKnowing(isV1, 0, atEnd)).url, (await startKnowing(isV2, 0, atEnd)).url];
    const routes = { '/v1': v1, '/v2': { upstream: v2, prefix: 'forward' } };
    const folder = temporaryFolder();
    const more = { guard: { trial: '1s' } };
    write(folder, routes, more);
    coverTenDays(join(folder, 'usage.db'));
    const gateway = await start(folder, atEnd);
    const post = { method: 'POST', body: JSON.stringify({ name: 'Negroni' }) };
    for (const path of ['/v1/drinks', '/v2/cocktails']) expect(await statusOf(gateway.url + path)).toBe(200);
    expect((await fetch(`${gateway.url}/v2/cocktails`, post)).status).toBe(200);
    return { gateway, v1, routes, more };
  }

  // No edit is applied, so one gateway serves all these tests.
  describe('an edit that is refused:', () => {
    const refusal = /after an edit of the file (?:was rejected|was refused)/;
    const closing: Parameters<AtEnd>[0][] = [];
    let used: Awaited<ReturnType<typeof startUsed>>;
    beforeAll(async () => {
      used = await startUsed((close) => closing.push(close));
    });
    afterAll(async () => {
      for (const close of closing.toReversed()) await close();
    });
    afterEach(async () => {
      const { gateway, routes, more } = used;
      write(gateway.folder, routes, more);
      await eventually(async () => expect((await ask(gateway, 'status')).stdout).not.toMatch(refusal));
    });

    it.each<[string, (used: Awaited<ReturnType<typeof startUsed>>) => object | Promise<object>, RegExp]>([
      [
        '`/v2` to a port where nothing listens',
        async () => ({ '/v2': { upstream: await refusedUrl(), prefix: 'forward' } }),
        /ECONNREFUSED/,
      ],
      ['`/v2` to the gateway itself', ({ gateway }) => ({ '/v2': gateway.url }), /this gateway itself/],
      ["`/v2` to v1's backend", ({ v1 }) => ({ '/v2': { upstream: v1, prefix: 'forward' } }), /GET \/cocktails 404/],
      [
        '`prefix: forward` → `strip`',
        ({ routes }) => ({ '/v2': { ...routes['/v2'], prefix: 'strip' } }),
        /GET \/cocktails 404/,
      ],
      [
        '`defaults.limits.body: 1`',
        () => ({ defaults: { limits: { body: 1 } } }),
        /\/v2 answers 413 to requests that it serves now/,
      ],
      [
        '`gateway.base_path: /api`',
        () => ({ gateway: { base_path: '/api' } }),
        /\/v2 is answered 404 at its present paths/,
      ],
    ])('%s', async (_name, edit, reason) => {
      const { gateway, routes, more } = used;
      const { '/v2': v2 = routes['/v2'], ...others } = (await edit(used)) as Record<string, object>;
      const file = join(temporaryFolder(), 'routes.yaml');
      const candidate = { ...more, ...others };
      write(dirname(file), { ...routes, '/v2': v2 }, candidate);
      const check = await ask(gateway, 'check', file, '--against-running');
      expect([check.code, check.stdout + check.stderr]).toEqual([1, expect.stringMatching(reason)]);
      write(gateway.folder, { ...routes, '/v2': v2 }, candidate);
      await eventually(async () => expect((await ask(gateway, 'status')).stdout).toMatch(refusal));
      expect(await statusOf(`${gateway.url}/v2/cocktails`)).toBe(200);
    });
  });

  it('`plan NEW --store LEDGER` with a changed `base_path`', async () => {
    const { gateway, routes, more } = await startUsed();
    await stop(gateway);
    write(gateway.folder, routes, { ...more, gateway: { base_path: '/api' } });
    const { code, stdout } = await runIn(gateway.folder, ['plan', 'routes.yaml', '--store', 'usage.db']);
    expect([code, stdout]).toEqual([1, expect.stringContaining('2 clients would lose 3 of the 3 requests')]);
  });
});

it('tombstone that is still called (requests of 6 clients refused within seconds)', async () => {
  const { url: upstream } = await startBackend(() => okAnswer);
  const folder = temporaryFolder();
  write(folder, { '/v1': { retired: true, ...ended }, '/v2': upstream }, { retire: { quiet: '1d' } });
  coverTenDays(join(folder, 'usage.db'));
  const gateway = await start(folder);
  expect((await ask(gateway, 'can-retire', '/v1')).code).toBe(0);
  for (let client = 1; client <= 6; client += 1)
    for (let call = 0; call < 12; call += 1) expect(await statusOf(`${gateway.url}/v1/drinks`, `c${client}`)).toBe(410);
  const { code, stdout } = await ask(gateway, 'can-retire', '/v1');
  expect([code, stdout]).toEqual([1, expect.stringMatching(/Can the tombstone of \/v1 be removed\? {2}no/)]);
  expect(stdout).toMatch(/6 clients called it in the last 1 day: .*12 refused/);
  const json = await ask(gateway, 'can-retire', '/v1', '--format', 'json');
  expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { answer: 'no', known: true }]);
});

it('target never contacted, or dead', async () => {
  const folder = temporaryFolder();
  const dead = await refusedUrl();
  write(folder, { '/v1': dead });
  const gateway = await start(folder);
  const status = async (): Promise<string> => (await ask(gateway, 'status')).stdout;
  const up = async (): Promise<string> => (await fetch(`http://${gateway.admin}/metrics`)).text();
  expect(await status()).toMatch(new RegExp(`${dead} +not tried yet`));
  expect(await up()).not.toMatch(/^version_gateway_target_up\{/m);
  expect(await statusOf(`${gateway.url}/v1/drinks`)).toBe(502);
  expect(await status()).toMatch(new RegExp(`${dead} +failing since .*ECONNREFUSED`));
  expect(await up()).toMatch(/^version_gateway_target_up\{[^}]*\} 0$/m);
});

it("`can-retire` asked of a second gateway's default admin address", async () => {
  const { url: upstream } = await startBackend(() => okAnswer);
  const routes = { '/v1': { upstream, ...ended }, '/v2': upstream };
  const first = temporaryFolder();
  write(first, routes);
  const gateway = await start(first);
  // The file of another project, whose gateway would have the same address.
  const other = temporaryFolder();
  write(other, routes, { gateway: { admin: gateway.admin } });
  const answer = await runIn(other, ['can-retire', '/v1']);
  const [firstLine] = answer.stdout.split('\n');
  expect(firstLine).toMatch(/^Gateway \S+ at http:\/\/127\.0\.0\.1:\d+ uses /);
  expect(firstLine).toContain(`uses ${join(first, 'routes.yaml')}, not routes.yaml.`);
  expect(answer.stdout).toMatch(/The usage ledger begins at \S+; it will cover the last 7 days/);
  const json = await runIn(other, ['can-retire', '/v1', '--format', 'json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ gateway: { file: join(first, 'routes.yaml') } });
});

/** A gateway with ten days of coverage, and a retired /v1 that still serves one client. */
async function startWaived(more: object = {}) {
  const { url: upstream } = await startBackend(() => okAnswer);
  const waivers = [{ client: 'shop', until: '2030-01-01', reason: 'a contract' }];
  const first = { upstream, ...ended, retired: true, waivers };
  const folder = temporaryFolder();
  write(folder, { '/v1': first, '/v2': upstream }, more);
  coverTenDays(join(folder, 'usage.db'));
  const gateway = await start(folder);
  /** The exit codes of the commands about an edit of /v1. */
  const codesOf = async (change: object, settings: object = {}) => {
    const edited = temporaryFolder();
    write(edited, { '/v1': { ...first, ...change }, '/v2': upstream }, { ...more, ...settings });
    const file = join(edited, 'routes.yaml');
    const check = await ask(gateway, 'check', file, '--against-running');
    const plan = await ask(gateway, 'plan', file);
    return { check: check.code, plan: plan.code, text: check.stdout + plan.stdout };
  };
  return { gateway, codesOf };
}

describe('a retired version that serves a client with a waiver', () => {
  it('a smaller limit of a body, and another base_path', async () => {
    const { gateway, codesOf } = await startWaived();
    const init = { method: 'POST', body: 'x'.repeat(20_000), headers: { 'user-agent': 'shop' } };
    expect((await fetch(`${gateway.url}/v1/drinks`, init)).status).toBe(200);
    const limited = await codesOf({ limits: { body: '1KiB' } });
    expect(limited).toMatchObject({ check: 1, plan: 1 });
    expect(limited.text).toContain('/v1 answers 413 to requests that it serves now');
    const moved = await codesOf({}, { gateway: { base_path: '/api' } });
    expect(moved).toMatchObject({ check: 1, plan: 1 });
    expect(moved.text).toContain('/v1 is answered 404 at its present paths');
    // A larger limit refuses nobody.
    expect(await codesOf({ limits: { body: '20MiB' } })).toMatchObject({ check: 0, plan: 0 });
  });

  it('the end of the waiver while a worker that has served the client does not answer', async () => {
    const { gateway, codesOf } = await startWaived({ gateway: { workers: 2 } });
    expect((await codesOf({ waivers: [] })).plan).toBe(0);
    const pids = readFileSync(`/proc/${gateway.child.pid}/task/${gateway.child.pid}/children`, 'utf8')
      .trim()
      .split(' ');
    const signal = (name: NodeJS.Signals): void => {
      for (const pid of pids) process.kill(Number(pid), name);
    };
    expect(await statusOf(`${gateway.url}/v1/drinks`)).toBe(200);
    signal('SIGSTOP');
    const hung = await codesOf({ waivers: [] });
    signal('SIGCONT');
    expect(hung.plan).toBe(3);
    await eventually(async () => expect((await codesOf({ waivers: [] })).plan).toBe(1));
  });
});

it('calls that were answered 410 before the version was served again', async () => {
  const { url: upstream } = await startBackend(() => okAnswer);
  const routes = { '/v1': { upstream, ...ended }, '/v2': upstream };
  const folder = temporaryFolder();
  write(folder, { ...routes, '/v1': { ...routes['/v1'], retired: true } });
  coverTenDays(join(folder, 'usage.db'));
  const gateway = await start(folder);
  expect(await statusOf(`${gateway.url}/v1/drinks`)).toBe(410);
  write(folder, routes);
  await eventually(async () => expect((await ask(gateway, 'status')).stdout).not.toMatch(/\/v1 +retired/));
  expect(await exitCodes(gateway, routes)).toEqual({ canRetire: 1, check: 1, plan: 3 });
});

it('a request of a route that waits for a free place', async () => {
  // Without a response, the first request keeps the only place.
  const { url: upstream } = await startBackend(({ target }) => (target === '/hold' ? undefined : okAnswer));
  const folder = temporaryFolder();
  const routes = { '/v1': { upstream, ...ended, limits: { in_flight: 1, queue: '10m' } }, '/v2': upstream };
  write(folder, routes, { retire: { quiet: '1h', rhythm: 'off' } });
  const earlier = row('v1', 'user-agent:shop', Date.now() - 3 * day, { route: 'GET /legacy' });
  coverTenDays(join(folder, 'usage.db'), Date.now(), [earlier]);
  const gateway = await start(folder);
  expect((await ask(gateway, 'can-retire', 'GET /v1/legacy')).code).toBe(0);
  const ending = new AbortController();
  for (const [path, waiting] of [
    ['hold', 0],
    ['legacy', 1],
  ] as const) {
    fetch(`${gateway.url}/v1/${path}`, { signal: ending.signal }).catch(() => {});
    await eventually(async () => {
      const { versions } = JSON.parse((await ask(gateway, 'status', '--format', 'json')).stdout);
      expect(versions[0]).toMatchObject({ version: 'v1', in_flight: 1, waiting });
    });
  }
  const { code, stdout } = await ask(gateway, 'can-retire', 'GET /v1/legacy');
  ending.abort();
  expect([code, stdout]).toEqual([1, expect.stringContaining('1 waiting request')]);
});
