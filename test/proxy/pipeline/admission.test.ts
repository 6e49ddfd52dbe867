import { expect, it } from 'vitest';
import { startEditable } from '../../process/runtime/editableGateway.ts';
import { type Answer, answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { ask, get } from '../../support/rawClient.ts';
import { waitingAt } from '../../support/wire.ts';

const limits = { in_flight_per_target: 1, queue: '60s' };

/** A backend that holds back each response until its path is released. */
async function startHeld(held: Answer = answer(200, '')) {
  const releases = new Map<string, () => void>();
  const backend = await startBackend(({ target }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    releases.set(target, resolve);
    return [{ wait: promise }, ...(Array.isArray(held) ? held : [{ write: held as string }])];
  });
  return {
    url: backend.url,
    paths: () => backend.requests.map(({ target }) => target),
    release: (path: string) => releases.get(path)?.(),
  };
}

const waits = (adminPort: number, version: string, count: number) =>
  eventually(async () => expect(await waitingAt(adminPort, version)).toBe(count));

it.each([
  ['all targets', (one: string, _other: string) => one],
  ['one of two targets', (one: string, other: string) => [one, other]],
])('a request leaves its place to a waiting request of another version with %s in common', async (_what, upstream) => {
  const [shared, other] = [await startHeld(), await startHeld()];
  const { port, adminPort } = await startTestGateway({
    '/v1': { upstream: shared.url, limits },
    '/v2': { upstream: upstream(shared.url, other.url), limits: { ...limits, in_flight_per_target: 2 } },
  });
  const first = ask(port, get('/v2/a'));
  await eventually(() => expect(shared.paths()).toEqual(['/a']));
  const second = ask(port, get('/v1/b'));
  await waits(adminPort, 'v1', 1);
  shared.release('/a');
  await eventually(() => expect(shared.paths()).toEqual(['/a', '/b']));
  shared.release('/b');
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
});
it('a request goes on waiting if the request that leaves has made its target unusable', async () => {
  const [healthy, failing] = [await startHeld(), await startHeld([{ reset: true }])];
  const { port, adminPort } = await startTestGateway({
    '/v1': {
      upstream: [failing.url, healthy.url],
      limits,
      retries: { attempts: 1 },
      health: { passive_failures: 1 },
    },
  });
  const answers = [ask(port, get('/v1/a')), ask(port, get('/v1/b'))];
  await eventually(() => expect([...failing.paths(), ...healthy.paths()].toSorted()).toEqual(['/a', '/b']));
  answers.push(ask(port, get('/v1/c')));
  await waits(adminPort, 'v1', 1);
  const [failingPath = ''] = failing.paths();
  const [path = ''] = healthy.paths();
  failing.release(failingPath);
  await eventually(async () =>
    expect(await Promise.race([answers[failingPath === '/a' ? 0 : 1], 0])).toMatchObject({ status: 502 }),
  );
  expect(await waitingAt(adminPort)).toBe(1);
  healthy.release(path);
  await eventually(() => expect(healthy.paths()).toContain('/c'));
  healthy.release('/c');
  expect((await Promise.all(answers)).map(({ status }) => status).toSorted()).toEqual([200, 200, 502]);
});

it('waiting requests use a limit that a reload has raised, at once', async () => {
  const held = await startHeld();
  const version = (in_flight: number) => ({ '/v1': { upstream: held.url, limits: { in_flight, queue: '60s' } } });
  const { gateway, edit, url } = await startEditable(version(1));
  const answers = ['a', 'b', 'c'].map((name) => fetch(`${url}/v1/${name}`));
  await waits(gateway.adminPort, 'v1', 2);
  edit(version(2));
  await gateway.reload('file');
  await eventually(() => expect(held.paths()).toHaveLength(2));
  const [first = ''] = held.paths();
  held.release(first);
  await eventually(() => expect(held.paths()).toHaveLength(3));
  for (const path of held.paths()) held.release(path);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
});
