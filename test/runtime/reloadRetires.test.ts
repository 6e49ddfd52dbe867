import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { loadSnapshot } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/runtime/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrl } from '../support/gateway.ts';

interface VersionStatus {
  readonly in_flight: number;
  readonly safe_to_stop: boolean;
  readonly unreachable: boolean;
  readonly stopped_before_retired: boolean;
  readonly targets: readonly { readonly health: string }[];
}

/** A gateway with its own file and a guard that allows retiring a version at once. */
async function start(routes: Readonly<Record<string, unknown>>, drain = '5s') {
  const folder = mkdtempSync(join(tmpdir(), 'retire-'));
  const file = join(folder, 'routes.yaml');
  let edits = 0;
  const edit = (next: Readonly<Record<string, unknown>>): void => {
    edits += 1;
    const force = { '/v1': `a test, edit ${edits}` };
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain };
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify({ gateway, guard: { force }, routes: next }));
  };
  edit(routes);
  const notices: string[] = [];
  const gateway = await startGateway(loadSnapshot(file), {
    load: () => loadSnapshot(file),
    notice: (line) => notices.push(line),
  });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  const status = async (index = 0): Promise<VersionStatus> => {
    const { versions } = (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`)).json()) as {
      versions: VersionStatus[];
    };
    return versions[index] as VersionStatus;
  };
  return { gateway, edit, status, notices, url: `http://127.0.0.1:${gateway.port}` };
}

/** Echoes over WebSockets, streams events at /events, and answers /slow after `slowMs`. */
async function startService(slowMs = 400) {
  const server = createServer((req, res) => {
    if (req.url?.endsWith('/events')) res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    else if (req.url?.endsWith('/slow')) setTimeout(() => res.end('slow'), slowMs);
    else res.end('ok');
  });
  const sockets = new WebSocketServer({ server });
  const closes: number[] = [];
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(data.toString()));
    socket.on('close', (code) => closes.push(code));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    sockets.close();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closes };
}

