import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BackOff } from '../../../gateway/process/runtime/workerPool.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { run } from '../../support/process.ts';
import { type Load, load, startWorkers } from './startWorkers.ts';

/** Counts requests by target, and answers each one once `ready` is resolved. */
async function startCounting(ready: Promise<unknown> = Promise.resolve()) {
  const asked = new Map<string, number>();
  const server = createServer((req, res) => {
    const what = `${req.method} ${req.url}`;
    asked.set(what, (asked.get(what) ?? 0) + 1);
    void ready.then(() => res.end('ok'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('a port in use gives one clear line and exit code 1, in one process and with workers', async () => {
  const { port } = await startWorkers(1, { '/v1': 'http://127.0.0.1:1' });
  const other = run(process.execPath, [
    gatewayMain,
    'start',
    '--listen',
    `127.0.0.1:${port}`,
    '--config',
    'test/process/runtime/two-workers.yaml',
  ]);
  const [code] = await once(other.child, 'exit');
  expect([code, other.output()]).toEqual([
    1,
    expect.stringContaining(`127.0.0.1:${port} is in use by another process.`),
  ]);
});

/** Waits until each load has been answered again. */
async function answered(...loads: readonly Load[]): Promise<void> {
  const count = ({ seen }: Load): number => [...seen.values()].reduce((sum, each) => sum + each, 0);
  const before = loads.map(count);
  await eventually(() => {
    for (const [index, each] of loads.entries()) expect(count(each)).toBeGreaterThan((before[index] ?? 0) + 20);
  });
}

it('a rolling restart replaces every worker without failing or repeating a request', async () => {
  const backend = await startCounting();
  const gateway = await startWorkers(2, { '/v1': backend.url });
  const before = await gateway.pids();
  const gets = load(gateway.port, 8, '/v1/get');
  const posts = load(gateway.port, 4, '/v1/post', 'POST');
  await answered(gets, posts);
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  await answered(gets, posts);
  await Promise.all([gets.stop(), posts.stop()]);
  const after = await gateway.pids();
  expect(after).toHaveLength(2);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect([...gets.seen.keys(), ...posts.seen.keys()]).toEqual(['200', '200']);
  const repeated = [...backend.asked].filter(([what, times]) => what.startsWith('POST') && times > 1);
  expect(repeated).toEqual([]);
});

it('a worker that is killed is replaced, and no new connection is refused', async () => {
  const backend = await startCounting();
  const gateway = await startWorkers(2, { '/v1': backend.url });
  const [victim] = await gateway.pids();
  process.kill(victim as number, 'SIGKILL');
  for (let count = 0; count < 50; count += 1) {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } });
    expect(response.status).toBe(200);
  }
  await gateway.printed(/has died and is replaced/);
  let pids: number[] = [];
  const poll = setInterval(async () => {
    pids = await gateway.pids().catch(() => []);
  }, 50);
  onTestFinished(() => clearInterval(poll));
  await eventually(() => {
    expect(pids).toHaveLength(2);
    expect(pids).not.toContain(victim);
  });
});

it('an edit reaches every worker, and their counts are added', async () => {
  const released = Promise.withResolvers<void>();
  const backend = await startCounting(released.promise);
  const gateway = await startWorkers(3, { '/v1': backend.url });
  gateway.edit({ '/v1': { upstream: backend.url, deprecation: '2026-01-01' } });
  await gateway.printed(/active → deprecated/);
  const ask = () => fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } });
  const answers = Array.from({ length: 30 }, ask);
  await eventually(async () => {
    const status = (await (await fetch(`${gateway.admin}/api/status`)).json()) as { versions: { in_flight: number }[] };
    expect(status.versions[0]?.in_flight).toBe(30);
  });
  released.resolve();
  const fields = (await Promise.all(answers)).map(({ headers }) => headers.get('deprecation'));
  expect(new Set(fields)).toEqual(new Set(['@1767225600']));
});

it.each([1, 2])(
  'SIGTERM under load, %i workers: every accepted request is answered once, and the exit code is 0',
  async (workers) => {
    const backend = await startCounting();
    const gateway = await startWorkers(workers, { '/v1': backend.url });
    const gets = load(gateway.port, 8, '/v1/get');
    const posts = load(gateway.port, 4, '/v1/post', 'POST');
    await answered(gets, posts);
    const exit = once(gateway.child, 'exit');
    gateway.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    await Promise.all([gets.stop(), posts.stop()]);
    // Refused: the listener is closed. Any other error is a lost request.
    const outcomes = new Set([...gets.seen.keys(), ...posts.seen.keys()]);
    expect([...outcomes].filter((outcome) => outcome !== '200' && outcome !== 'ECONNREFUSED')).toEqual([]);
    expect(gets.seen.get('200')).toBeGreaterThan(0);
    const taken = [...gets.unaccepted, ...posts.unaccepted].filter((id) =>
      [...backend.asked.keys()].some((what) => what.endsWith(id)),
    );
    expect(taken).toEqual([]);
    expect([...backend.asked].filter(([what, times]) => what.startsWith('POST') && times > 1)).toEqual([]);
  },
);

it('a second signal ends the gateway at once', async () => {
  const backend = await startCounting(new Promise(() => {}));
  const gateway = await startWorkers(1, { '/v1': backend.url });
  const answer = fetch(`http://127.0.0.1:${gateway.port}/v1/x`).then(
    ({ status }) => status,
    (error: Error) => error.name,
  );
  await eventually(() => expect(backend.asked.size).toBe(1));
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  await gateway.printed(/is stopping/);
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  // Either the answer was still sent, or the connection was closed first.
  expect([503, 'TypeError']).toContain(await answer);
});

it('a single process reports that it has no rolling restart, and keeps serving', async () => {
  const backend = await startCounting();
  const gateway = await startWorkers(1, { '/v1': backend.url });
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/SIGUSR2 is ignored: .*gateway\.workers/);
  expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(200);
});

describe('the delay before a worker that died is replaced', () => {
  it.each([
    ['is zero after a long life', [60_000], [0]],
    ['is 100 ms after a short life', [50], [100]],
    ['doubles with each short life', [50, 50, 50, 50], [100, 200, 400, 800]],
    ['starts again after a long life', [50, 50, 10_000, 50], [100, 200, 0, 100]],
  ])('%s', (_name, lives, expected) => {
    const backOff = new BackOff();
    expect(lives.map((lived) => backOff.delayAfter(lived))).toEqual(expected);
  });

  it('is at most ten seconds', () => {
    const backOff = new BackOff();
    expect(Array.from({ length: 12 }, () => backOff.delayAfter(50)).at(-1)).toBe(10_000);
  });
});
