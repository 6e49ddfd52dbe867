import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { type connectTo, get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const half = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst half';
const broken: [name: string, head: string, rest: string][] = [
  ['a chunk size that is not a number', chunkedHead, 'zz\r\nhello\r\n0\r\n\r\n'],
  ['a negative chunk size', chunkedHead, '5\r\nhello\r\n-1\r\n\r\n'],
  ['a chunk size that overflows', chunkedHead, '10000000000000005\r\nhello\r\n0\r\n\r\n'],
  ['no CR LF after a chunk', chunkedHead, '5\r\nhello0\r\n\r\n'],
  ['more data than the chunk size', chunkedHead, '5\r\nhello!!\r\n0\r\n\r\n'],
  ['a bare LF after a chunk size', chunkedHead, '5\nhello\r\n0\r\n\r\n'],
  ['a huge chunk extension', chunkedHead, `5;${'a'.repeat(200_000)}\r\nhello\r\n0\r\n\r\n`],
  ['a malformed trailer', chunkedHead, '5\r\nhello\r\n0\r\nX-A\r\n\r\n'],
  ['a huge trailer section', chunkedHead, `5\r\nhello\r\n0\r\nX-A: ${'a'.repeat(300_000)}\r\n\r\n`],
];

// RFC 9112 §8: an incomplete message must not look complete.
describe('a response that breaks within its body does not look complete', () => {
  it.each(broken)('%s, before the head is sent', async (_name, head, rest) => {
    const { client } = await startWire(head + rest);
    client.send(get('/v1/x'));
    await expectVisibleFailure(client);
  });

  it.each(broken)('%s, after the head is sent', async (_name, head, rest) => {
    const { client } = await startWire([{ write: `${head}5\r\nfirst\r\n` }, { wait: 100 }, { write: rest }]);
    client.send(get('/v1/x'));
    expect((await client.abortedResponse()).status).toBe(200);
  });

  it.each([
    ['Content-Length, closed', half, { end: true }],
    ['Content-Length, reset', half, { reset: true }],
    ['chunks, closed', `${chunkedHead}5\r\nhello\r\n`, { end: true }],
    ['chunks, reset', `${chunkedHead}5\r\nhello\r\n`, { reset: true }],
    ['within a chunk, closed', `${chunkedHead}5\r\nhel`, { end: true }],
    ['before the last CR LF, closed', `${chunkedHead}5\r\nhello\r\n0\r\n`, { end: true }],
    ['until closed, reset', 'HTTP/1.1 200 OK\r\n\r\nhello', { reset: true }],
  ] as const)('a body by %s', async (_name, begun, last) => {
    const { client } = await startWire([{ write: begun }, { wait: 50 }, last]);
    client.send(get('/v1/x') + get('/v1/y'));
    expect((await client.abortedResponse()).status).toBe(200);
  });

  async function expectVisibleFailure(client: Awaited<ReturnType<typeof connectTo>>): Promise<void> {
    const complete = await client.response().catch(() => undefined);
    if (complete) expectProblem(complete, 502);
    else await client.closed();
  }

  // Without chunks only the way of closing distinguishes a complete body from half of one.
  it.each([
    ['chunks', `${chunkedHead}5\r\nhello\r\n`],
    ['Content-Length', half],
  ])('to HTTP/1.0, of %s', async (_name, begun) => {
    const { client } = await startWire([{ write: begun }, { wait: 50 }, { end: true }]);
    client.send(message('GET /v1/x HTTP/1.0', 'Host: api.test'));
    expect((await client.abortedResponse()).status).toBe(200);
  });
});
