import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openFiles } from '../../bench/support/proc.ts';
import { cases } from '../support/cases.ts';
import { eventually } from '../support/eventually.ts';
import { sendWithoutReading, startGatewayProcess, startLoadedBackend } from './support.ts';

interface Abort {
  readonly request: string;
  /** The client aborts when this resolves. */
  readonly abortAfter: (client: Socket) => Promise<unknown>;
}

const get = (path: string) => `GET /v1/${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const aborts: readonly Abort[] = [
  { request: get('silent'), abortAfter: async () => {} },
  { request: get('silent'), abortAfter: () => sleep(5) },
  { request: get('half'), abortAfter: (client) => once(client.resume(), 'data') },
  {
    request: `POST /v1/silent HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n${'x'.repeat(999)}`,
    abortAfter: () => sleep(5),
  },
];
const total = cases(2_500, 20_000);
const concurrency = 100;

it(`releases connections and files of ${total} requests that their clients abort`, async () => {
  const requested = new Set<string>();
  const backend = await startLoadedBackend((req, res) => {
    requested.add(`${req.method} ${req.url}`);
    if (req.url === '/half') res.writeHead(200, { 'content-length': 2000 }).write('x'.repeat(1000));
    if (req.url === '/whole') res.end('ok');
  });
  const { port, pid } = await startGatewayProcess(backend.url, { timeouts: { keep_alive: '1s' } });
  await abortMany(port, 1000);
  await eventually(() => expect(backend.connections()).toBe(0));
  const before = await stableCount(() => openFiles(pid));

  await abortMany(port, total);

  await eventually(() => expect(backend.connections(), 'connections at the backend').toBe(0));
  expect((await stableCount(() => openFiles(pid))) - before, 'growth of open files').toBeLessThanOrEqual(0);
  expect([...requested].sort()).toEqual(['GET /half', 'GET /silent', 'POST /silent']);
  expect(await status(port), 'the target is not ejected because clients left').toBe(200);
});

async function abortMany(port: number, count: number): Promise<void> {
  const abortEvery = async (first: number): Promise<void> => {
    for (let number = first; number < count; number += concurrency) await abortOne(port, number);
  };
  await Promise.all(Array.from({ length: concurrency }, (_, first) => abortEvery(first)));
}

/** Ends half of the requests of each kind by FIN and half by RST. */
async function abortOne(port: number, number: number): Promise<void> {
  // Shifted by one in every round, so that each concurrent sequence contains all kinds.
  const kind = aborts[(number + Math.floor(number / concurrency)) % aborts.length];
  if (!kind) return;
  const client = await sendWithoutReading(port, kind.request);
  await Promise.race([kind.abortAfter(client), once(client, 'close')]);
  if (number % 8 < 4) client.destroy();
  else client.resetAndDestroy();
}

/** The count once it is stable for half a second: sockets to clients close slightly later than those to the backend. */
async function stableCount(count: () => number): Promise<number> {
  let last = count();
  for (let unchanged = 0; unchanged < 5; ) {
    await sleep(100);
    unchanged = count() === last ? unchanged + 1 : 0;
    last = count();
  }
  return last;
}

async function status(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/whole`);
  await response.arrayBuffer();
  return response.status;
}
