import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { anonymous } from '../../support/anonymous.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { fastLane } from '../../support/gateway.ts';
import { hostOf } from '../../support/hostOf.ts';
import { coverTenDays } from '../../support/ledgerWith.ts';
import { ask, connectTo, get } from '../../support/rawClient.ts';

let now = Date.parse('2026-11-18T12:00:00Z');
const clock = { now: () => now };

const keyField = (key: string) => `X-Api-Key: ${key}`;

/** The snapshot of an API whose backend accepts these keys, or all. It has a ledger of its own, of a host that served these `bases`. */
async function apiWith(
  basePath: string,
  accepted: readonly string[] | 'all',
  bases: readonly string[] = [],
): Promise<Snapshot> {
  const { url } = await startBackend(({ raw }) => {
    const isAccepted = accepted === 'all' || accepted.some((key) => raw.includes(key));
    return answer(isAccepted ? 200 : 401, 'ok');
  });
  const snapshot = snapshotFrom(
    {
      routes: { '/v1': { upstream: url, deprecation: '2026-01-01', sunset: '2027-06-30' }, '/v2': url },
      gateway: {
        ...{ listen: '127.0.0.1:0', admin: '127.0.0.1:0', base_path: basePath, self_service: 'on', ...fastLane },
        public_url: 'https://api.example.com',
      },
      usage: { tag_key: 'the same key in all gateways of this test' },
    },
    temporaryFolder(),
  );
  coverTenDays(snapshot.usage.store, clock.now(), [], bases);
  return snapshot;
}

async function start(snapshot: Snapshot) {
  const ledger = Ledger.open(snapshot.usage, { clock });
  const running = await startGateway(snapshot, { clock, ledger });
  onTestFinished(async () => {
    await running.close();
    await ledger.close();
  });
  return {
    call: async (path: string, key: string) => (await ask(running.port, get(path, keyField(key)))).status,
    /** Passes all counts to the ledger. */
    count: () => fetch(`http://127.0.0.1:${running.adminPort}/api/versions/v1/retirement`),
    /** All bytes of the answer to `/versions/me`. */
    me: async (base: string, key: string) => {
      const client = await connectTo(running.port);
      client.send(get(`${base}/versions/me`, keyField(key), 'X-Request-Id: id', 'Connection: close'));
      return anonymous((await client.closed()).leftover, running.port);
    },
  };
}

it('/versions/me of an API knows only the keys that this API has accepted, and only its own calls', async () => {
  // Anybody can call /open with any key, and so with the key of a client of /pay or of the root.
  const [root, open, pay] = [await apiWith('/', ['k-root']), await apiWith('/', 'all'), await apiWith('/', ['k-pay'])];
  const { call, count, me } = await start(hostOf(root, { '/open': open, '/pay': pay }));
  expect(await call('/v1/a', 'k-root')).toBe(200);
  expect(await call('/pay/v1/a', 'k-pay')).toBe(200);
  expect(await call('/pay/v1/b', 'k-guessed')).toBe(401);
  for (const key of ['k-root', 'k-pay', 'k-guessed']) expect(await call('/open/v1/o', key)).toBe(200);
  await count();

  const pathsIn = (body: string): string[] =>
    [...body.matchAll(/"route": "GET (\/\w+)"/g)].map(([, path]) => path ?? '');
  const seen: Record<string, unknown> = {};
  for (const base of ['', '/open', '/pay']) {
    // A network may ask ten times a minute.
    now += 60_000;
    for (const key of ['k-root', 'k-pay', 'k-guessed', 'k-unknown']) {
      const answered = await me(base, key);
      seen[`${base} ${key}`] = answered.includes(' 200 OK') ? pathsIn(answered) : answered.slice(9, 12);
    }
  }
  expect(seen).toEqual({
    ' k-root': ['/a'],
    ' k-pay': '403',
    ' k-guessed': '403',
    ' k-unknown': '403',
    '/open k-root': ['/o'],
    '/open k-pay': ['/o'],
    '/open k-guessed': ['/o'],
    '/open k-unknown': '403',
    '/pay k-root': '403',
    '/pay k-pay': ['/a'],
    '/pay k-guessed': '403',
    '/pay k-unknown': '403',
  });
});

it('/versions/me of an API answers as that of a gateway of its own', async () => {
  const own = await start(await apiWith('/pay', ['k-pay']));
  const host = await start(hostOf(await apiWith('/', 'all', ['/pay']), { '/pay': await apiWith('/', ['k-pay']) }));
  for (const key of ['k-pay', 'k-guessed']) {
    for (const gateway of [own, host])
      for (const path of ['/pay/v1/a', '/pay/v2/a', '/v1/x']) await gateway.call(path, key);
    await own.count();
    await host.count();
    expect(await host.me('/pay', key)).toBe(await own.me('/pay', key));
  }
  expect(await own.me('/pay', 'k-pay')).toContain('"url": "https://api.example.com/pay/v2"');
});
