import { expect, it } from 'vitest';
import { answer } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, connectTo, get, post } from '../../support/rawClient.ts';
import { waitingAt } from '../../support/wire.ts';
import { type ServedSettings, startServed } from './servedVersion.ts';

/** A version and the backend of its source, which holds back each response until `release` is called with its query. */
async function startHeld(settings: ServedSettings) {
  const releases = new Map<string, () => void>();
  const { port, adminPort, backend } = await startServed(({ target }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    releases.set(target, resolve);
    return [{ wait: promise }, { write: answer(200, '') }];
  }, settings);
  return {
    port,
    paths: () => backend.requests.map(({ target }) => target),
    ask: (version: string, name: string) => ask(port, get(`/${version}/export?${name}`)),
    reached: (...names: string[]) =>
      eventually(() =>
        expect(backend.requests.map(({ target }) => target)).toEqual(names.map((one) => `/export?${one}`)),
      ),
    waiting: (version: string, count: number) =>
      eventually(async () => expect(await waitingAt(adminPort, version)).toBe(count)),
    release: (name: string) => releases.get(`/export?${name}`)?.(),
    releaseAll: () => {
      for (const release of releases.values()) release();
    },
  };
}

const queue = '60s';

it.each([
  ['v1', 'v2'],
  ['v2', 'v1'],
])('a request to %s leaves its target to a waiting request to %s', async (first, second) => {
  const source = { limits: { in_flight_per_target: 1, queue } };
  const held = await startHeld({ version: { limits: { queue } }, source });
  const answers = [held.ask(first, 'a')];
  await held.reached('a');
  answers.push(held.ask(second, 'b'));
  await held.waiting(second, 1);
  answers.push(held.ask(first, 'c'));
  await held.waiting(first, 1);
  held.release('a');
  await held.reached('a', 'b');
  held.release('b');
  await held.reached('a', 'b', 'c');
  held.release('c');
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

it('a waiting request whose version is at its own limit lets the other version pass', async () => {
  const source = { limits: { in_flight_per_target: 2, queue } };
  const held = await startHeld({ version: { limits: { in_flight: 1, queue } }, source });
  const answers = [held.ask('v1', 'a')];
  await held.reached('a');
  answers.push(held.ask('v2', 'b'));
  await held.reached('a', 'b');
  answers.push(held.ask('v1', 'c'));
  await held.waiting('v1', 1);
  answers.push(held.ask('v2', 'd'));
  await held.waiting('v2', 1);
  held.release('b');
  await held.reached('a', 'b', 'd');
  await held.waiting('v1', 1);
  held.release('a');
  await held.reached('a', 'b', 'd', 'c');
  held.release('c');
  held.release('d');
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

it('a request that waits for memory goes on waiting when a request to the other version leaves the target', async () => {
  // Only one body of this size fits.
  const held = await startHeld({ adapter: { body: '64MiB' }, version: { limits: { queue } } });
  const answers = [ask(held.port, get('/v1/drinks/1')), held.ask('v2', 'a')];
  await eventually(() => expect(held.paths()).toHaveLength(2));
  answers.push(ask(held.port, get('/v1/drinks/2')));
  await held.waiting('v1', 1);
  held.release('a');
  expect((await answers[1])?.status).toBe(200);
  await held.waiting('v1', 1);
  held.releaseAll();
  await eventually(() => expect(held.paths()).toContain('/cocktails/2'));
  held.releaseAll();
  // 503 would mean that a request was refused for lack of memory. The backend does not send JSON, so the adapter fails.
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([502, 200, 502]);
});

it('a request whose body is still arriving occupies its target', async () => {
  const held = await startHeld({
    version: { limits: { queue } },
    source: { limits: { in_flight_per_target: 1, queue } },
  });
  const uploads = await Promise.all([1, 2].map(() => connectTo(held.port)));
  const body = '{"name":"a"}';
  const [head, rest] = [post('/v1/drinks', body, 'Content-Type: application/json').slice(0, -1), body.slice(-1)];
  for (const client of uploads) client.send(head);
  await held.waiting('v1', 1);
  for (const client of uploads) client.send(rest);
  await eventually(() => expect(held.paths()).toHaveLength(1));
  held.releaseAll();
  await eventually(() => expect(held.paths()).toHaveLength(2));
  held.releaseAll();
  expect((await Promise.all(uploads.map((client) => client.response()))).map(({ status }) => status)).toEqual([
    200, 200,
  ]);
});
