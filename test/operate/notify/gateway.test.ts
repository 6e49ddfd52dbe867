import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { coverTenDays } from '../../support/ledgerWith.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { run } from '../../support/process.ts';
import { startFleetGateway } from '../fleet/fleetGateway.ts';
import { hang, type Receiver, secret, startReceiver } from './receiver.ts';

const dayMs = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();
/** A gateway as a process of its own. Its v1 is deprecated and ends in 25 days. */
async function start(receivers: readonly Receiver[], more: object = {}, v1: object = {}) {
  const folder = temporaryFolder();
  const backend = await startBackend();
  const config = join(folder, 'routes.yaml');
  const routes = {
    '/v1': { upstream: backend.url, deprecation: inDays(-1), sunset: inDays(25), ...v1 },
    '/v2': backend.url,
  };
  const notify = receivers.map(({ url }) => ({ url, secret: `whsec_${secret}`, ...more }));
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  // A brownout does not start with a new ledger.
  coverTenDays(join(folder, '.version-gateway', 'usage.db'));
  // The dates stay the same when the gateway is started again.
  writeFileSync(config, stringify({ routes, gateway, notify }), { flag: 'w' });
  return startAgain(config);
}

async function startAgain(config: string) {
  const running = run(process.execPath, [gatewayMain, 'start', '--config', config]);
  const [, port] = await running.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const [, admin = ''] = await running.printed(/http:\/\/(127\.0\.0\.1:\d+)\/readyz/);
  return { ...running, config, admin, url: `http://127.0.0.1:${port}` };
}

async function statusOf({ admin }: { readonly admin: string }) {
  const response = await fetch(`http://${admin}/api/status`);
  return ((await response.json()) as { notify: { recent: { state: string; host: string; result: string | null }[] } })
    .notify;
}

const typesOf = ({ received }: Receiver): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { type: string }).type).sort();

