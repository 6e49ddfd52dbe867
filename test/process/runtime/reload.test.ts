import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get as httpGet } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { loadSnapshot, snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Reloader, type ReloadSteps, versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { nothingTried } from '../../../gateway/proxy/trial/trial.ts';
import type { LiveSources } from '../../../gateway/versions/retirement/liveFacts.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get } from '../../support/rawClient.ts';

const ports = 'gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0" }\n';

// Nothing listens at some of the targets of these tests.
const noTrial = 'guard: { trial: off }\n';

/** A gateway with its own file, which `edit` replaces. */
async function start(routes: string) {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'));
  const file = join(folder, 'routes.yaml');
  const edit = (text: string): void => writeFileSync(file, `${ports}routes:\n${text}`);
  edit(routes);
  const gateway = await startGateway(loadSnapshot(file), { load: () => loadSnapshot(file) });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const post = (type = 'application/json') =>
    fetch(`${admin}/api/reload`, { method: 'POST', body: '{}', headers: { 'content-type': type } });
  return { gateway, edit, post, admin };
}

describe('POST /api/reload', () => {
  it('reports the changes and serves them', async () => {
    const old = await startBackend(answer(200, 'old'));
    const young = await startBackend(answer(200, 'young'));
    const { gateway, edit, post, admin } = await start(`  /v1: ${old.url}\n`);
    edit(`  /v1: { upstream: "${young.url}", deprecation: 2026-01-01 }\n`);
    const response = await post();
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        kind: 'reloaded',
        changes: [
          `/v1: active → deprecated, deprecation 2026-01-01, target ${young.url} added, target ${old.url} removed`,
        ],
        forced: [],
      },
    ]);
    const served = await fetch(`http://127.0.0.1:${gateway.port}/v1/x`);
    expect([await served.text(), served.headers.get('deprecation')]).toEqual(['young', '@1767225600']);
    expect(await (await fetch(`${admin}/api/status`)).json()).toMatchObject({
      config: { generation: 2, trigger: 'admin' },
      versions: [{ version: 'v1', stage: 'deprecated', in_flight: 0, last_served: expect.any(String) }],
    });
  });

  it('reports every fault of an invalid file and keeps serving the previous one', async () => {
    const backend = await startBackend(answer(200, 'still here'));
    const { gateway, edit, post, admin } = await start(`  /v1: ${backend.url}\n`);
    edit('  /v1: ftp://nowhere\n  /V2: http://a\n');
    const response = await post();
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ kind: 'faulty', faults: [expect.any(String), expect.any(String)] });
    expect(await (await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).text()).toBe('still here');
    const { config } = (await (await fetch(`${admin}/api/status`)).json()) as { config: object };
    expect(config).toMatchObject({ generation: 1, last_failure: { trigger: 'admin' } });
  });

  it('refuses an edit that the guard rejects, until it is forced with a reason', async () => {
    const backend = await startBackend();
    const { gateway, edit, post } = await start(`  /v1: ${backend.url}\n  /v2: ${backend.url}\n`);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(200);
    edit(`  /v2: ${backend.url}\n`);
    const refused = await post();
    expect(refused.status).toBe(409);
    const { refusals } = (await refused.json()) as { refusals: { message: string; force: string }[] };
    expect(refusals.map(({ message }) => message)).toEqual([
      expect.stringContaining('no sunset was ever announced'),
      expect.stringContaining('was never a tombstone'),
      expect.stringContaining('was last called'),
    ]);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(200);
    edit(`  /v2: ${backend.url}\n${refusals[0]?.force}\n`);
    expect(await (await post()).json()).toMatchObject({ faults: [expect.stringContaining('is a placeholder')] });
    edit(`  /v2: ${backend.url}\n${refusals[0]?.force.replace(/<.*>/, 'the backend is gone')}\n`);
    expect(await (await post()).json()).toMatchObject({ kind: 'reloaded', forced: ['/v1: the backend is gone'] });
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(404);
  });

  it('reports that a rejected edit was reverted', async () => {
    const { edit, post, admin } = await start('  /v1: http://127.0.0.1:1\n');
    edit('  /v2: http://127.0.0.1:1\n');
    expect((await post()).status).toBe(409);
    edit('  /v1: http://127.0.0.1:1\n');
    expect(await (await post()).json()).toEqual({ kind: 'unchanged', reverted: true });
    expect(await (await post()).json()).toEqual({ kind: 'unchanged' });
    const { config } = (await (await fetch(`${admin}/api/status`)).json()) as { config: object };
    expect(config).toMatchObject({ last_failure: null });
  });

  it('keeps a tombstone that is still called until guard.quiet has passed', async () => {
    const upstream = 'http://127.0.0.1:1';
    const tombstone = '{ retired: true, deprecation: 2026-01-01, sunset: 2026-02-01 }';
    const { gateway, edit, post } = await start(`  /v1: ${tombstone}\n  /v2: ${upstream}\n`);
    for (let call = 0; call < 3; call += 1) {
      expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(410);
    }
    edit(`  /v2: ${upstream}\n`);
    const refused = await post();
    expect(refused.status).toBe(409);
    const { refusals } = (await refused.json()) as { refusals: { message: string }[] };
    expect(refusals.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^\/v1 is removed, and was last called .+ Its clients would get 404 instead of 410\.$/),
    ]);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(410);
    edit(`  /v2: ${upstream}\nguard: { quiet: off }\n`);
    expect(await (await post()).json()).toMatchObject({ kind: 'reloaded' });
  });

  it('keeps a tombstone until its announced sunset', async () => {
    const upstream = 'http://127.0.0.1:1';
    const { edit, post } = await start(
      `  /v1: { retired: true, deprecation: 2026-01-01, sunset: 2999-01-01 }\n  /v2: ${upstream}\n`,
    );
    edit(`  /v2: ${upstream}\n`);
    expect(await (await post()).json()).toMatchObject({
      refusals: [
        { message: expect.stringMatching(/^\/v1 is removed before its announced sunset, 2999-01-01\./) },
        { message: expect.stringContaining('This gateway keeps no usage ledger') },
      ],
    });
  });

  it('answers 415 to a body that is not JSON', async () => {
    const { post } = await start('  /v1: http://127.0.0.1:1\n');
    expect((await post('text/plain')).status).toBe(415);
    expect(await (await post()).json()).toEqual({ kind: 'unchanged' });
  });
});

