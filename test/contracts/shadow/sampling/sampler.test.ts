import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import { Sampler } from '../../../../gateway/contracts/shadow/sampling/sampler.ts';
import type { ShadowBatch } from '../../../../gateway/contracts/shadow/sampling/shadowBatch.ts';
import { DataPlane } from '../../../../gateway/process/runtime/dataPlane.ts';
import {
  closeListener,
  createClientListener,
  listen,
  portOf,
} from '../../../../gateway/proxy/pipeline/clientListener.ts';
import { type Answer, answer, inPieces, startBackend } from '../../../support/backend.ts';
import { eventually } from '../../../support/eventually.ts';
import { askHttp2, connectHttp2 } from '../../../support/http2Client.ts';
import { ask, connectTo, get } from '../../../support/rawClient.ts';
import { everything } from '../shadowedGateway.ts';

/** A listener whose samples the test receives. */
async function startSampled(
  v1Answer: Answer,
  gateway: object = {},
  send?: (batch: ShadowBatch) => Promise<void>,
  clock?: () => number,
) {
  const [v1, v2] = await Promise.all([startBackend(v1Answer), startBackend()]);
  const snapshot = snapshotFrom({
    gateway: { listen: '127.0.0.1:0', ...gateway },
    routes: { '/v1': { upstream: v1.url, shadow: { ...everything, body: '1MiB' } }, '/v2': v2.url },
  });
  const batches: ShadowBatch[] = [];
  const sampler = new Sampler(async (batch) => {
    batches.push(batch);
    await send?.(batch);
  }, clock);
  const dataPlane = new DataPlane(snapshot);
  sampler.configure(snapshot, dataPlane.identification.fields);
  dataPlane.context.shadow = sampler;
  const listener = createClientListener(snapshot.gateway, dataPlane.context);
  await listen(listener, snapshot.gateway.listen);
  onTestFinished(async () => {
    dataPlane.close();
    await closeListener(listener);
  });
  const samples = () => batches.flatMap((batch) => batch.samples);
  const dropped = () => batches.flatMap((batch) => batch.dropped);
  return { port: portOf(listener), samples, dropped };
}

const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('');
const large = bytes.repeat(1200);
const bodies: readonly [what: string, body: string, Answer][] = [
  ['in one piece with the head', bytes, answer(200, bytes)],
  ['of 300 KiB', large, answer(200, large)],
  ['in many pieces', bytes, inPieces(answer(200, bytes), 50)],
  [
    'in chunks',
    'abcdef',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\nX: 1\r\n\r\n',
  ],
  ['until the connection ends', 'abc', [{ write: 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc' }, { end: true }]],
];
const readers = [
  ['the fast lane', { fast_lane: 'auto' }],
  ['node:http', { fast_lane: 'off' }],
] as const;

it.each(readers)('takes the response that %s passes on, byte for byte', async (_reader, settings) => {
  for (const [what, body, v1Answer] of bodies) {
    const { port, samples } = await startSampled(v1Answer, settings);
    expect((await ask(port, get('/v1/a'))).body, what).toBe(body);
    await eventually(() => expect(samples()).toHaveLength(1));
    const [sample] = samples();
    expect(Buffer.from(sample?.body ?? []).toString('latin1') === body, what).toBe(true);
    // In memory of its own, so that nothing else is sent with it.
    expect(sample?.body.buffer.byteLength).toBe(body.length);
  }
});

it('takes the response to a request over HTTP/2', async () => {
  const { port, samples } = await startSampled(answer(200, large, 'Content-Type: text/plain'), { h2c: 'on' });
  const session = await connectHttp2(`http://127.0.0.1:${port}`);
  await askHttp2(session, '/v1/a');
  await eventually(() => expect(samples()).toHaveLength(1));
  expect(samples()[0]).toMatchObject({ method: 'GET', status: 200, contentType: 'text/plain' });
  expect(Buffer.from(samples()[0]?.body ?? []).toString('latin1') === large).toBe(true);
});

it('takes at most 16 responses at a time, and more once they have ended', async () => {
  const released = Promise.withResolvers<void>();
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
  const { port, samples, dropped } = await startSampled([{ write: head }, { wait: released.promise }, { write: 'ok' }]);
  const clients = await Promise.all(Array.from({ length: 20 }, () => connectTo(port)));
  for (const client of clients) client.send(get('/v1/a'));
  await eventually(() => expect(dropped()).toEqual([['v1', 'busy', 4]]));
  expect(samples()).toEqual([]);
  released.resolve();
  await Promise.all(clients.map((client) => client.response()));
  await eventually(() => expect(samples()).toHaveLength(16));
  await ask(port, get('/v1/a'));
  await eventually(() => expect(samples()).toHaveLength(17));
});

it('gives up the slowest response after 5 s if another one is to be taken, and compares none that was slow', async () => {
  const released = Promise.withResolvers<void>();
  const half: Answer = [
    { write: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no' },
    { wait: released.promise },
    { write: 'k' },
  ];
  const answers: Answer = ({ raw }) => (raw.startsWith('GET /slow') ? half : answer(200, '{}'));
  let now = 0;
  const { port, samples, dropped } = await startSampled(answers, {}, undefined, () => now);
  const clients = await Promise.all(Array.from({ length: 16 }, () => connectTo(port)));
  for (const client of clients) client.send(get('/v1/slow'));
  await Promise.all(clients.map((client) => eventually(() => expect(client.pending).toMatch(/o$/))));
  now = 5_000;
  await ask(port, get('/v1/a'));
  await eventually(() => expect(dropped()).toEqual([['v1', 'busy', 1]]));
  now = 5_001;
  await ask(port, get('/v1/a'));
  await eventually(() => expect(samples()).toHaveLength(1));
  released.resolve();
  await Promise.all(clients.map((client) => client.response()));
  const slow = () => dropped().reduce((sum, [, reason, count]) => sum + (reason === 'slow' ? count : 0), 0);
  await eventually(() => expect(slow()).toBe(16));
  expect(samples()).toHaveLength(1);
});

it('goes on taking samples after samples were lost, because they could not be sent', async () => {
  const { port, samples, dropped } = await startSampled(answer(200, '{}'), {}, async () => {
    throw new Error('the channel is closed');
  });
  for (let count = 0; count < 12; count += 1) expect((await ask(port, get('/v1/a'))).status).toBe(200);
  await eventually(() => expect(samples()).toHaveLength(12));
  expect(dropped()).toEqual([]);
});

it('keeps at most 8 samples while the primary does not take them', async () => {
  const taken = Promise.withResolvers<void>();
  const { port, samples, dropped } = await startSampled(answer(200, '{}'), {}, () => taken.promise);
  for (let count = 0; count < 12; count += 1) await ask(port, get('/v1/a'));
  await eventually(() => expect(samples()).toHaveLength(8));
  taken.resolve();
  await eventually(() => expect(dropped()).toEqual([['v1', 'busy', 4]]));
});