describe('a gateway', () => {
  it('sends what is due, and shows it without the secret parts of the URL', async () => {
    const receiver = await startReceiver();
    receiver.next.push(500);
    const gateway = await start([receiver]);
    await eventually(() => expect(typesOf(receiver)).toEqual(expect.arrayContaining(['deprecation', 'sunset-30d'])));
    await eventually(async () => {
      const { recent } = await statusOf(gateway);
      expect(recent.map(({ state, result }) => `${state} ${result}`)).toEqual(['sent 204', 'sent 204']);
    });
    expect(JSON.stringify(await statusOf(gateway)) + gateway.output()).not.toMatch(/secret-|whsec|hook/);
    expect(gateway.output()).toMatch(/notify: 127\.0\.0\.1:\d+ does not accept notifications: 500/);
  });

  it('begins to send when a reload adds a webhook, and shows nothing more when a reload removes it', async () => {
    const receiver = await startReceiver();
    const gateway = await start([], {}, { sunset: inDays(200) });
    const text = readFileSync(gateway.config, 'utf8');
    expect(text).toContain('notify: []');
    writeFileSync(gateway.config, text.replace('notify: []', `notify: [{ url: "${receiver.url}" }]`));
    await eventually(() => expect(typesOf(receiver)).toEqual(['deprecation']));
    writeFileSync(gateway.config, text);
    await eventually(async () => expect(await statusOf(gateway)).toBeNull());
  });

  it('says that a brownout has begun', async () => {
    const receiver = await startReceiver();
    const window = { at: inDays(-1 / 144), for: '1h' };
    await start([receiver], { events: ['brownout'] }, { brownouts: [window] });
    await eventually(() =>
      expect(receiver.titles()).toEqual([expect.stringMatching(/^The brownout of \/v1 at .* has begun$/)]),
    );
  });

  it('sends an event that was queued when it was killed, with the same id', async () => {
    const receiver = await startReceiver();
    receiver.next.push(hang);
    const gateway = await start([receiver], { events: ['sunset-30d'] });
    await eventually(() => expect(receiver.received.length).toBe(1));
    const ended = once(gateway.child, 'exit');
    gateway.child.kill('SIGKILL');
    await ended;
    await startAgain(gateway.config);
    await eventually(() => expect(receiver.received.length).toBe(2));
    const [first, second] = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(second).toBe(first);
    expect(typesOf(receiver)).toEqual(['sunset-30d', 'sunset-30d']);
  });

  it('sends nothing twice after it was killed', async () => {
    const receiver = await startReceiver();
    const gateway = await start([receiver]);
    await eventually(async () =>
      expect((await statusOf(gateway)).recent.map(({ state }) => state)).toEqual(['sent', 'sent']),
    );
    const ended = once(gateway.child, 'exit');
    gateway.child.kill('SIGKILL');
    await ended;
    const again = await startAgain(gateway.config);
    await eventually(async () =>
      expect((await statusOf(again)).recent.map(({ state }) => state)).toEqual(['sent', 'sent']),
    );
    const [one] = [await runIn('.', ['notify', 'test', '--admin', again.admin])];
    expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/\n\n127\.0\.0\.1:\d+ {2}accepted {2}204\n$/) });
    expect(typesOf(receiver)).toEqual(['deprecation', 'sunset-30d', 'test']);
  });

  it('prints a digest of its ledger, and so does --store', async () => {
    const gateway = await start([]);
    await (await fetch(`${gateway.url}/v1/drinks`, { headers: { 'x-client-id': 'ann' } })).text();
    const markdown = await runIn('.', ['digest', '--admin', gateway.admin]);
    expect(markdown).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Gateway .*, not routes\.yaml\.\n$/) });
    expect(markdown.stdout).toMatch(/^# API versions, /);
    expect(markdown.stdout).toMatch(/## \/v1&#58; deprecated|## \/v1: deprecated/);
    const html = await runIn('.', ['digest', '--format', 'html', '--admin', gateway.admin]);
    expect(html.stdout).toMatch(/^<!doctype html>/);
    expect(html.stdout).toMatch(/<td[^>]*>x-client-id:ann<\/td>/);
    const invalid = await fetch(`http://${gateway.admin}/api/digest?since=never`);
    expect([invalid.status, await invalid.text()]).toEqual([
      400,
      expect.stringContaining('`since` must be a duration'),
    ]);
    expect(await statusOf(gateway)).toBeNull();
    expect(await runIn('.', ['notify', 'test', '--admin', gateway.admin])).toMatchObject({ code: 2 });
    const ended = once(gateway.child, 'exit');
    gateway.child.kill('SIGTERM');
    await ended;
    const store = join(gateway.config, '../.version-gateway/usage.db');
    const fromStore = await runIn('.', ['digest', '--store', store, '--config', gateway.config]);
    expect(fromStore).toMatchObject({ code: 0, stderr: '' });
    expect(fromStore.stdout).toContain('ann');
  });
});

describe('a fleet', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('sends each event once, and goes on if a gateway is killed', async () => {
    const receiver = await startReceiver();
    const store = await server.database();
    const backend = await startBackend();
    const v1 = { upstream: backend.url, deprecation: inDays(-1), sunset: inDays(25) };
    const routes = { '/v1': v1, '/v2': { upstream: backend.url } };
    const settings = { notify: [{ url: receiver.url, secret, events: ['deprecation', 'sunset-30d', 'sunset-7d'] }] };
    const names = ['gw-1', 'gw-2'];
    const [one, two] = await Promise.all(names.map((name) => startFleetGateway({ store, name, routes, settings })));
    if (!one || !two) throw new Error('two gateways');
    for (const gateway of [one, two])
      await eventually(async () =>
        expect((await statusOf(gateway)).recent.map(({ state }) => state)).toEqual(['sent', 'sent']),
      );
    expect(typesOf(receiver)).toEqual(['deprecation', 'sunset-30d']);
    const ended = once(one.child, 'exit');
    one.child.kill('SIGKILL');
    await ended;
    const third = await startFleetGateway({
      store,
      name: 'gw-3',
      routes: { ...routes, '/v0': { upstream: backend.url, deprecation: inDays(-3), sunset: inDays(5) } },
      settings,
    });
    await eventually(() =>
      expect(typesOf(receiver)).toEqual(['deprecation', 'deprecation', 'sunset-30d', 'sunset-7d']),
    );
    await eventually(async () => expect((await statusOf(third)).recent.length).toBe(4));
  });
});
