import { describe, expect, it } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { chunked, connectTo, post } from '../support/rawClient.ts';

// RFC 9110 §15.5.14.
describe('limits.body', () => {
  const limited = (upstream: string) => ({ '/v1': { upstream, limits: { body: '1KiB' } } });
  const sizes = (length: number) => `${length.toString(16)}\r\n${'a'.repeat(length)}\r\n0\r\n\r\n`;

  it.each([
    ['Content-Length', post('/v1/x', 'a'.repeat(1024))],
    ['one chunk', chunked('/v1/x', sizes(1024))],
    ['many chunks', chunked('/v1/x', `${'1\r\na\r\n'.repeat(1024)}0\r\n\r\n`)],
  ])('allows a body of exactly this size, by %s', async (_name, bytes) => {
    const backend = await startBackend();
    const gateway = await startTestGateway(limited(backend.url));
    const client = await connectTo(gateway.port);
    client.send(bytes);
    expect((await client.response('POST')).status).toBe(200);
    expect(backend.request.body).toHaveLength(1024);
  });

  it.each([
    ['Content-Length', post('/v1/x', 'a'.repeat(1025))],
    ['one chunk', chunked('/v1/x', sizes(1025))],
    ['many chunks', chunked('/v1/x', `${'1\r\na\r\n'.repeat(1025)}0\r\n\r\n`)],
    ['a chunk of 1 TB', chunked('/v1/x', `ffffffffff\r\n${'a'.repeat(1025)}`)],
  ])('refuses one byte more with 413, by %s', async (_name, bytes) => {
    const backend = await startBackend();
    const gateway = await startTestGateway(limited(backend.url));
    const client = await connectTo(gateway.port);
    client.send(bytes);
    expectProblem(await client.response('POST'), 413);
    expect(backend.requests).toEqual([]);
  });

  it('lets a client read the 413 although it is still sending', async () => {
    const backend = await startBackend();
    const gateway = await startTestGateway(limited(backend.url));
    const client = await connectTo(gateway.port);
    client.send(post('/v1/x', 'a'.repeat(2_000_000)));
    expectProblem(await client.response('POST'), 413);
    expect(backend.bytes).toBe('');
  });
});
