import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { type Answer, okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get } from '../../support/rawClient.ts';
import { startWorkers } from './startWorkers.ts';

const upgrade = ['Connection: Upgrade', 'Upgrade: echo'];
const halfAnswer = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';

const script: Answer = ({ raw }) => {
  if (raw.includes('/silent/')) return undefined;
  if (raw.includes('/half/')) return [{ write: halfAnswer }];
  return raw.includes('/tunnel/') ? [{ write: switching }, { take: () => {} }] : okAnswer;
};

async function startGateway() {
  const backend = await startBackend(script);
  const log = join(temporaryFolder(), 'access.log');
  const gateway = await startWorkers(
    2,
    { '/v1': backend.url },
    {
      log: { access: log },
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 2, drain: '500ms' },
    },
  );
  return { backend, gateway, log };
}

/** Opens `count` requests of each kind that never end by themselves, and waits until the backend has them all. */
async function openEach(count: number, { backend, gateway }: Awaited<ReturnType<typeof startGateway>>) {
  const before = backend.requests.length;
  const clients = await Promise.all(
    ['silent', 'half', 'tunnel'].flatMap((kind) =>
      Array.from({ length: count }, async (_one, number) => {
        const client = await connectTo(gateway.port);
        client.send(get(`/v1/${kind}/${number}`, ...(kind === 'tunnel' ? upgrade : [])));
        return { kind, client };
      }),
    ),
  );
  await eventually(() => expect(backend.requests).toHaveLength(before + 3 * count));
  return clients;
}

it('requests that a draining worker cuts off, or whose clients disconnect, are in the ledger and the log', async () => {
  const started = await startGateway();
  const { gateway, log } = started;
  const cut = await openEach(20, started);
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart of/);
  for (const { client } of cut.filter((_one, number) => number % 5 === 0)) client.reset();
  await gateway.printed(/rolling restart done/);
  for (const { client } of cut) await client.closed();

  await openEach(10, started);
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);

  const ledger = LedgerReader.open(join(gateway.folder, 'usage.db'));
  const routes = (await ledger.byRoute('v1', 0)).map(({ route, requests }) => [route, requests]);
  ledger.close();
  expect(routes.sort()).toEqual(['half', 'silent', 'tunnel'].map((kind) => [`GET /${kind}/{}`, 30]));
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  expect(lines).toHaveLength(90);
});

it('a client whose response can no longer arrive is answered 503', async () => {
  const started = await startGateway();
  const silent = (await openEach(5, started)).filter(({ kind }) => kind === 'silent');
  started.gateway.child.kill('SIGUSR2');
  for (const { client } of silent) expect((await client.response()).status).toBe(503);
});
