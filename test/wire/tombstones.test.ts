import { describe, expect, it } from 'vitest';
import { okAnswer, startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem, expectProblemHead } from '../support/problem.ts';
import { ask, connectTo, get, message, post } from '../support/rawClient.ts';
import { membersOf, type RawResponse, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const dates = { deprecation: '2024-06-30', sunset: '2025-06-30T23:59:59Z' };

const start = (v1: Record<string, unknown>, now = '2026-08-01T00:00:00Z') =>
  startWire(okAnswer, { routes: (url) => ({ '/v1': v1, '/v2': url }), now });

function expectGone(response: RawResponse): void {
  expect(response.status).toBe(410);
  expect(singleValueOf(response, 'deprecation')).toBe('@1719705600');
  expect(singleValueOf(response, 'sunset')).toBe('Mon, 30 Jun 2025 23:59:59 GMT');
  expect(valuesOf(response, 'link')).toContain('</v2/x>; rel="successor-version"');
  expect(singleValueOf(response, 'cache-control')).toBe('max-age=60');
}

describe('a retired major is 410 with its dates and its successor', () => {
  it.each([
    ['GET', get('/v1/x?q')],
    ['POST', post('/v1/x', 'hello')],
    ['OPTIONS', message('OPTIONS /v1/x HTTP/1.1', 'Host: api.test')],
    ['DELETE', message('DELETE /v1/x HTTP/1.1', 'Host: api.test')],
  ])('%s', async (_name, bytes) => {
    const { backend, port } = await start({ retired: true, ...dates });
    const response = await ask(port, bytes);
    expect(JSON.stringify(expectProblem(response, 410))).toContain('/v2');
    expectGone(response);
    expect(backend.bytes).toBe('');
  });

  it('has the guide to its successor in Link and body', async () => {
    const contract = 'test/versions/lifecycle/contracts/v1.json';
    const backend = await startBackend();
    const { port } = await startTestGateway(
      { '/v1': { retired: true, ...dates, contract, guide: true }, '/v2': { upstream: backend.url, contract } },
      { now: '2026-08-01T00:00:00Z', gateway: { public_url: 'https://h.example' } },
    );
    const response = await ask(port, get('/v1/x'));
    expect(expectProblem(response, 410)).toMatchObject({ info: 'https://h.example/guides/v1-to-v2' });
    expect(valuesOf(response, 'link')).toContain('</guides/v1-to-v2>; rel="deprecation"; type="text/html"');
  });

  it('HEAD', async () => {
    const { port } = await start({ retired: true, ...dates });
    const response = await ask(port, message('HEAD /v1/x HTTP/1.1', 'Host: api.test'));
    expectProblemHead(response, 410);
    expectGone(response);
  });

  it('without the dates if none are configured', async () => {
    const { port } = await start({ retired: true });
    const response = await ask(port, get('/v1/x'));
    expectProblem(response, 410);
    expect([...valuesOf(response, 'deprecation'), ...valuesOf(response, 'sunset')]).toEqual([]);
  });

  it('without waiting for the body of the request', async () => {
    const { port } = await start({ retired: true, ...dates });
    const client = await connectTo(port);
    client.send(post('/v1/x', 'a'.repeat(100_000)) + get('/v2/x'));
    expectProblem(await client.response('POST'), 410);
    // Either the body is skipped and the next request answered, or the connection is closed.
    await client.response().then(
      (response) => expect(response.body).toBe('ok'),
      () => client.closed(),
    );
  });
});

describe('after_sunset: gone', () => {
  it.each([
    ['2025-06-30T23:59:58Z', 200],
    ['2025-06-30T23:59:59Z', 410],
    ['2025-07-01T00:00:00Z', 410],
  ])('at %s is %i', async (now, status) => {
    const old = await startBackend();
    const { port } = await start({ upstream: old.url, after_sunset: 'gone', ...dates }, now);
    const response = await ask(port, get('/v1/x'));
    expect(response.status).toBe(status);
    if (status === 410) expectGone(response);
    expect(old.requests).toHaveLength(status === 200 ? 1 : 0);
  });
});

// Fetch §3.2: without these fields a script only gets a network error.
describe('for a browser of another origin', () => {
  it('a preflight to a tombstone is 204', async () => {
    const { port } = await start({ retired: true, ...dates });
    const fields = [
      'Origin: https://app.test',
      'Access-Control-Request-Method: PUT',
      'Access-Control-Request-Headers: x-a',
    ];
    const response = await ask(port, message('OPTIONS /v1/x HTTP/1.1', 'Host: api.test', ...fields));
    expect(response.status).toBe(204);
    expect(singleValueOf(response, 'access-control-allow-origin')).toBe('*');
    expect(membersOf(response, 'access-control-allow-methods').join()).toMatch(/PUT|\*/);
    expect(membersOf(response, 'access-control-allow-headers').join()).toMatch(/x-a|\*/i);
  });

  it.each([
    ['410', '/v1/x'],
    ['404', '/nothing'],
    ['400', '/v2/../x'],
  ])('a %s can be read', async (status, target) => {
    const { port } = await start({ retired: true, ...dates });
    const response = await ask(port, get(target, 'Origin: https://app.test'));
    expectProblem(response, Number(status));
    expect(singleValueOf(response, 'access-control-allow-origin')).toBe('*');
  });

  it('the warning of a 410 can be read', async () => {
    const { port } = await start({ retired: true, ...dates });
    const response = await ask(port, get('/v1/x', 'Origin: https://app.test'));
    const exposed = membersOf(response, 'access-control-expose-headers').map((name) => name.toLowerCase());
    expect(exposed).toEqual(expect.arrayContaining(['deprecation', 'sunset', 'link']));
  });

  it('without Origin there is no CORS', async () => {
    const { port } = await start({ retired: true, ...dates });
    expect((await ask(port, get('/v1/x'))).lines.join('\n')).not.toMatch(/^access-control-/im);
  });
});

it('an unknown version is 404 with the list of versions', async () => {
  const { port } = await start({ retired: true, ...dates });
  const problem = expectProblem(await ask(port, get('/v9/x')), 404);
  const versions = problem['versions'];
  expect(Array.isArray(versions)).toBe(true);
  expect(JSON.stringify(versions)).toContain('v2');
  expect(JSON.stringify(versions)).not.toContain('127.0.0.1');
});