it('a request that started before a reload ends with the old snapshot', async () => {
  const released = Promise.withResolvers<void>();
  const slow = await startBackend(({ target }) => [{ wait: released.promise }, { write: answer(200, target) }]);
  const { gateway, edit } = await start(`  /v1: { upstream: "${slow.url}", prefix: forward }\n`);
  const client = await connectTo(gateway.port);
  client.send(get('/v1/slow'));
  await eventually(() => expect(slow.requests).toHaveLength(1));
  edit(`  /v1: { upstream: "http://127.0.0.1:1", deprecation: 2026-01-01 }\n${noTrial}`);
  expect((await gateway.reload('file')).kind).toBe('reloaded');
  released.resolve();
  const response = await client.response();
  expect([response.status, response.body, response.fields.some(([name]) => name === 'Deprecation')]).toEqual([
    200,
    '/v1/slow',
    false,
  ]);
  client.send(get('/v1/x'));
  expect((await client.response()).status).toBe(502);
});

it('a WebSocket on /v2 survives every edit of /v1', async () => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data.toString())));
  await once(sockets, 'listening');
  onTestFinished(() => sockets.close());
  const { port } = sockets.address() as { port: number };
  const v2 = `  /v2: "http://127.0.0.1:${port}"\n`;
  const { gateway, edit } = await start(`${v2}  /v1: "http://127.0.0.1:1"\n`);
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/x`);
  await once(socket, 'open');
  for (let round = 2; round < 22; round += 1) {
    edit(`${v2}  /v1: "http://127.0.0.1:${round}"\n${noTrial}`);
    expect((await gateway.reload('file')).kind).toBe('reloaded');
  }
  socket.send('alive');
  const [said] = (await once(socket, 'message')) as [Buffer];
  expect(said.toString()).toBe('alive');
  socket.terminate();
});

it('50 reloads under load fail no request of an unchanged version', async () => {
  const backend = createServer((_req, res) => res.end('v2')).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'reload-load-'));
  const file = join(folder, 'routes.yaml');
  const edit = (v1: string): void =>
    writeFileSync(
      file,
      `gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' }\nroutes: { /v2: '${upstream}', /v1: ${v1} }\n${noTrial}`,
    );
  edit(`'${upstream}'`);
  const gateway = await startGateway(loadSnapshot(file), { load: () => loadSnapshot(file) });
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  onTestFinished(async () => {
    agent.destroy();
    await gateway.close();
    backend.closeAllConnections();
    backend.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });

  let over = false;
  let served = 0;
  const wrong: unknown[] = [];
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      const options = { port: gateway.port, host: '127.0.0.1', path: '/v2/x', agent };
      httpGet(options, (res) => {
        if (res.statusCode === 200) served += 1;
        else wrong.push(res.statusCode);
        res.resume().on('end', resolve);
      }).on('error', (error) => {
        wrong.push(error);
        resolve();
      });
    });
  const clients = Array.from({ length: 32 }, async () => {
    while (!over) await ask();
  });
  const edits = [
    `{ upstream: '${upstream}', deprecation: 2026-01-01 }`,
    `{ upstream: ['${upstream}', 'http://127.0.0.1:1'], deprecation: 2026-01-01 }`,
    `{ upstream: '${upstream}', deprecation: 2026-01-01, sunset: 2099-01-01 }`,
    `{ upstream: '${upstream}', prefix: forward }`,
    `'http://127.0.0.1:1'`,
  ];
  for (let round = 0; round < 50; round += 1) {
    edit(edits[round % edits.length] ?? '');
    expect((await gateway.reload('file')).kind).toBe('reloaded');
    const before = served;
    await eventually(() => expect(served).toBeGreaterThan(before));
  }
  over = true;
  await Promise.all(clients);
  expect(wrong).toEqual([]);
});

