import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openFiles } from '../../bench/support/proc.ts';
import { eventually } from '../support/eventually.ts';
import { say, startGatewayProcess, startLoadedBackend } from './support.ts';

interface Abort {
  readonly request: string;
  /** What the client still waits for before it goes. */
  readonly moment: (client: Socket) => Promise<unknown>;
}

const get = (path: string) => `GET /v1/${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const aborts: readonly Abort[] = [
  { request: get('silent'), moment: async () => {} },
  { request: get('silent'), moment: () => sleep(5) },
  { request: get('half'), moment: (client) => once(client.resume(), 'data') },
  {
    request: `POST /v1/silent HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n${'x'.repeat(999)}`,
    moment: () => sleep(5),
  },
];
const total = 20_000;
const lanes = 100;

it('keeps no connection and no file of 20,000 requests that their clients gave up', async () => {
  const seen = new Set<string>();
  const backend = await startLoadedBackend((req, res) => {
    seen.add(`${req.method} ${req.url}`);
    if (req.url === '/half') res.writeHead(200, { 'content-length': 2000 }).write('x'.repeat(1000));
    if (req.url === '/whole') res.end('ok');
  });
  const { port, pid } = await startGatewayProcess(backend.url, { timeouts: { keep_alive: '1s' } });
  await abortMany(port, 1000);
  await eventually(() => expect(backend.connections()).toBe(0), 5_000);
  const before = await settled(() => openFiles(pid));

  await abortMany(port, total);

  await eventually(() => expect(backend.connections(), 'connections at the backend').toBe(0), 5_000);
  expect((await settled(() => openFiles(pid))) - before, 'growth of open files').toBeLessThanOrEqual(0);
  expect([...seen].sort()).toEqual(['GET /half', 'GET /silent', 'POST /silent']);
  expect(await status(port), 'clients that left are no fault of the target').toBe(200);
});

async function abortMany(port: number, count: number): Promise<void> {
  const lane = async (first: number): Promise<void> => {
    for (let number = first; number < count; number += lanes) await abortOne(port, number);
  };
  await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
}

/** Each kind ends by FIN as often as by RST. */
async function abortOne(port: number, number: number): Promise<void> {
  // Shifted by one every round of the lanes, or each lane would only ever know one kind.
  const kind = aborts[(number + Math.floor(number / lanes)) % aborts.length];
  if (!kind) return;
  const client = await say(port, kind.request);
  await Promise.race([kind.moment(client), once(client, 'close')]);
  if (number % 8 < 4) client.destroy();
  else client.resetAndDestroy();
}

/** Once it has not changed for half a second: the last clients' sockets close a moment after those of the backend. */
async function settled(count: () => number): Promise<number> {
  let last = count();
  for (let still = 0; still < 5; ) {
    await sleep(100);
    still = count() === last ? still + 1 : 0;
    last = count();
  }
  return last;
}

async function status(port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/whole`);
  await answer.arrayBuffer();
  return answer.status;
}
