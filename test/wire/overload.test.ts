import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, connectTo, get } from '../support/rawClient.ts';
import { singleValueOf } from '../support/response.ts';
import { startWire, waitingAt } from '../support/wire.ts';

/** A version with room for one request at a time, and a backend that takes `ms` for each. */
const start = (ms: number, limits: Record<string, unknown>) =>
  startWire(({ target }) => [{ wait: ms }, { write: answer(200, target) }], {
    version: { deprecation: '2026-06-30', limits },
    routes: (url) => ({ '/v2': url }),
  });

describe.each(['in_flight', 'in_flight_per_target'])('at the limit %s', (limit) => {
  it('a request waits for room, and is served', async () => {
    const { backend, port } = await start(100, { [limit]: 1, queue: '2s' });
    const answers = await Promise.all(['a', 'b', 'c'].map((path) => ask(port, get(`/v1/${path}`))));
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, '/a'],
      [200, '/b'],
      [200, '/c'],
    ]);
    expect(backend.connections).toHaveLength(1);
  });

  it('a request that has waited too long gets 503, Retry-After and the lifecycle fields', async () => {
    const { port } = await start(1000, { [limit]: 1, queue: '200ms' });
    const first = ask(port, get('/v1/first'));
    const second = await ask(port, get('/v1/second'));
    expectProblem(second, 503);
    expect([singleValueOf(second, 'retry-after'), singleValueOf(second, 'deprecation')]).toEqual(['1', '@1782777600']);
    expect((await first).body).toBe('/first');
    expect((await ask(port, get('/v1/third'))).body).toBe('/third');
  });

  it('a request gets 503 at once without a queue', async () => {
    const { backend, port } = await start(300, { [limit]: 1, queue: 'off' });
    const first = ask(port, get('/v1/first'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    expectProblem(await ask(port, get('/v1/second')), 503);
    await first;
  });

  it('a request whose client disconnects in the queue is not forwarded', async () => {
    const { backend, port, adminPort } = await start(1500, { [limit]: 1, queue: '10s' });
    const first = ask(port, get('/v1/first'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    const impatient = await connectTo(port);
    impatient.send(get('/v1/impatient'));
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(1));
    impatient.reset();
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(0));
    expect((await first).status).toBe(200);
    expect((await ask(port, get('/v1/last'))).body).toBe('/last');
    expect(backend.requests.map((request) => request.target)).toEqual(['/first', '/last']);
  });

  it('another version is not delayed', async () => {
    const { backend, port } = await start(300, { [limit]: 1, queue: '2s' });
    const first = ask(port, get('/v1/first'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    expect((await ask(port, get('/v2/other'))).body).toBe('/other');
    await first;
  });
});
