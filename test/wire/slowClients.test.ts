import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { connectSecurely, makePair } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { connectTo, get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

interface Timeouts {
  readonly gateway?: Record<string, string>;
  readonly upstream?: Record<string, string>;
}

const start = (script: Answer, { gateway = {}, upstream = {} }: Timeouts) =>
  startWire(script, { version: { timeouts: upstream }, gateway: { timeouts: gateway } });

// RFC 9110 §15.5.9.
describe('a slow client', () => {
  it.each([
    ['stops within its head', ['GET /v1/x HTTP/1.1\r\nHost: api.te']],
    ['stops within the request line', ['GET /v1']],
    ['never ends its head', [...'GET /v1/x HTTP/1.1\r\nHost: api.test\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']],
  ])('that %s gets 408, or is disconnected', async (_name, pieces) => {
    const { backend, client } = await start(answer(200, 'ok'), { gateway: { head: '300ms' } });
    await Promise.all([client.sendPieces(pieces, 25), client.closed()]);
    if (client.pending !== '') expectProblem(await client.response(), 408);
    expect(client.pending).toBe('');
    expect(backend.bytes).toBe('');
  });

  it('that sends nothing is disconnected', async () => {
    const { client } = await start(answer(200, 'ok'), { gateway: { head: '300ms', keep_alive: '300ms' } });
    await client.closed();
    if (client.pending !== '') expectProblem(await client.response(), 408);
  });

  it.each([
    ['a known length', message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 10'), 'hal'],
    ['chunks', message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Transfer-Encoding: chunked'), '5\r\nhal'],
    ['no body yet', message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 10'), ''],
  ])('that stops within its body gets 408, and the backend request is aborted: %s', async (_name, head, part) => {
    const { backend, client } = await start(answer(200, 'ok'), { gateway: { body_idle: '300ms' } });
    client.send(head + part);
    expectProblem(await client.response('POST'), 408);
    await client.closed();
    expect(backend.requests).toEqual([]);
    await eventually(() => {
      for (const connection of backend.connections) expect(connection.closed).not.toBe('open');
    });
  });

  it('that is slow but makes progress is not disconnected', async () => {
    const { backend, client } = await start(answer(200, 'ok'), { gateway: { body_idle: '400ms', head: '400ms' } });
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 6'));
    await client.sendPieces([...'abcdef'], 150);
    expect((await client.response('POST')).status).toBe(200);
    expect(backend.request.body).toBe('abcdef');
  });

  it('that is idle between requests is disconnected after keep_alive, without a response', async () => {
    const { client } = await start(answer(200, 'ok'), { gateway: { keep_alive: '300ms' } });
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    expect((await client.closed()).leftover).toBe('');
  });

  it('that waits for a slow answer is not disconnected', async () => {
    const { client } = await start([{ wait: 800 }, { write: answer(200, 'late') }], {
      gateway: { keep_alive: '300ms', head: '300ms', body_idle: '300ms' },
    });
    client.send(get('/v1/x'));
    expect((await client.response()).body).toBe('late');
  });

  it('that stops reading is disconnected after write_idle, and so is the backend', async () => {
    const huge = Buffer.alloc(64_000_000, 'a');
    const { backend, client } = await start(
      [{ write: `HTTP/1.1 200 OK\r\nContent-Length: ${huge.length}\r\n\r\n` }, { write: huge }],
      { upstream: { write_idle: '400ms', idle: '30s' } },
    );
    client.socket.pause();
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('that stops reading is not disconnected if write_idle is off, although another version has a limit', async () => {
    const huge = Buffer.alloc(16_000_000, 'a');
    const backend = await startBackend([
      { write: `HTTP/1.1 200 OK\r\nContent-Length: ${huge.length}\r\n\r\n` },
      { write: huge },
    ]);
    const { port } = await startTestGateway({
      '/v1': { upstream: backend.url, timeouts: { write_idle: 'off' } },
      '/v2': { upstream: backend.url, timeouts: { write_idle: '300ms' } },
    });
    const client = await connectTo(port);
    client.socket.pause();
    client.send(get('/v1/x'));
    await sleep(1_500);
    client.socket.resume();
    await eventually(() => expect(client.pending.length).toBeGreaterThan(huge.length));
  });

  // The gateway has the rest of this response in memory, and no longer waits for its backend.
  it.each(['without TLS', 'with TLS'])('that leaves a whole response unread is disconnected, %s', async (name) => {
    const folder = temporaryFolder();
    makePair(folder, 'api');
    const tls = { cert: join(folder, 'api.made.crt'), key: join(folder, 'api.made.key') };
    const backend = await startBackend(answer(200, 'x'.repeat(60_000)));
    const { port, adminPort } = await startTestGateway(
      { '/v1': { upstream: backend.url, timeouts: { write_idle: '1s' } } },
      { gateway: name === 'with TLS' ? { tls } : {} },
    );
    const socket = name === 'with TLS' ? await connectSecurely(port) : (await connectTo(port)).socket;
    onTestFinished(() => void socket.destroy());
    socket.pause().on('error', () => {});
    const isCutOff = async (): Promise<boolean> => {
      const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      return metrics.includes('version_gateway_failures_total{version="v1",fault="client"} 1\n');
    };
    let sent = 0;
    do {
      socket.write(get('/v1/x'));
      sent += 1;
      await eventually(async () => expect(backend.requests.length >= sent || (await isCutOff())).toBe(true));
    } while (!(await isCutOff()));
    expect(backend.connections[0]?.closed).toBe('open');
  });

  it('that reads whole responses late gets all of them, and each is counted', async () => {
    const body = 'x'.repeat(60_000);
    const { backend, adminPort, client } = await start(answer(200, body), {});
    client.socket.pause();
    const answered = async (): Promise<number> => {
      const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      return Number(/^version_gateway_request_duration_seconds_count\{version="v1"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    let sent = 0;
    // A response that the kernel does not accept as a whole ends only when the client reads.
    do {
      client.send(get(`/v1/${sent}`));
      sent += 1;
      await eventually(() => expect(backend.requests).toHaveLength(sent));
      for (let tries = 0; tries < 20 && (await answered()) < sent; tries += 1) await sleep(50);
    } while ((await answered()) === sent);
    client.socket.resume();
    for (let count = 0; count < sent; count += 1) expect((await client.response()).body).toBe(body);
    expect(client.pending).toBe('');
    await eventually(async () => expect(await answered()).toBe(sent));
    client.send(get('/v1/last'));
    expect((await client.response()).body).toBe(body);
  });
});
