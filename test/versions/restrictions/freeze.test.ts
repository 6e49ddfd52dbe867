import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { serveInProcess } from '../../../gateway/process/runtime/inProcess.ts';
import type { Serving } from '../../../gateway/process/runtime/serving.ts';
import { tag } from '../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { row } from '../../support/ledgerWith.ts';
import { parseMetrics } from '../../usage/observability/parseMetrics.ts';

const day = 86_400_000;
const from = Date.parse('2027-01-01');
const freeze = { from: '2027-01-01', mode: 'refuse' };
const tagKey = 'a key of 16 or more characters';

interface Settings {
  readonly store?: string;
  readonly freeze?: object;
  readonly usage?: object;
  readonly at?: number;
  readonly v1?: object;
  readonly more?: object;
}

/** A gateway with a ledger and a clock that the test sets. Its ledger begins 10 days before the freeze. */
async function start(settings: Settings = {}) {
  const { at = from - 10 * day, store = join(temporaryFolder(), 'usage.db') } = settings;
  const clock = { time: at, now: () => clock.time };
  const backend = await startBackend();
  const snapshotOf = (part: Settings) =>
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      usage: { store, tag_key: tagKey, identify: ['header:x-api-key', 'user-agent'], ...part.usage },
      routes: {
        '/v1': { upstream: backend.url, deprecation: '2026-12-01', freeze: part.freeze ?? freeze, ...part.v1 },
        '/v2': backend.url,
      },
      ...part.more,
    });
  let next = snapshotOf(settings);
  const notices: string[] = [];
  const ledger = Ledger.open(next.usage, { clock, salt: tagKey });
  let serving: Serving | undefined;
  const gateway = await startGateway(next, {
    ledger,
    clock,
    load: () => next,
    notice: (line) => notices.push(line),
    serve: async (...args) => (serving = await serveInProcess(...args)),
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    ledger.close();
  };
  onTestFinished(close);
  const send = (key: string, path = '/v1/drinks', init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      ...init,
      headers: { ...(key !== '' && { 'x-api-key': key }), ...Object(init.headers) },
    });
  return {
    ledger,
    store,
    notices,
    clock,
    close,
    send,
    call: async (key: string, path?: string) => (await send(key, path)).status,
    /** Moves the clock on while the gateway runs. */
    passTo: async (time: number) => {
      await serving?.flush();
      clock.time = time;
      ledger.add([]);
    },
    admin: `127.0.0.1:${gateway.adminPort}`,
    run: async (...args: string[]) => (await runIn('/', [...args, '--admin', `127.0.0.1:${gateway.adminPort}`])).stdout,
    printed: (pattern: RegExp) => eventually(() => expect(notices).toContainEqual(expect.stringMatching(pattern))),
    edit: (part: Settings) => {
      next = snapshotOf({ ...settings, ...part });
      return gateway.reload('admin');
    },
  };
}

/** A gateway that has seen `old-key` before the freeze. The freeze began two days ago. */
async function frozen(settings: Settings = {}) {
  const gateway = await start(settings);
  expect(await gateway.call('old-key')).toBe(200);
  await gateway.passTo(from + 2 * day);
  await gateway.printed(/^\/v1 is frozen: 1 client known from before 2027-01-01T00:00:00Z/);
  return gateway;
}

