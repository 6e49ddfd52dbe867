import { describe, expect, it } from 'vitest';
import { AdapterState } from '../../../gateway/contracts/adapters/serving/versionAdapter.ts';
import { answer } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, connectTo, get, message } from '../../support/rawClient.ts';
import { valuesOf } from '../../support/response.ts';
import { startServed } from './servedVersion.ts';

const cocktail = answer(200, '{"title":"Mojito","price":9.5}', 'Content-Type: application/json');

describe('the memory of adapted bodies', () => {
  it('is taken before a response arrives, and is free after it', async () => {
    const held = Promise.withResolvers<void>();
    let isHeld = true;
    const { adminPort, backend, port } = await startServed(
      ({ target }) => (isHeld && target.endsWith('/1') ? [{ wait: held.promise }, { write: cocktail }] : cocktail),
      // Only one body of this size fits, and the size of the first body is not known.
      { adapter: { body: '64MiB' }, version: { limits: { queue: 'off' } } },
    );
    const first = await connectTo(port);
    first.send(get('/v1/drinks/1'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    const refused = await ask(port, get('/v1/drinks/2'));
    expect(expectProblem(refused, 503)['code']).toBe('OVERLOADED');
    expect(valuesOf(refused, 'retry-after')).toEqual(['1']);
    // Neither takes memory.
    expect((await ask(port, message('HEAD /v1/drinks/2 HTTP/1.1', 'Host: a'), 'HEAD')).status).toBe(200);
    expect((await ask(port, get('/v1/export'))).status).toBe(200);
    held.resolve();
    expect((await first.response()).status).toBe(200);
    await eventually(async () => expect((await ask(port, get('/v1/drinks/2'))).status).toBe(200));

    // A client that leaves frees its memory, too.
    isHeld = true;
    for (let round = 0; round < 3; round += 1) {
      const client = await connectTo(port);
      client.send(get('/v1/drinks/2'));
      client.reset();
    }
    await eventually(async () => expect((await ask(port, get('/v1/drinks/2'))).status).toBe(200));
    const status = (await (await fetch(`http://127.0.0.1:${adminPort}/api/status`)).json()) as {
      versions: { in_flight: number }[];
    };
    expect(status.versions[0]?.in_flight).toBe(0);
  });

  it('admits one body, and as many more as their latest size allows', () => {
    const state = new AdapterState(1000);
    expect(state.hasMemoryFor('a', 5000)).toBe(true);
    state.addBytes(5000, 0);
    expect(state.hasMemoryFor('a', 5000)).toBe(false);
    state.addBytes(-5000, 0);
    for (let round = 0; round < 20; round += 1) state.updateExpectedSize('a', 100, 5000);
    expect(state.expectedSizeOf('a', 5000)).toBeLessThan(110);
    for (let count = 0; state.hasMemoryFor('a', 5000) && count < 99; count += 1)
      state.addBytes(state.expectedSizeOf('a', 5000), 0);
    expect(state.hasMemoryFor('b', 100)).toBe(false);
    // Twice the limit, because the sizes are estimates.
    expect(state.addBytes(0, 900)).toBe(true);
    expect(state.addBytes(0, 1200)).toBe(false);
    expect(state.addBytes(0, -2100)).toBe(true);
    state.updateExpectedSize('a', 3000, 5000);
    expect(state.expectedSizeOf('a', 5000)).toBe(3000);
  });

  it('keeps the latest failure of each route', () => {
    const state = new AdapterState();
    state.onFailure('GET /a', '/x', 1);
    state.onFailure('GET /a', '/y', 2);
    expect(state.failures).toEqual([{ route: 'GET /a', count: 2, pointer: '/y', at: 2 }]);
  });
});
