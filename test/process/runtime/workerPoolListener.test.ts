import cluster from 'node:cluster';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { WorkerPool } from '../../../gateway/process/runtime/workerPool.ts';
import { newTicketKeys } from '../../../gateway/proxy/pipeline/certificate.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { isResumed, makePair, newSession } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { startWorkers } from './startWorkers.ts';

it('while no worker runs, connections wait and are not refused', async () => {
  const backend = await startBackend(answer(200, 'ok'));
  const gateway = await startWorkers(2, { '/v1': backend.url });
  for (const round of [1, 2]) {
    for (const pid of await gateway.pids()) process.kill(pid, 'SIGKILL');
    const ask = () => fetch(`http://127.0.0.1:${gateway.port}/v1/x`, { headers: { connection: 'close' } });
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    expect([...new Set(answers.map(({ status }) => status))], `round ${round}`).toEqual([200]);
    // Wait for both workers, which the next round needs.
    await eventuallyTwo(gateway.pids);
  }
});

it('over TLS as well, and any worker can resume a session', async () => {
  const backend = await startBackend(answer(200, 'ok'));
  const folder = temporaryFolder();
  makePair(folder, 'api.test');
  const tls = { cert: join(folder, 'api.test.made.crt'), key: join(folder, 'api.test.made.key') };
  const gateway = await startWorkers(2, { '/v1': backend.url }, { gateway: { tls } });
  const session = await newSession(gateway.port);
  for (const pid of await gateway.pids()) process.kill(pid, 'SIGKILL');
  expect(await statusAt(gateway.port)).toBe(200);
  await eventuallyTwo(gateway.pids);
  expect(await resumed(gateway.port, session)).toBe(20);
});

it('new ticket keys apply in all workers, and in those that start later', async () => {
  const backend = await startBackend(answer(200, 'ok'));
  const folder = temporaryFolder();
  makePair(folder, 'api.test');
  const tls = { cert: join(folder, 'api.test.made.crt'), key: join(folder, 'api.test.made.key') };
  const snapshot = snapshotFrom({
    routes: { '/v1': backend.url },
    gateway: { listen: '127.0.0.1:0', drain: '1s', tls },
  });
  cluster.setupPrimary({ exec: gatewayMain, args: ['start'], execArgv: [] });
  const pool = new WorkerPool(snapshot, { clock: systemClock, notice: () => {}, logs: false });
  onTestFinished(() => pool.close());
  await pool.start(2);
  const former = await newSession(pool.port);
  await pool.rekey(newTicketKeys());
  const session = await newSession(pool.port);
  expect(await resumed(pool.port, former)).toBe(0);
  expect(await resumed(pool.port, session)).toBe(20);
  await pool.rollingRestart();
  expect(await resumed(pool.port, session)).toBe(20);
});

it('while the gateway drains, connections are refused', async () => {
  const backend = await startBackend(() => [{ wait: 3000 }, { write: answer(200, 'ok') }]);
  const gateway = await startWorkers(2, { '/v1': backend.url }, { gateway: { drain: '10m' } });
  const inFlight = fetch(`http://127.0.0.1:${gateway.port}/v1/slow`);
  await eventually(() => expect(backend.requests).toHaveLength(1));
  gateway.child.kill('SIGTERM');
  await gateway.printed(/version-gateway is stopping/);
  await refused(gateway.port);
  expect((await inFlight).status).toBe(200);
});

/** Connects repeatedly until connections are refused. */
async function refused(port: number): Promise<void> {
  let code: string | undefined;
  while (code !== 'ECONNREFUSED') {
    const socket = connectPlain(port, '127.0.0.1');
    code = await new Promise((resolve) => {
      socket.on('connect', () => resolve(undefined)).on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    socket.destroy();
  }
}

async function eventuallyTwo(pids: () => Promise<number[]>): Promise<void> {
  let count = 0;
  while (count !== 2) count = (await pids()).length;
}

/** How many of 20 new connections resume the session. */
async function resumed(port: number, session: Buffer): Promise<number> {
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => isResumed(port, session)));
  return outcomes.filter(Boolean).length;
}

async function statusAt(port: number): Promise<number | undefined> {
  const outgoing = request({ port, host: '127.0.0.1', path: '/v1/x', agent: false, rejectUnauthorized: false }).end();
  const [response] = await once(outgoing, 'response');
  response.resume();
  return response.statusCode;
}
