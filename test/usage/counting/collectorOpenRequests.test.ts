import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import type { ClientUse } from '../../../gateway/usage/usageQueries.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { type Answer, okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get, message } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';
import { hourMs, noon } from '../model.ts';

const seconds = 1_000;
const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';

const script: Answer = ({ raw }) => {
  if (raw.includes('/events')) return [{ write: events }];
  if (raw.includes('/tunnel')) return [{ write: switching }, { take: () => {} }];
  return raw.includes('/silent') ? undefined : okAnswer;
};

/** A gateway whose clock is `clock.now`, with a ledger. */
async function start(settings: { readonly usage?: object; readonly v1?: object } = {}) {
  const clock = { now: noon };
  const source = { now: () => clock.now };
  const backend = await startBackend(script);
  const store = join(temporaryFolder(), 'usage.db');
  let count = 0;
  const snapshotOf = ({ usage = {}, v1 = {} } = settings) => {
    count += 1;
    return snapshotFrom({
      routes: { '/v1': { upstream: backend.url, ...v1 }, '/v2': backend.url },
      // An unchanged file would not be applied.
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: `${count}ms` },
      log: { access: 'off' },
      usage: { store, ...usage },
      retire: { quiet: '15s' },
      guard: { quiet: '15s' },
    });
  };
  const first = snapshotOf();
  const ledger = Ledger.open(first.usage, { clock: source });
  let next = first;
  const gateway = await startGateway(first, { ledger, clock: source, load: () => next });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  return {
    clock,
    backend,
    ledger,
    gateway,
    /** A client on its own connection that has requested `path` and received the start of the response. */
    open: async (path: string, begins = 'HTTP/1.1', ...fields: string[]) => {
      const client = await connectTo(gateway.port);
      const before = backend.requests.length;
      client.send(get(path, 'X-Client-Id: reader', ...fields));
      await eventually(() => expect(backend.requests.length).toBeGreaterThan(before));
      await eventually(() => expect(client.pending).toContain(begins));
      return client;
    },
    /** Applying a reload writes the counts. */
    write: async (other = settings) => {
      next = snapshotOf(other);
      return (await gateway.reload('admin')).kind;
    },
    inFlight: async () => {
      const status = await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`);
      const { versions } = (await status.json()) as { versions: { version: string; in_flight: number }[] };
      return versions.find(({ version }) => version === 'v1')?.in_flight;
    },
    canRetire: async () =>
      (await runIn('/', ['can-retire', '/v1', '--admin', `127.0.0.1:${gateway.adminPort}`])).stdout,
  };
}

const counts = ({ requests, errors, served, first, last }: ClientUse) => ({
  requests,
  errors,
  served,
  first: first - noon,
  last: last - noon,
});

it('an open stream is in the ledger in every hour, and is counted once', async () => {
  const { clock, ledger, open, write, inFlight } = await start();
  const used = async (since: number) => (await readLedger(ledger).byClient('v1', since)).map(counts);
  const client = await open('/v1/events', 'abc');
  clock.now += 5 * seconds;
  await write();
  expect(await used(0)).toEqual([{ requests: 1, errors: 0, served: 1, first: 0, last: 5 * seconds }]);
  clock.now = noon + 3 * hourMs + 1;
  await write();
  expect(await used(0)).toEqual([{ requests: 1, errors: 0, served: 1, first: 0, last: 3 * hourMs + 1 }]);
  expect(await used(noon + 3 * hourMs)).toMatchObject([{ requests: 0, errors: 0, last: 3 * hourMs + 1 }]);
  clock.now = noon + 5 * hourMs;
  client.reset();
  await expect.poll(inFlight).toBe(0);
  clock.now = noon + 6 * hourMs;
  await write();
  const [one] = await used(0);
  expect(one).toMatchObject({ requests: 1, errors: 0, served: 1, first: 0 });
  expect(one?.last).toBeGreaterThanOrEqual(5 * hourMs);
  expect(await readLedger(ledger).totals(0)).toMatchObject([{ version: 'v1', requests: 1 }]);
});

it.each([
  ['a tunnel', '/v1/tunnel', '101', { requests: 1, errors: 0, served: 1 }],
  ['an unanswered request', '/v1/silent', '', { requests: 1, errors: 1, served: 0 }],
])('%s is counted when it begins, and its outcome when it ends', async (_name, path, begins, expected) => {
  const { clock, ledger, open, write, inFlight } = await start();
  const client = await open(path, begins, 'Connection: Upgrade', 'Upgrade: echo');
  await write();
  expect((await readLedger(ledger).byClient('v1', 0)).map(counts)).toMatchObject([{ requests: 1, errors: 0, last: 0 }]);
  clock.now += 2 * hourMs;
  client.reset();
  await expect.poll(inFlight).toBe(0);
  await write();
  expect((await readLedger(ledger).byClient('v1', 0)).map(counts)).toMatchObject([
    { ...expected, first: 0, last: 2 * hourMs },
  ]);
});

it('an upload that has not ended is counted', async () => {
  const { ledger, backend, gateway, write } = await start();
  const client = await connectTo(gateway.port);
  client.send(message('POST /v1/upload HTTP/1.1', 'Host: a', 'X-Client-Id: writer', 'Content-Length: 9'));
  client.send('abc');
  await eventually(() => expect(backend.bytes).toContain('abc'));
  await write();
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([
    { client: 'x-client-id:writer', requests: 1, errors: 0 },
  ]);
  client.send('defghi');
  expect((await client.response('POST')).status).toBe(200);
  await write();
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ requests: 1, errors: 0, served: 1 }]);
});

it('a reload that identifies clients differently counts no request twice', async () => {
  const { clock, ledger, open, write, inFlight } = await start();
  const client = await open('/v1/events', 'abc');
  await write();
  await write({ usage: { identify: [] } });
  clock.now += 5 * seconds;
  await write({ usage: { identify: [] } });
  client.reset();
  await expect.poll(inFlight).toBe(0);
  await write({ usage: { identify: [] } });
  expect((await readLedger(ledger).byClient('v1', 0)).map((use) => [use.client, use.requests])).toEqual([
    ['x-client-id:reader', 1],
    ['unknown', 0],
  ]);
});

it('a version is not retired if a client closed its stream within the quiet period', async () => {
  const v1 = { deprecation: '2026-01-01', sunset: '2026-02-01' };
  const { clock, gateway, open, write, inFlight, canRetire } = await start({ v1 });
  const retired = { v1: { ...v1, retired: true, upstream: undefined } };
  const client = await open('/v1/events', 'abc');
  clock.now += 40 * seconds;
  await write();
  expect(await canRetire()).toMatch(/retired\?\s+no$/m);
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
  expect(metrics).toContain(
    `version_gateway_last_request_timestamp_seconds{version="v1"} ${(noon + 40 * seconds) / 1000}\n`,
  );
  client.reset();
  await expect.poll(inFlight).toBe(0);
  clock.now += 7 * seconds;
  expect(await write(retired)).toBe('refused');
  expect(await write()).toBe('reloaded');
  expect(await canRetire()).toMatch(/x-client-id:reader/);
  expect(await canRetire()).toMatch(/retired\?\s+no$/m);
  clock.now += 9 * seconds;
  expect(await canRetire()).toMatch(/retired\?\s+yes$/m);
  expect(await write(retired)).toBe('reloaded');
});

it('a stream that began before the hours of the quiet period counts as a request in them', async () => {
  const { clock, open, write, inFlight, canRetire } = await start({
    v1: { deprecation: '2026-01-01', sunset: '2026-02-01' },
  });
  const client = await open('/v1/events', 'abc');
  await write();
  clock.now += 2 * hourMs;
  client.reset();
  await expect.poll(inFlight).toBe(0);
  clock.now += 7 * seconds;
  await write();
  expect(await canRetire()).toMatch(/retired\?\s+no$/m);
  expect(await canRetire()).toMatch(/1 client made 1 request to \/v1 .* 100% of all: x-client-id:reader/);
});