describe('a freeze with mode: refuse', () => {
  it('refuses nobody before it begins, and then only clients that were not seen before', async () => {
    const { call, send, passTo, printed } = await start();
    expect(await call('old-key')).toBe(200);
    await passTo(from - 1);
    expect(await call('late-key')).toBe(200);
    await passTo(from);
    await printed(/^\/v1 is frozen: 2 clients known from before/);
    expect([await call('old-key'), await call('late-key'), await call('new-key')]).toEqual([200, 200, 403]);
    expect(await call('new-key', '/v2/drinks')).toBe(200);
    const refused = await send('new-key');
    expect(await refused.json()).toMatchObject({
      status: 403,
      code: 'VERSION_FROZEN',
      version: 'v1',
      frozen_since: '2027-01-01T00:00:00Z',
      deprecation: '2026-12-01T00:00:00Z',
      successor: '/v2',
    });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'cache-control': 'no-store',
      deprecation: '@1796083200',
      link: '</v2/drinks>; rel="successor-version"',
      'content-type': 'application/problem+json',
    });
    expect((await send('old-key')).headers.get('vary')?.toLowerCase()).toBe('x-api-key, user-agent');
  });

  it('never refuses clients without a key, those of `allow` and those of `retire.ignore_clients`', async () => {
    const named = { identify: ['header:x-client-id', 'header:x-api-key', 'user-agent'] };
    const more = { retire: { ignore_clients: ['monitor'] } };
    const { send } = await frozen({ freeze: { ...freeze, allow: ['partner'] }, usage: named, more });
    const statusOf = async (id: string) => (await send('', '/v1/drinks', { headers: { 'x-client-id': id } })).status;
    expect([await statusOf('partner'), await statusOf('monitor'), await statusOf('other')]).toEqual([200, 200, 403]);
    expect((await send('')).status).toBe(200);
  });

  it('does not count a client as new while it has a waiver, because it serves that client', async () => {
    const named = { identify: ['header:x-client-id', 'header:x-api-key'] };
    const waivers = [{ client: 'acme', until: '2027-06-01', reason: 'a contract' }];
    const reporting = { from: '2027-01-01', mode: 'report' };
    const gateway = await frozen({ freeze: reporting, usage: named, v1: { waivers } });
    const { send, edit, passTo, clock, run, notices } = gateway;
    const statusOf = async (id: string) => (await send('', '/v1/drinks', { headers: { 'x-client-id': id } })).status;
    expect(await statusOf('acme')).toBe(200);
    // The guard refuses an edit only for clients that the freeze would refuse.
    expect(await edit({ freeze })).toMatchObject({ kind: 'reloaded' });
    await eventually(async () => expect(await statusOf('other')).toBe(403));
    expect(await statusOf('acme')).toBe(200);
    await passTo(clock.time + 31_000);
    await gateway.printed(
      /^\/v1 has, since its freeze, 1 new client: x-client-id:other$|refused by its freeze: x-client-id:other,/,
    );
    expect(notices.filter((line) => line.includes('acme'))).toEqual([]);
    expect(await run('usage', '/v1')).not.toMatch(/x-client-id:acme \(new\)/);
    expect(await run('can-retire', '/v1')).not.toMatch(/new clients?: [^.]*acme/);
  });

  it('answers 204 to a preflight, which carries no key', async () => {
    const { send } = await frozen();
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'GET' };
    const { status } = await send('', '/v1/drinks', { method: 'OPTIONS', headers });
    expect(status).toBe(204);
  });

  it('decides in the same way after a reload, a restart and a change of `from`', async () => {
    const { call, edit, close, store, printed, notices } = await frozen();
    expect([await call('old-key'), await call('new-key')]).toEqual([200, 403]);
    await edit({ v1: { info: 'https://example.com/v1' } });
    expect([await call('old-key'), await call('new-key')]).toEqual([200, 403]);
    notices.length = 0;
    // The client that was refused first called before the new date.
    await edit({ freeze: { ...freeze, from: '2027-01-02T12:00:00Z' } });
    await printed(/is frozen: 1 client known from before 2027-01-02T12:00:00Z/);
    expect([await call('old-key'), await call('new-key')]).toEqual([200, 403]);
    await close();
    const again = await start({ store, at: from + 2 * day + 1000 });
    await again.printed(/^\/v1 is frozen: 1 client known/);
    expect([await again.call('old-key'), await again.call('new-key')]).toEqual([200, 403]);
  });

  it('knows a client whose first request began before the freeze and was counted later', async () => {
    const { call, passTo, printed, ledger } = await start();
    expect(await call('old-key')).toBe(200);
    await passTo(from);
    await printed(/^\/v1 is frozen: 1 client known/);
    const late = `x-api-key:${tag(ledger.salt, 'late-key')}`;
    expect(await call('late-key')).toBe(403);
    ledger.add([row('v1', late, from - 1)]);
    await passTo(from + 31_000);
    await printed(/^\/v1 is frozen: 2 clients known/);
    expect([await call('late-key'), await call('new-key')]).toEqual([200, 403]);
  });

  it('reads the known clients again if the clock was ahead', async () => {
    const { call, passTo, clock, run, printed } = await frozen();
    clock.time = from - day;
    await eventually(async () => expect(await run('status')).toContain('/v1 will be frozen from'));
    expect(await call('second-key')).toBe(200);
    await passTo(from);
    await printed(/^\/v1 is frozen: 2 clients known/);
    expect([await call('old-key'), await call('second-key'), await call('new-key')]).toEqual([200, 200, 403]);
  });

  it('is inactive with a new ledger, although the tags are the same', async () => {
    const { call, printed } = await start({ at: from + 2 * day });
    await printed(
      /^the freeze of \/v1 is inactive and refuses nobody: The usage ledger does not cover the 7 days \(retire\.quiet\) before 2027-01-01T00:00:00Z\. {2}Move `from` to 2027-01-10T00:00:00Z or later\.$/,
    );
    expect([await call('old-key'), await call('new-key')]).toEqual([200, 200]);
  });

  it('is inactive after a change of usage.identify, which gives clients other names', async () => {
    const { call, edit, printed } = await frozen();
    await edit({ usage: { identify: ['user-agent', 'header:x-api-key'] } });
    await edit({ usage: { identify: ['header:x-api-key'] } });
    await printed(
      /^the freeze of \/v1 is inactive and refuses nobody: The salt of the client tags or usage\.identify was/,
    );
    expect([await call('old-key'), await call('new-key')]).toEqual([200, 200]);
  });
});

