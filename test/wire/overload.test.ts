import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { eventually, settled } from '../support/eventually.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, connectTo, get, post } from '../support/rawClient.ts';
import { singleValueOf } from '../support/response.ts';
import { startWire, waitingAt } from '../support/wire.ts';

/** A version with room for one request at a time. `client` has sent the first one. The backend answers it after `release`. */
async function startFull(limits: Record<string, unknown>) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const wire = await startWire(
    ({ target }) => [{ wait: target === '/first' ? promise : 0 }, { write: answer(200, target) }],
    { version: { deprecation: '2026-06-30', limits }, routes: (url) => ({ '/v2': url }) },
  );
  wire.client.send(get('/v1/first'));
  await eventually(() => expect(wire.backend.requests).toHaveLength(1));
  return { ...wire, release };
}

describe.each(['in_flight', 'in_flight_per_target'])('at the limit %s', (limit) => {
  it('a request waits for room, and is served', async () => {
    const { backend, port, adminPort, client, release } = await startFull({ [limit]: 1, queue: '60s' });
    const waiting = [await connectTo(port), await connectTo(port)];
    for (const [number, one] of waiting.entries()) one.send(get(`/v1/${number}`));
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(2));
    expect(backend.requests).toHaveLength(1);
    release();
    const answers = await Promise.all([client, ...waiting].map((one) => one.response()));
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, '/first'],
      [200, '/0'],
      [200, '/1'],
    ]);
    expect(backend.connections).toHaveLength(1);
  });

  it('a request that has waited too long gets 503, Retry-After and the lifecycle fields', async () => {
    const { port, client, release } = await startFull({ [limit]: 1, queue: '200ms' });
    const second = await ask(port, get('/v1/second'));
    expectProblem(second, 503);
    expect([singleValueOf(second, 'retry-after'), singleValueOf(second, 'deprecation')]).toEqual(['1', '@1782777600']);
    release();
    expect((await client.response()).body).toBe('/first');
    expect((await ask(port, get('/v1/third'))).body).toBe('/third');
  });

  it('a request gets 503 at once without a queue', async () => {
    const { port, client, release } = await startFull({ [limit]: 1, queue: 'off' });
    expectProblem(await ask(port, get('/v1/second')), 503);
    release();
    expect((await client.response()).body).toBe('/first');
  });

  it.each([
    ['a request', get('/v1/impatient'), ''],
    ['a request with a body', post('/v1/impatient', 'body').slice(0, -4), 'body'],
    ['a request with a part of its body', post('/v1/impatient', 'body').slice(0, -4), 'b'],
  ])('%s whose client disconnects in the queue is not forwarded', async (_name, head, body) => {
    const { backend, port, adminPort, client, release } = await startFull({ [limit]: 1, queue: '60s' });
    const impatient = await connectTo(port);
    impatient.send(head);
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(1));
    impatient.send(body);
    await settled(() => impatient.socket.bytesWritten);
    impatient.reset();
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(0));
    release();
    expect((await client.response()).status).toBe(200);
    expect((await ask(port, get('/v1/last'))).body).toBe('/last');
    expect(backend.requests.map((request) => request.target)).toEqual(['/first', '/last']);
  });

  it('another version is not delayed', async () => {
    const { port, client, release } = await startFull({ [limit]: 1, queue: '60s' });
    expect((await ask(port, get('/v2/other'))).body).toBe('/other');
    release();
    expect((await client.response()).body).toBe('/first');
  });
});
