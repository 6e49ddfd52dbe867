import { describe, expect, it } from 'vitest';
import { okAnswer } from '../support/backend.ts';
import { ask, get } from '../support/rawClient.ts';
import { membersOf, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const start = (gateway: Record<string, unknown> = {}, prefix = 'strip') =>
  startWire(okAnswer, { version: { prefix }, gateway });

const spoofed: string[] = [
  ...['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Port', 'X-Forwarded-Prefix'],
  ...['X-Forwarded-Server', 'X-Forwarded-Scheme', 'X-Forwarded-Ssl', 'X-Forwarded', 'Forwarded', 'X-Real-IP'],
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-Original-Host', 'x-forwarded-for', 'X-FORWARDED-HOST', 'forwarded'],
];

describe('for a peer that is not trusted', () => {
  it.each(spoofed)('the %s of the client does not reach the backend', async (name) => {
    const { backend, port } = await start();
    await ask(port, get('/v1/x', `${name}: evil`, `${name}: evil`, 'X-Other: stays'));
    expect(backend.request.raw).not.toContain('evil');
    expect(valuesOf(backend.request, 'x-other')).toEqual(['stays']);
  });

  // A CGI-like backend reads `_` as `-`. A name that it would read as one of ours is dropped; all others are passed on.
  it.each(['X_Forwarded_For', 'x_forwarded_host', 'X-Forwarded_Proto', 'X_Forwarded-Prefix', 'X_Request_Id'])(
    'the %s of the client does not reach the backend',
    async (name) => {
      const { backend, port } = await start();
      await ask(port, get('/v1/x', `${name}: evil`));
      expect(backend.request.raw).not.toContain('evil');
    },
  );

  it.each(['My_Field', 'x_api_key', '_', 'X_Forwardedfor'])('%s passes', async (name) => {
    const { backend, port } = await start();
    await ask(port, get('/v1/x', `${name}: fine`));
    expect(backend.request.lines).toContain(`${name}: fine`);
  });

  it('the X-Forwarded fields describe the request of the client', async () => {
    const { backend, port } = await start();
    await ask(port, get('/v1/x'));
    expect(valuesOf(backend.request, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(valuesOf(backend.request, 'x-forwarded-proto')).toEqual(['http']);
    expect(valuesOf(backend.request, 'x-forwarded-host')).toEqual(['api.test']);
    expect(singleValueOf(backend.request, 'x-forwarded-port')).toMatch(/^\d+$/);
  });
});

describe('for a trusted peer', () => {
  const trusting = { trusted_proxies: ['loopback'] };

  it.each([
    ['one line', ['X-Forwarded-For: 1.2.3.4'], ['1.2.3.4', '127.0.0.1']],
    ['two members', ['X-Forwarded-For: 1.2.3.4, 10.0.0.1'], ['1.2.3.4', '10.0.0.1', '127.0.0.1']],
    ['two lines', ['X-Forwarded-For: 1.2.3.4', 'X-Forwarded-For: 10.0.0.1'], ['1.2.3.4', '10.0.0.1', '127.0.0.1']],
    ['none', [], ['127.0.0.1']],
  ])('X-Forwarded-For is appended to: %s', async (_name, fields, expected) => {
    const { backend, port } = await start(trusting);
    await ask(port, get('/v1/x', ...fields));
    expect(membersOf(backend.request, 'x-forwarded-for')).toEqual(expected);
  });

  it.each([
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Host', 'public.test'],
  ])('%s of the first hop comes first', async (name, value) => {
    const { backend, port } = await start(trusting);
    await ask(port, get('/v1/x', `${name}: ${value}`));
    expect(membersOf(backend.request, name)[0]).toBe(value);
  });

  it('Forwarded passes', async () => {
    const { backend, port } = await start(trusting);
    await ask(port, get('/v1/x', 'Forwarded: for=1.2.3.4'));
    expect(membersOf(backend.request, 'forwarded')[0]).toBe('for=1.2.3.4');
  });

  it('a name with underscores cannot replace one of our fields', async () => {
    const { backend, port } = await start(trusting);
    await ask(port, get('/v1/x', 'X_Forwarded_For: evil'));
    expect(backend.request.raw).not.toContain('evil');
  });

  it('a peer outside of trusted_proxies is not trusted', async () => {
    const { backend, port } = await start({ trusted_proxies: ['10.0.0.0/8', '192.0.2.1/32'] });
    await ask(port, get('/v1/x', 'X-Forwarded-For: 1.2.3.4'));
    expect(valuesOf(backend.request, 'x-forwarded-for')).toEqual(['127.0.0.1']);
  });
});

describe('X-Forwarded-Prefix is the removed prefix', () => {
  it.each([
    ['/v1/x', 'strip', '/', ['/v1']],
    ['/v1/x', 'forward', '/', []],
    ['/api/v1/x', 'strip', '/api', ['/api/v1']],
    ['/api/v1/x', 'forward', '/api', ['/api']],
    ['/a/b/v1/x', 'strip', '/a/b', ['/a/b/v1']],
  ])('%s with %s below %s', async (target, prefix, base, expected) => {
    const { backend, port } = await start({ base_path: base }, prefix);
    await ask(port, get(target));
    expect(valuesOf(backend.request, 'x-forwarded-prefix')).toEqual(expected);
  });
});