describe('a freeze in the admin API', () => {
  it('is in status, metrics and the verdict of its version', async () => {
    const { call, passTo, clock, run, admin } = await frozen();
    await call('new-key');
    await passTo(clock.time + 31_000);
    const status = await eventually(async () => {
      const text = await run('status');
      expect(text).toContain('1 new client refused');
      return text;
    });
    expect(status).toContain('/v1 is frozen since 2027-01-01T00:00:00.000Z: 1 known client, 1 new client refused\n');
    const metrics = parseMetrics(await (await fetch(`http://${admin}/metrics`)).text());
    const labels = { version: 'v1' };
    expect(metrics.value('version_gateway_freeze_active', labels)).toBe(1);
    expect(metrics.value('version_gateway_freeze_new_clients', labels)).toBe(1);
    expect(metrics.value('version_gateway_restricted_total', { ...labels, kind: 'freeze' })).toBe(1);
    expect(await run('usage', '/v1')).toMatch(/x-api-key:#\w{16} \(new\) /);
    const { rows } = JSON.parse(await run('usage', '/v1', '--format', 'json'));
    const marks = rows.map(({ new_since: since }: { new_since?: string }) => since);
    expect(marks.toSorted()).toEqual(['2027-01-01T00:00:00.000Z', undefined]);
    const { notes, facts } = JSON.parse(await run('can-retire', '/v1', '--format', 'json'));
    const { text } = notes.find(({ code }: { code: string }) => code === 'freeze');
    expect(text).toMatch(
      /^\/v1 is frozen: 1 client known from before 2027-01-01T00:00:00Z; other clients are refused\. 1 new client: x-api-key:#\w{16}\.$/,
    );
    // The version never served it.
    expect(facts.clients.map(({ requests }: { requests: number }) => requests)).toEqual([]);
    expect(facts.failing).toMatchObject([{ requests: 1, served: 0, refused: 1 }]);
  });

  it('tells why it is inactive', async () => {
    const { run, printed } = await start({ at: from + 2 * day });
    await printed(/is inactive/);
    expect(await run('status')).toContain(
      'the freeze of /v1 is inactive and refuses nobody: The usage ledger does not cover',
    );
    const { notes } = JSON.parse(await run('can-retire', '/v1', '--format', 'json'));
    expect(notes).toContainEqual({
      code: 'freeze_inactive',
      text: expect.stringMatching(/^The freeze of \/v1 is inactive and refuses nobody: .* or later\.$/),
    });
  });
});

it('refuses an edit that would refuse clients which are served now', async () => {
  const { call, edit, passTo, clock } = await frozen({ freeze: { from: '2027-01-01' } });
  expect(await call('new-key')).toBe(200);
  expect(await edit({ freeze: { ...freeze, from: '2027-01-04' } })).toMatchObject({ kind: 'reloaded' });
  expect(await edit({ freeze })).toMatchObject({
    kind: 'refused',
    refusals: [
      {
        message: expect.stringMatching(
          /^The freeze of \/v1 would refuse clients that are served now; 1 new client: x-api-key:#\w{16}\. Move its `from`/,
        ),
      },
    ],
  });
  // The client is gone.
  await passTo(clock.time + day + 3_600_000);
  expect(await edit({ freeze })).toMatchObject({ kind: 'reloaded' });
});

describe('a freeze with mode: report', () => {
  it('names twenty of the new clients of a period, and counts the others', async () => {
    const { call, passTo, clock, notices, printed } = await frozen({ freeze: { ...freeze, mode: 'report' } });
    await call('first');
    await passTo(clock.time + 31_000);
    await printed(/first call/);
    notices.length = 0;
    for (let client = 0; client < 23; client += 1) await call(`new-${client}`);
    await passTo(clock.time + 31_000);
    await printed(/^\/v1 has 3 more new clients in the last seconds$/);
    expect(notices.filter((line) => line.startsWith('new client of /v1'))).toHaveLength(20);
  });

  it('serves new clients, and names each of them once', async () => {
    const { call, clock, passTo, notices, printed } = await frozen({ freeze: { from: '2027-01-01' } });
    expect([await call('old-key'), await call('new-key'), await call('new-key')]).toEqual([200, 200, 200]);
    await passTo(clock.time + 31_000);
    await printed(
      /^new client of \/v1, reported by its freeze, and served: x-api-key:#[0-9a-f]{16}, first call 2027-01-03T/,
    );
    await passTo(clock.time + 31_000);
    expect(await call('newer-key')).toBe(200);
    await passTo(clock.time + 31_000);
    await eventually(() => expect(notices.filter((line) => line.startsWith('new client'))).toHaveLength(2));
  });
});
