import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

function post(...fields: string[]): string {
  return message('POST /v1/x HTTP/1.1', 'Host: api.test', ...fields);
}

describe('an unambiguous length is accepted', () => {
  it.each(['chunked', ' chunked', '\tchunked', ' \t chunked', 'CHUNKED', 'Chunked'])(
    'Transfer-Encoding:%j ends where its chunks end',
    async (coding) => {
      const { backend, client } = await startWire();
      client.send(`${post(`Transfer-Encoding:${coding}`)}5\r\nhello\r\n0\r\n\r\n${get('/v1/second')}`);
      expect((await client.response('POST')).status).toBe(200);
      expect((await client.response()).status).toBe(200);
      expect(backend.requests.map(({ target, body }) => [target, body])).toEqual([
        ['/x', 'hello'],
        ['/second', ''],
      ]);
    },
  );

  // RFC 9110 §5.5: the white space is not part of the value.
  it.each(['chunked ', 'chunked\t', ' chunked \t'])('Transfer-Encoding:%j is chunked or 400', async (coding) => {
    const { backend, client } = await startWire();
    client.send(`${post(`Transfer-Encoding:${coding}`)}5\r\nhello\r\n0\r\n\r\n`);
    const response = await client.response('POST');
    if (response.status === 200) expect(backend.request.body).toBe('hello');
    else expectProblem(response, 400);
  });

  it('a request in the body of another is never run', async () => {
    const { backend, client } = await startWire();
    const inner = get('/v1/smuggled');
    client.send(post(`Content-Length: ${inner.length}`) + inner);
    expect((await client.response('POST')).status).toBe(200);
    expect(backend.request.body).toBe(inner);
    expect(client.pending).toBe('');
  });

  // A name with `_` must not frame anything, here or in a backend that reads `_` as `-`.
  it.each(['Content_Length: 3', 'Transfer_Encoding: chunked'])('%s does not change the framing', async (field) => {
    const { backend, client } = await startWire();
    client.send(`${post('Content-Length: 5', field)}hello${get('/v1/second')}`);
    expect((await client.response('POST')).status).toBe(200);
    expect((await client.response()).status).toBe(200);
    expect(backend.requests.map(({ target, body }) => [target, body])).toEqual([
      ['/x', 'hello'],
      ['/second', ''],
    ]);
  });
});
