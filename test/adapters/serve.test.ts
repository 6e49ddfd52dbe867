import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { ask, get } from '../support/rawClient.ts';
import { startServed } from './servedVersion.ts';

const json = 'Content-Type: application/json';

describe('a version that is served from another backend', () => {
  it('gets its path, query and body', async () => {
    const { backend, port } = await startServed(answer(200, '{"title":"Mojito","price":9.5,"glass":"highball"}', json));
    const response = await ask(port, get('/v1/drinks/7?x=1', 'Accept-Encoding: gzip'));
    expect(backend.request.raw).toMatch(/^GET \/cocktails\/7\?x=1 HTTP\/1.1\r\n/);
    expect(backend.request.raw).toMatch(/\r\nAccept-Encoding: identity\r\n/);
    expect([response.status, response.body]).toEqual([200, '{"name":"Mojito","price":"9.50"}']);
  });
});
