import { describe, expect, it } from 'vitest';
import { ask, get, message } from '../support/rawClient.ts';
import { membersOf, singleValueOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9110 §7.6.3.
describe('Via', () => {
  it('is added to a request', async () => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x'));
    expect(singleValueOf(backend.request, 'via')).toMatch(/^(HTTP\/)?1\.1 \S+$/);
  });

  it('names the version that we received', async () => {
    const { backend, port } = await startWire();
    await ask(port, message('GET /v1/x HTTP/1.0', 'Host: api.test'));
    expect(singleValueOf(backend.request, 'via')).toMatch(/^(HTTP\/)?1\.0 \S+$/);
  });

  it('comes after those of a request', async () => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x', 'Via: 1.0 fred', 'Via: 1.1 p.example.net (a comment)'));
    const members = membersOf(backend.request, 'via');
    expect(members.slice(0, 2)).toEqual(['1.0 fred', '1.1 p.example.net (a comment)']);
    expect(members).toHaveLength(3);
  });

  it('comes after that of a response', async () => {
    const { port } = await startWire('HTTP/1.1 200 OK\r\nVia: 1.1 inner\r\nContent-Length: 2\r\n\r\nok');
    const members = membersOf(await ask(port, get('/v1/x')), 'via');
    expect(members[0]).toBe('1.1 inner');
    expect(members.length).toBeLessThanOrEqual(2);
  });

  it.each([
    ['alone', (via: string) => [`Via: ${via}`]],
    ['behind another', (via: string) => [`Via: 1.0 fred, ${via}`]],
    ['before another', (via: string) => [`Via: ${via}, 1.0 fred`]],
    ['in a second line', (via: string) => ['Via: 1.0 fred', `Via: ${via}`]],
    ['with a comment', (via: string) => [`Via: ${via} (us)`]],
  ])('with our own name is a loop: %s', async (_name, fields) => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x'));
    const response = await ask(port, get('/v1/x', ...fields(singleValueOf(backend.request, 'via') ?? 'none')));
    expect(response.status).toBe(508);
    expect(backend.requests).toHaveLength(1);
  });

  it('with the name of another gateway is no loop', async () => {
    const [one, other] = [await startWire(), await startWire()];
    await ask(one.port, get('/v1/x'));
    const via = singleValueOf(one.backend.request, 'via') ?? '';
    const response = await ask(other.port, get('/v1/x', `Via: ${via}x`, 'Via: 1.1 version-gateway'));
    expect(response.status).toBe(200);
  });
});