async function openSockets(url: string, count: number): Promise<WebSocket[]> {
  const sockets = Array.from({ length: count }, () => new WebSocket(`${url.replace('http', 'ws')}/socket`));
  onTestFinished(() => {
    for (const socket of sockets) socket.terminate();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  return sockets;
}

it('retiring a version closes its 100 WebSockets with 1001 and those of no other version', async () => {
  const service = await startService();
  const { gateway, edit, status, url } = await start({ '/v1': service.url, '/v2': service.url });
  const ending = await openSockets(`${url}/v1`, 100);
  const [staying] = await openSockets(`${url}/v2`, 1);
  const codes = Promise.all(ending.map(async (socket) => (await once(socket, 'close'))[0]));
  expect(await status()).toMatchObject({ in_flight: 100, safe_to_stop: false });

  edit({ '/v1': { retired: true }, '/v2': service.url });
  expect((await gateway.reload('file')).kind).toBe('reloaded');
  expect((await fetch(`${url}/v1/x`)).status).toBe(410);
  expect(new Set(await codes)).toEqual(new Set([1001]));
  await eventually(() => expect(service.closes).toEqual(Array(100).fill(1001)));
  expect(await status()).toMatchObject({ in_flight: 0, safe_to_stop: true });
  staying?.send('still here');
  const [echo] = await once(staying as WebSocket, 'message');
  expect(String(echo)).toBe('still here');
});

it('a finite response of a retired version is completed, and an event stream is ended cleanly', async () => {
  const service = await startService();
  const { gateway, edit, status, url } = await start({ '/v1': service.url });
  const events = await fetch(`${url}/v1/events`);
  const slow = fetch(`${url}/v1/slow`);
  await eventually(async () => expect((await status()).in_flight).toBe(2));
  edit({ '/v1': { retired: true } });
  expect((await gateway.reload('file')).kind).toBe('reloaded');
  expect(await events.text()).toBe('data: 1\n\n');
  expect(await (await slow).text()).toBe('slow');
  await eventually(async () => expect((await status()).safe_to_stop).toBe(true));
});

it('a request that does not end within gateway.drain is cut off with 503', async () => {
  const service = await startService(60_000);
  const { gateway, edit, status, url } = await start({ '/v1': service.url }, '200ms');
  const slow = fetch(`${url}/v1/slow`);
  await eventually(async () => expect((await status()).in_flight).toBe(1));
  edit({ '/v1': { retired: true } });
  await gateway.reload('file');
  expect((await slow).status).toBe(503);
  expect(await (await slow).json()).toMatchObject({ title: 'The version was taken out of service' });
  expect(await status()).toMatchObject({ in_flight: 0, safe_to_stop: true });
});

it('streams to a removed target end, and streams to the remaining one continue', async () => {
  const [going, staying] = [await startService(), await startService()];
  const { gateway, edit, url } = await start({ '/v1': { upstream: [going.url, staying.url] } });
  // Round robin: one each.
  const sockets = await openSockets(`${url}/v1`, 2);
  const closed: unknown[] = [];
  for (const socket of sockets) socket.on('close', (code) => closed.push(code));
  edit({ '/v1': { upstream: [staying.url] } });
  await gateway.reload('file');
  await eventually(() => expect([closed, going.closes, staying.closes]).toEqual([[1001], [1001], []]));
});

it('a version that is retired by its date ends its streams', async () => {
  const service = await startService();
  const sunset = new Date(Date.now() + 1_500).toISOString();
  const { url } = await start({
    '/v1': { upstream: service.url, deprecation: '2026-01-01', sunset, after_sunset: 'gone' },
  });
  const [socket] = await openSockets(`${url}/v1`, 1);
  const [code] = await once(socket as WebSocket, 'close');
  expect(code).toBe(1001);
  expect((await fetch(`${url}/v1/x`)).status).toBe(410);
});

/** Reports while the backend of a version is stopped, and after it has started again. */
async function loseBackend(
  routes: (gone: string) => Readonly<Record<string, unknown>>,
  expected: object,
  said: string,
) {
  const gone = await refusedUrl();
  const { status, notices, url } = await start(routes(gone));
  expect(await status()).toMatchObject({ unreachable: false, stopped_before_retired: false });
  expect((await fetch(`${url}/v1/x`)).status).toBe(502);
  expect(await status()).toMatchObject({ unreachable: true, targets: [{ health: 'unreachable' }], ...expected });
  await eventually(() => expect(notices).toEqual([said]), 5_000);
  const server = createServer((_req, res) => res.end('ok')).listen(Number(new URL(gone).port), '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  expect((await fetch(`${url}/v1/x`)).status).toBe(200);
  const healthy = { unreachable: false, stopped_before_retired: false, targets: [{ health: 'healthy' }] };
  expect(await status()).toMatchObject(healthy);
}

const deprecated = { deprecation: '2026-01-01' };

it('a deprecated version whose targets are all gone is reported as stopped before it was retired', async () => {
  const { url } = await startService();
  const said = '/v1 was stopped before it was retired: no target of /v1 can be reached';
  await loseBackend(
    (gone) => ({ '/v1': { upstream: gone, ...deprecated }, '/v2': url }),
    { stopped_before_retired: true },
    said,
  );
});

it.each<[string, (gone: string) => Readonly<Record<string, unknown>>]>([
  ['is active', (gone) => ({ '/v1': gone, '/v2': 'http://127.0.0.1:1' })],
  ['has no successor', (gone) => ({ '/v1': { upstream: gone, ...deprecated } })],
  ['has a retired successor', (gone) => ({ '/v1': { upstream: gone, ...deprecated }, '/v2': { retired: true } })],
])('a version that %s is only reported as unreachable', (_what, routes) =>
  loseBackend(routes, { stopped_before_retired: false }, 'no target of /v1 can be reached'),
);

it('a version is not reported as stopped while its successor cannot be reached either', async () => {
  const [one, two] = [await refusedUrl(), await refusedUrl()];
  const { status, url } = await start({ '/v1': { upstream: one, ...deprecated }, '/v2': two });
  for (const path of ['v1', 'v2']) expect((await fetch(`${url}/${path}/x`)).status).toBe(502);
  expect(await status()).toMatchObject({ unreachable: true, stopped_before_retired: false });
  expect(await status(1)).toMatchObject({ unreachable: true, stopped_before_retired: false });
});
