import { describe, expect, it } from 'vitest';
import { type Answer, answer } from '../support/backend.ts';
import { connectTo, get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const early = answer(413, 'too much');

const start = (script: Answer = early) => startWire(script, { answerAt: 'head' });

describe('an answer that comes before the whole request', () => {
  it('reaches the client at once', async () => {
    const { client } = await start();
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 1000000'));
    client.send('a'.repeat(1_000));
    expect((await client.response('POST')).body).toBe('too much');
  });

  it.each(['length', 'chunked'])('does not turn the rest of the body into a request: %s', async (framing) => {
    const { backend, client } = await start();
    const inner = get('/v1/smuggled');
    const field = framing === 'length' ? `Content-Length: ${inner.length}` : 'Transfer-Encoding: chunked';
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', field));
    expect((await client.response('POST')).body).toBe('too much');
    client.send(framing === 'length' ? inner : `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.requests.filter(({ target }) => target === '/smuggled')).toEqual([]);
  });

  it('leaves no incomplete request on a connection that is used again', async () => {
    const { backend, client, port } = await start();
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 100'));
    expect((await client.response('POST')).body).toBe('too much');
    const other = await connectTo(port);
    other.send(get('/v1/y'));
    expect((await other.response()).body).toBe('too much');
    expect(backend.connections).toHaveLength(2);
  });

  it('is passed on even if the backend then closes the connection', async () => {
    const { client } = await start([{ write: early }, { end: true }]);
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 1000000'));
    client.send('a'.repeat(1_000));
    expect((await client.response('POST')).body).toBe('too much');
  });
});