describe('a reload that fails within the gateway', () => {
  /** `failing`: what the gateway cannot do now. */
  async function startFailing() {
    const folder = mkdtempSync(join(tmpdir(), 'reload-'));
    const file = join(folder, 'routes.yaml');
    const edit = (...versions: string[]): void =>
      writeFileSync(
        file,
        `${ports}${noTrial}routes:\n${versions.map((one) => `  /${one}: http://127.0.0.1:1\n`).join('')}`,
      );
    edit('v1');
    const failing = new Set<'accept' | 'load'>();
    const failIf = (what: 'accept' | 'load'): void => {
      if (failing.has(what)) throw new Error(`cannot ${what}`);
    };
    const gateway = await startGateway(loadSnapshot(file), {
      load: () => {
        failIf('load');
        return loadSnapshot(file);
      },
      onAccepted: () => failIf('accept'),
    });
    onTestFinished(async () => {
      await gateway.close();
      rmSync(folder, { recursive: true, maxRetries: 10 });
    });
    return { gateway, edit, failing };
  }

  it('is told as faulty, and the next one succeeds', async () => {
    const { gateway, edit, failing } = await startFailing();
    edit('v1', 'v2');
    failing.add('load');
    expect(await gateway.reload('file')).toEqual({ kind: 'faulty', faults: ['cannot load'] });
    expect(gateway.config).toMatchObject({ generation: 1, failures: 1, lastFailure: { reasons: ['cannot load'] } });
    failing.delete('load');
    expect(await gateway.reload('file')).toMatchObject({ kind: 'reloaded' });
  });

  it('is not told as faulty once the new configuration is served, and its former targets are remembered', async () => {
    const { gateway, edit, failing } = await startFailing();
    edit('v1', 'v2');
    failing.add('accept');
    const unconfirmed = [
      'a part of the gateway has not applied it: cannot accept.  Restart the gateway, so that all of it has the new configuration',
    ];
    expect(await gateway.reload('file')).toMatchObject({ kind: 'incomplete', unconfirmed });
    const { generation, formerTargets, lastFailure } = gateway.config;
    expect([generation, [...(formerTargets?.keys() ?? [])], lastFailure]).toEqual([2, ['v1'], undefined]);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/v2/x`)).status).toBe(502);
    failing.delete('accept');
    edit('v1', 'v2', 'v3');
    expect(await gateway.reload('file')).toMatchObject({ kind: 'reloaded' });
  });

  it.each(['readUsage', 'tryNewTargets', 'apply'] as const)('is told as faulty if a step fails: %s', async (step) => {
    const current = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } });
    const next = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1', '/v2': 'http://127.0.0.1:1' } });
    const steps: ReloadSteps = {
      source: { current },
      load: () => next,
      loadPreview: () => next,
      apply: async () => [],
      readUsage: () => versionUsage(current, liveSources, undefined, Date.now()),
      tryNewTargets: () => nothingTried,
      clock: { now: Date.now },
      [step]: () => Promise.reject(new Error(`no ${step}`)),
    };
    const reloader = new Reloader(steps);
    const outcome = { kind: 'faulty', faults: [`no ${step}`] };
    expect(await Promise.all([reloader.reload('file'), reloader.reload('signal')])).toEqual([outcome, outcome]);
    expect(reloader.status).toMatchObject({ generation: 1, failures: 2, lastFailure: { trigger: 'signal' } });
  });
});

const liveSources: LiveSources = {
  flush: async () => true,
  report: async () => ({ versions: [], workers: [] }),
  ledger: undefined,
  fleet: undefined,
};
