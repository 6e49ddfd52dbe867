import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { startEditable, startService } from '../../process/runtime/editableGateway.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, post } from '../../support/rawClient.ts';
import { waitingAt } from '../../support/wire.ts';

async function openSockets(url: string, count: number): Promise<WebSocket[]> {
  const sockets = Array.from({ length: count }, () => new WebSocket(`${url.replace('http', 'ws')}/socket`));
  onTestFinished(() => {
    for (const socket of sockets) socket.terminate();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  return sockets;
}

it('retiring a version closes its 100 WebSockets with 1001 and those of no other version', async () => {
  const [service, other] = [await startService(), await startService()];
  const { gateway, edit, status, url } = await startEditable({ '/v1': service.url, '/v2': other.url });
  const ending = await openSockets(`${url}/v1`, 100);
  const [staying] = await openSockets(`${url}/v2`, 1);
  const codes = Promise.all(ending.map(async (socket) => (await once(socket, 'close'))[0]));
  expect(await status()).toMatchObject({ in_flight: 100, safe_to_stop: false });

  edit({ '/v1': { retired: true }, '/v2': other.url });
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
  const { gateway, edit, status, url } = await startEditable({ '/v1': service.url });
  const events = await fetch(`${url}/v1/events`);
  const slow = fetch(`${url}/v1/slow`);
  await eventually(async () => expect((await status()).in_flight).toBe(2));
  edit({ '/v1': { retired: true } });
  expect((await gateway.reload('file')).kind).toBe('reloaded');
  expect(await events.text()).toBe('data: 1\n\n');
  service.release();
  expect(await (await slow).text()).toBe('slow');
  await eventually(async () => expect((await status()).safe_to_stop).toBe(true));
});

it('a request that does not end within gateway.drain is cut off with 503', async () => {
  const service = await startService();
  const { gateway, edit, status, url } = await startEditable({ '/v1': service.url }, '200ms');
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
  const { gateway, edit, url } = await startEditable({ '/v1': { upstream: [going.url, staying.url] } });
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
  const { url } = await startEditable({
    '/v1': { upstream: service.url, deprecation: '2026-01-01', sunset, after_sunset: 'gone' },
  });
  const [socket] = await openSockets(`${url}/v1`, 1);
  const [code] = await once(socket as WebSocket, 'close');
  expect(code).toBe(1001);
  expect((await fetch(`${url}/v1/x`)).status).toBe(410);
});

it('a request is not cut off if the edit that removed its target is undone', async () => {
  const [removed, other] = [await startService(), await startService()];
  const { gateway, edit, status, url } = await startEditable({ '/v1': removed.url }, '200ms');
  const slow = fetch(`${url}/v1/slow`);
  await eventually(async () => expect((await status()).in_flight).toBe(1));
  for (const service of [other, removed]) {
    edit({ '/v1': service.url });
    expect((await gateway.reload('file')).kind).toBe('reloaded');
  }
  await sleep(600);
  removed.release();
  expect(await (await slow).text()).toBe('slow');
});

it.each(['is over', 'is over, and at once closes'])(
  'a request that waits is answered 503, and not sent, if the drain of the gateway %s',
  async (end) => {
    const backend = await startBackend(() => undefined);
    const { gateway, url } = await startEditable({
      '/v1': { upstream: backend.url, limits: { in_flight: 1, queue: '60s' } },
    });
    const clients = await Promise.all([1, 2].map(() => connectTo(Number(new URL(url).port))));
    for (const client of clients) client.send(post('/v1/x', 'hello'));
    await eventually(async () => expect(await waitingAt(gateway.adminPort)).toBe(1));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    await gateway.drain(100);
    if (end !== 'is over') await gateway.close();
    const answers = await Promise.all(clients.map((client) => client.response()));
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(answers.map(({ body }) => JSON.parse(body).code).toSorted()).toEqual(['CUT_OFF', 'OVERLOADED']);
    expect(backend.connections).toHaveLength(1);
  },
);
