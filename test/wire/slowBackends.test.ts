import { describe, expect, it } from 'vitest';
import { type Answer, answer, inPieces } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, unansweringUrl } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const start = (script: Answer, timeouts: Record<string, string>) => startWire(script, { version: { timeouts } });

describe('a slow backend', () => {
  it.each([
    ['sends nothing', []],
    ['stops within its head', [{ write: 'HTTP/1.1 200 OK\r\nX-A' }]],
    ['never ends its head', inPieces(`HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(200)}`, 1, 20)],
  ] satisfies [string, Answer][])('that %s is 504 and disconnected', async (_name, script) => {
    const { backend, client } = await start(script, { first_byte: '300ms', idle: '300ms' });
    client.send(get('/v1/x'));
    expectProblem(await client.response(), 504);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('that stays within the limit gets its response through', async () => {
    const { client } = await start([{ wait: 500 }, { write: answer(200, 'late') }], { first_byte: '2s' });
    client.send(get('/v1/x'));
    expect((await client.response()).body).toBe('late');
  });

  it('that waits for a slow request body is not timed out', async () => {
    const { client } = await start(answer(200, 'ok'), { first_byte: '300ms' });
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 5'));
    await client.sendPieces([...'hello'], 150);
    expect((await client.response('POST')).status).toBe(200);
  });

  it.each([
    ['a known length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
    ['until it closes', 'HTTP/1.1 200 OK\r\n\r\nhalf'],
  ])('that stops within its body is aborted: %s', async (_name, begun) => {
    const { backend, client } = await start([{ write: begun }], { idle: '300ms' });
    client.send(get('/v1/x'));
    expect((await client.abortedResponse()).status).toBe(200);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('that is slow but makes progress is not disconnected', async () => {
    const body = inPieces('abcdef', 1, 150);
    const { client } = await start([{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n' }, ...body], {
      idle: '400ms',
      first_byte: '400ms',
    });
    client.send(get('/v1/x'));
    expect((await client.response()).body).toBe('abcdef');
  });

  it.each([
    ['may be silent by default', {}, false],
    ['may not be silent beyond stream_idle', { stream_idle: '300ms' }, true],
  ])('that streams events %s', async (_name, timeouts, cut) => {
    const head =
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { client } = await start(
      [{ write: `${head}9\r\ndata: 1\n\n\r\n` }, { wait: 1_000 }, { write: '9\r\ndata: 2\n\n\r\n0\r\n\r\n' }],
      { idle: '300ms', ...timeouts },
    );
    client.send(get('/v1/x'));
    if (cut) expect((await client.abortedResponse()).partial).toContain('data: 1');
    else expect((await client.response()).body).toBe('data: 1\n\ndata: 2\n\n');
  });

  it('that accepts no connection is 504', async () => {
    const gateway = await startTestGateway({
      '/v1': { upstream: await unansweringUrl(), timeouts: { connect: '300ms' } },
    });
    expectProblem(await ask(gateway.port, get('/v1/x')), 504);
  });

  it('whose connection is idle longer than keep_alive is disconnected', async () => {
    const { backend, client } = await start(answer(200, 'ok'), { keep_alive: '300ms' });
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  // RFC 9112 §9.3: a shorter time-out that the backend itself announces.
  it('can announce a shorter keep-alive', async () => {
    const { backend, client } = await start(answer(200, 'ok', 'Keep-Alive: timeout=1'), { keep_alive: '30s' });
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    expect(backend.connections).toHaveLength(2);
  });
});
