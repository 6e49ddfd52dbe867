import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get, type RawClient } from '../../support/rawClient.ts';
import { startWorkers } from './startWorkers.ts';

const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n';
const clients = 40;

async function startStreams() {
  const backend = await startBackend([{ write: events }]);
  const gateway = await startWorkers(2, { '/v1': backend.url }, { log: { access: 'off' } });
  const streams = await Promise.all(
    Array.from({ length: clients }, async (_one, number) => {
      const client = await connectTo(gateway.port);
      client.send(get('/v1/events', `X-Client-Id: reader-${number}`));
      await eventually(() => expect(client.pending).toContain('abc'));
      return client;
    }),
  );
  const counted = async (): Promise<number[]> => {
    const ledger = LedgerReader.open(join(gateway.folder, 'usage.db'));
    try {
      return (await ledger.byClient('v1', 0)).map(({ requests, served, errors }) => requests + served - errors);
    } finally {
      ledger.close();
    }
  };
  return { gateway, streams, counted };
}

const closed = (streams: readonly RawClient[]) => Promise.all(streams.map((client) => client.closed()));
const each = Array.from({ length: clients }, () => 2);

it('streams that are open when all workers are killed are in the ledger', async () => {
  const { gateway, streams, counted } = await startStreams();
  await eventually(async () => expect(await counted()).toEqual(each));
  for (const pid of await gateway.pids()) process.kill(pid, 'SIGKILL');
  await closed(streams);
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  expect(await counted()).toEqual(each);
});

it('streams that were counted while open are counted once, even if workers are replaced', async () => {
  const { gateway, streams, counted } = await startStreams();
  await eventually(async () => expect(await counted()).toEqual(each));
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  await closed(streams);
  const exit = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  expect(await counted()).toEqual(each);
});
