import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { adapterRoutes, servedSnapshot } from '../../contracts/adapters/servedVersion.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { coverTenDays } from '../../support/ledgerWith.ts';
import { reasonsOf } from './candidates.ts';

type Adapter = Readonly<Record<string, unknown>>;

const drink = JSON.stringify({ title: 'Negroni', price: 9 });

/** A gateway that serves `/v1` by an adapter, with a ledger. `edit`: applies other settings of the adapter. */
async function startAdapted() {
  const backend = await startBackend(({ raw }) => {
    return answer(raw.startsWith('POST') ? 201 : 200, drink, 'Content-Type: application/json');
  });
  const usage = { store: join(temporaryFolder(), 'usage.db') };
  coverTenDays(usage.store);
  const snapshotWith = (adapter: Adapter): Snapshot => {
    const snapshot = servedSnapshot(backend.url, { adapter });
    return { ...snapshot, usage: { ...snapshot.usage, ...usage } };
  };
  let next = snapshotWith({});
  const ledger = await ThreadedLedger.open(next.usage);
  const gateway = await startGateway(next, { ledger, load: () => next });
  onTestFinished(async () => {
    await gateway.close();
    await ledger.close();
  });
  return {
    url: `http://127.0.0.1:${gateway.port}`,
    edit: (adapter: Adapter) => {
      next = snapshotWith(adapter);
      return gateway.reload('admin');
    },
  };
}

it('refuses a smaller body of an adapter by the bodies that the adapter changes, as the clients sent them', async () => {
  const { url, edit } = await startAdapted();
  const post = async (isChunked: boolean, spaces: number) => {
    // The adapter removes the spaces.
    const text = `{"name":"Negroni"${' '.repeat(spaces)}}`;
    const body = isChunked ? new Blob([text]).stream() : text;
    const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json' } };
    const response = await fetch(`${url}/v1/drinks`, init as RequestInit);
    await response.arrayBuffer();
    return [response.status, text.length];
  };
  expect(await post(false, 2000)).toEqual([201, 2018]);
  expect(await post(true, 3000)).toEqual([201, 3018]);
  const outcome = await edit({ body: 3017 });
  expect(reasonsOf(outcome)).toBe(
    '/v1 answers 413 to requests that it serves now, because adapter.body changes from 1 MiB to 3,017 bytes, and the largest body of the last 7 days was 3,018 bytes, at POST /drinks.',
  );
  expect((await edit({ body: 3018 })).kind).toBe('reloaded');
});

it('refuses to end a route of an adapter that is in use', async () => {
  const { url, edit } = await startAdapted();
  const get = async (path: string) => (await fetch(`${url}/v1${path}`)).status;
  expect([await get('/drinks/7'), await get('/search')]).toEqual([200, 410]);
  const without = (name: keyof typeof adapterRoutes) => ({ routes: { ...adapterRoutes, [name]: { gone: 'no' } } });
  const outcome = await edit(without('GET /drinks/{id}'));
  expect(outcome).toMatchObject({ kind: 'refused', refusals: [{ version: 'v1', known: true }] });
  expect(reasonsOf(outcome)).toBe(
    '/v1 answers 410 to requests that it serves now, because its adapter does not serve GET /drinks/{id} (1 in the last 7 days).',
  );
  // Nobody uses this route, and the other one is refused already.
  expect((await edit(without('GET /export'))).kind).toBe('reloaded');
});
