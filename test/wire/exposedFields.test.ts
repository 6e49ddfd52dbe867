import { describe, expect, it } from 'vitest';
import { type Answer, answer } from '../support/backend.ts';
import { refusedUrl } from '../support/gateway.ts';
import { ask, get } from '../support/rawClient.ts';
import { membersOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const now = '2026-08-01T00:00:00Z';
const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' };

const start = async (script: Answer, version: Record<string, unknown> = {}) => {
  const v2 = await refusedUrl();
  return startWire(script, { version: { ...dates, ...version }, routes: () => ({ '/v2': v2 }), now });
};

describe('Access-Control-Expose-Headers', () => {
  const exposed = ['deprecation', 'sunset', 'link'];

  it.each([
    ['none', [], exposed],
    ['some', ['Access-Control-Expose-Headers: X-A, X-B'], ['x-a', 'x-b', ...exposed]],
    ['some of ours', ['Access-Control-Expose-Headers: link, X-A'], ['x-a', ...exposed]],
    [
      'two lines',
      ['Access-Control-Expose-Headers: X-A', 'Access-Control-Expose-Headers: X-B'],
      ['x-a', 'x-b', ...exposed],
    ],
  ])('is extended if other origins may read the response: %s', async (_name, own, expected) => {
    const { port } = await start(answer(200, '', 'Access-Control-Allow-Origin: https://app.test', ...own));
    const response = await ask(port, get('/v1/x', 'Origin: https://app.test'));
    const names = membersOf(response, 'access-control-expose-headers').map((name) => name.toLowerCase());
    expect(names.toSorted()).toEqual(expected.toSorted());
  });

  // Fetch §3.2.5: with credentials `*` is no wildcard, so our names are added to it.
  it('keeps the * of the backend', async () => {
    const own = ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: *'];
    const { port } = await start(answer(200, '', ...own));
    const response = await ask(port, get('/v1/x', 'Origin: https://app.test'));
    expect(membersOf(response, 'access-control-expose-headers')).toContain('*');
  });

  it('is not added to a response without CORS fields', async () => {
    const { port } = await start(answer(200, ''));
    expect(valuesOf(await ask(port, get('/v1/x')), 'access-control-expose-headers')).toEqual([]);
  });

  it('of an active major is not changed', async () => {
    const own = ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: X-A'];
    const { port } = await start(answer(200, '', ...own), { deprecation: undefined, sunset: undefined });
    expect(membersOf(await ask(port, get('/v1/x')), 'access-control-expose-headers')).toEqual(['X-A']);
  });
});
