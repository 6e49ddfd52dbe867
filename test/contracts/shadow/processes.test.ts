import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { runIn } from '../../process/cli/io.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually, settled } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { run } from '../../support/process.ts';
import { ask, get, post } from '../../support/rawClient.ts';
import { everything } from './shadowedGateway.ts';

/** Sends GETs, each on a new connection, so that all workers get some, and a few POSTs, until the test ends. */
function keepAsking(port: number) {
  const seen = { path: '/v1/a', answered: 0, failed: 0, posts: 0 };
  let isOver = false;
  const loop = async (client: number): Promise<void> => {
    for (let count = 1; !isOver; count += 1) {
      const isPost = count % 10 === 0;
      const field = `X-Client-Id: c${client}`;
      // A worker that is killed in the test loses its requests.
      const response = await ask(port, isPost ? post('/v1/posted', 'x', field) : get(seen.path, field)).catch(
        () => undefined,
      );
      if (response?.status === 200) seen.answered += 1;
      else seen.failed += 1;
      if (isPost) seen.posts += 1;
    }
  };
  const loops = Promise.all([1, 2, 3, 4].map(loop));
  const stop = async (): Promise<void> => {
    isOver = true;
    await loops;
  };
  onTestFinished(stop);
  return { seen, stop };
}

it('copies from all workers within one budget, and stops all of them for good', async () => {
  const json = answer(200, '{"a":1}', 'Content-Type: application/json');
  const [v1, v2] = await Promise.all([startBackend(json), startBackend(json)]);
  const routesWith = (shadow: object) => ({
    '/v1': { upstream: v1.url, shadow: { ...everything, rate: '10/s', ...shadow } },
    '/v2': v2.url,
  });
  const gateway = await startWorkers(2, routesWith({}));
  const admin = gateway.admin.replace('http://', '');
  const shadow = (...args: string[]) => runIn('.', ['shadow', ...args, '--admin', admin]);
  const since = performance.now();
  const { seen, stop } = keepAsking(gateway.port);
  const copies = (): number => v2.requests.length;

  // The budget holds, however many requests the workers get.
  await eventually(() => expect(copies()).toBeGreaterThan(20));
  expect(copies()).toBeLessThanOrEqual(10 * ((performance.now() - since) / 1000 + 0.05) + 1);

  // A worker that dies is replaced, and its successor takes samples.
  const [victim = 0] = await gateway.pids();
  process.kill(victim, 'SIGKILL');
  await gateway.printed(/has died and is replaced/);
  const afterCrash = copies();
  await eventually(() => expect(copies()).toBeGreaterThan(afterCrash + 3));

  const stopped = await shadow('stop', '/v1');
  // The command returns when no more copies are sent. One may still be on its way to the backend.
  expect([stopped.code, stopped.stdout]).toEqual([
    0,
    expect.stringMatching(/\n\n\/v1: the shadow to \/v2 is stopped\n$/),
  ]);
  seen.path = '/v1/stopped';
  expect(await shadow('stop', '/v1')).toMatchObject({ code: 2 });
  const { stdout } = await shadow('status');
  expect(stdout).toMatch(/\/v1 +\/v2 +stopped/);

  // It stays stopped over a reload that changes something else, over SIGUSR2, and over a restart.
  gateway.edit(routesWith({}), { log: { access: 'off' } });
  await gateway.printed(/reloaded/);
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  const requests = v1.requests.length;
  await eventually(() => expect(v1.requests.length).toBeGreaterThan(requests + 50));
  await stop();
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  await exit;

  const again = run(process.execPath, [gatewayMain, 'start', '--config', `${gateway.folder}/routes.yaml`]);
  const [, port] = await again.printed(/listens on https?:\/\/127\.0\.0\.1:(\d+)/);
  for (let count = 0; count < 20; count += 1) await ask(Number(port), get('/v1/stopped'));
  await settled(copies);
  expect(v2.requests.filter(({ raw }) => raw.includes('/stopped'))).toEqual([]);

  // A shadow with other settings counts as another shadow.
  gateway.edit(routesWith({ sample: '99%' }));
  await eventually(async () => {
    await ask(Number(port), get('/v1/again'));
    expect(v2.requests.at(-1)?.raw).toMatch(/^GET \/again /);
  });
  expect(seen.posts).toBeGreaterThan(10);
  expect(seen.answered).toBeGreaterThan(100);
  expect(v2.requests.filter(({ raw }) => !/^GET \/(?:a|again) /.test(raw))).toEqual([]);
});
