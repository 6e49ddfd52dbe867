import { describe, expect, it } from 'vitest';
import { okAnswer, startBackend } from '../support/backend.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { singleValueOf } from '../support/response.ts';
import { startRestricted } from './restrictedGateway.ts';

const dates = { deprecation: '2027-01-01', sunset: '2027-06-01' };
const waivers = [{ client: 'acme', until: '2027-09-01', reason: 'contract 4711' }];
const acme = get('/v1/x', 'X-Client-Id: acme');
const other = get('/v1/x', 'X-Client-Id: other');

async function start(v1: object = {}, time = '2027-07-01T00:00:00Z') {
  const backend = await startBackend(okAnswer);
  const file = {
    routes: { '/v1': { upstream: backend.url, ...dates, retired: true, waivers, ...v1 }, '/v2': backend.url },
  };
  return { backend, file, gateway: await startRestricted(file, time) };
}

describe('a retired version with waivers', () => {
  it('serves the named client with the end of its waiver, and answers all others 410', async () => {
    const { gateway } = await start();
    const served = await ask(gateway.port, acme);
    expect(served.status).toBe(200);
    expect(singleValueOf(served, 'sunset')).toBe('Wed, 01 Sep 2027 00:00:00 GMT');
    expect(singleValueOf(served, 'deprecation')).toBe('@1798761600');
    expect(singleValueOf(served, 'vary')).toBe('x-client-id, x-api-key, user-agent');
    for (const bytes of [other, get('/v1/x')]) {
      const refused = await ask(gateway.port, bytes);
      expectProblem(refused, 410);
      expect(singleValueOf(refused, 'cache-control')).toBe('no-store');
      expect(singleValueOf(refused, 'sunset')).toBe('Tue, 01 Jun 2027 00:00:00 GMT');
    }
  });

  it('ends a waiver by the clock, to the millisecond', async () => {
    const { gateway } = await start();
    gateway.at('2027-08-31T23:59:59.999Z');
    expect((await ask(gateway.port, acme)).status).toBe(200);
    gateway.at('2027-09-01T00:00:00Z');
    const refused = await ask(gateway.port, acme);
    expectProblem(refused, 410);
    expect(singleValueOf(refused, 'cache-control')).toBe('max-age=60');
  });

  it('answers a preflight 204', async () => {
    const { gateway } = await start();
    const fields = ['Host: api.test', 'Origin: https://app.test', 'Access-Control-Request-Method: GET'];
    const preflight = await ask(gateway.port, message('OPTIONS /v1/x HTTP/1.1', ...fields));
    expect(preflight.status).toBe(204);
  });
});
