import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message, post } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

// RFC 9112 §9.3.2.
describe('pipelined requests', () => {
  const paths = ['/1', '/2', '/3', '/4', '/5'];

  it('are answered in their order, however long each takes', async () => {
    const { client } = await startWire(({ target }) => [
      { wait: target === '/1' ? 200 : target === '/3' ? 100 : 0 },
      { write: answer(200, target) },
    ]);
    client.send(paths.map((path) => get(`/v1${path}`)).join(''));
    const bodies: string[] = [];
    for (const _path of paths) bodies.push((await client.response()).body);
    expect(bodies).toEqual(paths);
    expect(client.pending).toBe('');
  });

  it('keep their own bodies', async () => {
    const { client } = await startWire(({ target, body }) => answer(200, `${target} ${body}`));
    client.send(post('/v1/a', 'GET / HTTP/1.1\r\n\r\n') + get('/v1/b') + post('/v1/c', 'three'));
    expect((await client.response('POST')).body).toBe('/a GET / HTTP/1.1\r\n\r\n');
    expect((await client.response()).body).toBe('/b ');
    expect((await client.response('POST')).body).toBe('/c three');
  });

  // RFC 9112 §9.3.2: concurrently only if all of them are safe.
  it('are not run concurrently if one of them is not safe', async () => {
    const released = Promise.withResolvers<void>();
    const { backend, client, port } = await startWire(({ target }) => [
      ...(target === '/a' ? [{ wait: released.promise }] : []),
      { write: answer(200, target) },
    ]);
    client.send(post('/v1/a', 'hello') + get('/v1/b'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    // Sent later on another connection: if `/b` were sent now, it would arrive first.
    await ask(port, get('/v1/other'));
    expect(backend.requests.map(({ target }) => target)).toEqual(['/a', '/other']);
    released.resolve();
    expect((await client.response('POST')).body).toBe('/a');
    expect((await client.response()).body).toBe('/b');
  });

  it('end with Connection: close: what follows is not run, and does not replace the answer', async () => {
    const { backend, client } = await startWire([{ wait: 100 }, { write: answer(200, 'intact') }]);
    client.send(get('/v1/x', 'Connection: close') + get('/v1/smuggled'));
    expect((await client.response()).body).toBe('intact');
    expect((await client.closed()).leftover).toBe('');
    expect(backend.request.target).toBe('/x');
  });

  it.each(['garbage', '\0\0\0\0', 'GET /v1/../x HTTP/1.1\r\n\r\n', `${'a'.repeat(50_000)}`])(
    'bytes after Connection: close do not replace the answer: %j',
    async (bytes) => {
      const { client } = await startWire([{ wait: 100 }, { write: answer(200, 'intact') }]);
      client.send(get('/v1/x', 'Connection: close') + bytes);
      expect((await client.response()).body).toBe('intact');
      expect((await client.closed()).leftover).toBe('');
    },
  );

  it.each([
    ['a malformed head', message('GET /v1/y HTTP/1.1', 'Host: api.test', 'X A: b')],
    ['garbage', '\x16\x03\x01garbage\r\n\r\n'],
    ['two lengths', message('POST /v1/y HTTP/1.1', 'Host: api.test', 'Content-Length: 1', 'Content-Length: 2')],
    ['no Host', message('GET /v1/y HTTP/1.1')],
  ])('%s after a slow answer does not damage it, and gets 400', async (_name, broken) => {
    const { backend, client } = await startWire([{ wait: 150 }, { write: answer(200, 'intact') }]);
    client.send(get('/v1/x') + broken + get('/v1/smuggled'));
    expect((await client.response()).body).toBe('intact');
    expectProblem(await client.response(), 400);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.request.target).toBe('/x');
  });

  it('a malformed head that arrives during a streaming answer does not damage it', async () => {
    const { client } = await startWire([
      { write: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n' },
      { wait: 150 },
      { write: '4\r\nlast\r\n0\r\n\r\n' },
    ]);
    client.send(get('/v1/x'));
    await eventually(() => expect(client.pending).toContain('first'));
    client.send('\0garbage\r\n\r\n');
    expect((await client.response()).body).toBe('firstlast');
  });
});
