import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseConfig } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { evidenceHash } from '../../../gateway/contracts/shadow/compare/evidence.ts';
import { whyAdapterCannotServe } from '../../../gateway/contracts/shadow/report/report.ts';
import { prepareAdaptersAndGrease } from '../../../gateway/process/runtime/adapterCheck.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { EvidenceRow, UsageRow } from '../../../gateway/usage/usageRow.ts';
import { type NewServingAdapter, newServingAdapters } from '../../../gateway/versions/lifecycle/reloadGuard.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { coverTenDays, day, ledgerWith, row } from '../../support/ledgerWith.ts';

const now = Date.now();
const adapter: NewServingAdapter = {
  version: 'v1',
  contractDigest: 'one',
  fromContractDigest: 'two',
  hash: 'abc',
  pairs: 20,
  routes: ['GET /drinks', 'POST /drinks'],
};

function compared(pairs: number, more: Partial<EvidenceRow> = {}): EvidenceRow {
  const hash = evidenceHash(adapter.contractDigest, adapter.fromContractDigest, adapter.hash);
  const property = {
    route: 'GET /drinks',
    status: 200,
    path: '',
    what: 'pair',
    detail: 'body',
    oldListing: '',
    newListing: '',
  } as const;
  const counts = { pairs, oldMore: 0, newMore: 0, oldShare: pairs, newShare: pairs, first: now - day, last: now };
  return { version: 'v1', to: 'v1', kind: 'adapter', hash, ...property, ...counts, ...more };
}

// In each pair, only the first response has the field.
const optional = { oldListing: 'optional', newListing: 'optional' } as const;
const absent = { path: '/glass', what: 'value', detail: '', ...optional, oldMore: 20, newShare: 0 };
const invalid = { path: '/price', what: 'invalid', detail: 'type string', newMore: 1, oldShare: 0, newShare: 1 };

it.each<[name: string, used: Partial<UsageRow>[], rows: EvidenceRow[], missing: string | undefined]>([
  ['without use', [], [], undefined],
  ['with enough clean pairs', [{}], [compared(20)], undefined],
  ['with too few pairs', [{}], [compared(19)], 'GET /drinks has 19 of 20 comparisons'],
  ['without pairs', [{ route: 'HEAD /drinks' }], [], 'GET /drinks has 0 of 20 comparisons'],
  [
    'with an undeclared difference',
    [{}],
    [compared(20), compared(1, invalid)],
    'GET /drinks has 1 undeclared difference',
  ],
  [
    'with a difference between two responses of its own version, too',
    [{}],
    [compared(20), compared(20, absent), compared(20, { ...absent, kind: 'control' })],
    undefined,
  ],
  [
    'with controls of another adapter that differ',
    [{}],
    [compared(20), compared(20, absent), compared(20, { ...absent, kind: 'control', hash: 'other' })],
    'GET /drinks has 1 undeclared difference',
  ],
  ['with pairs of another adapter', [{}], [compared(20, { hash: 'other' })], 'GET /drinks has 0 of 20 comparisons'],
  ['with pairs of the shadow', [{}], [compared(20, { kind: 'shadow' })], 'GET /drinks has 0 of 20 comparisons'],
  ['with use of a POST route', [{ route: 'POST /drinks' }], [], undefined],
  ['with requests that only fail', [{ failing: 1, used: 0 }], [], undefined],
  // The guard names such routes with the requests that would be answered 410.
  ['with use of a route that is gone', [{ route: 'GET /old' }], [], undefined],
])('an adapter %s', async (_name, used, rows, missing) => {
  const { ledger, queries } = ledgerWith(
    used.map((one) => row('v1', 'a', now - day, one)),
    now - 10 * day,
  );
  ledger.saveEvidence(rows);
  expect(await whyAdapterCannotServe(queries, adapter, now - 3 * day)).toBe(missing);
});

it('names at most five routes', async () => {
  const routes = Array.from({ length: 7 }, (_one, index) => `GET /r${index}`);
  const { queries } = ledgerWith(
    routes.map((route) => row('v1', 'a', now - day, { route })),
    now - 10 * day,
  );
  const missing = await whyAdapterCannotServe(queries, { ...adapter, routes }, now - 3 * day);
  expect(missing).toMatch(/^(?:GET \/r\d has 0 of 20 comparisons, ){5}and 2 further routes$/);
});

it('a reload serves an adapter only after clean comparisons, or with a reason; a start only warns', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const text = readFileSync('examples/adapter.yaml', 'utf8').replace(/^usage:\n.*$/m, `usage: { store: ${store} }`);
  const load = async (content: string): Promise<Snapshot> => {
    const overrides = { listen: '127.0.0.1:0', admin: '127.0.0.1:0' };
    const { snapshot, faults } = await prepareAdaptersAndGrease(
      parseConfig(content, resolve('examples/adapter.yaml'), { env: {}, overrides }),
    );
    if (!snapshot) throw new Error(JSON.stringify(faults));
    return snapshot;
  };
  const off = text.replace('mode: serve', 'mode: shadow');
  const serving = await load(text);
  const [begun] = newServingAdapters(await load(off), serving);
  expect(begun).toMatchObject({ version: 'v1', pairs: 200, hash: expect.stringMatching(/^[0-9a-f]{12}$/) });
  expect(newServingAdapters(serving, serving)).toEqual([]);
  // A route that the adapter answers 410 cannot be compared.
  const [route = ''] = begun?.routes ?? [];
  const isGone = ({ method, path }: { readonly method: string; readonly path: string }) =>
    `${method} ${path}` === route;
  const adapted = serving.versions.get('v1');
  const routes = adapted?.adapter?.routes.map((one) => (isGone(one) ? { ...one, gone: 'ended' } : one));
  const withGone = {
    ...serving,
    sortedVersions: [{ ...adapted, adapter: { ...adapted?.adapter, routes } }],
  } as Snapshot;
  expect(newServingAdapters(await load(off), withGone)[0]?.routes).toEqual(begun?.routes.slice(1));

  coverTenDays(store, now);
  const ledger = Ledger.open({ store, retention: 400 * day }, { clock: { now: () => now } });
  ledger.add([row('v1', 'a', now - day, { route: 'GET /drinks/{id}' })]);
  ledger.close();
  let content = off;
  const start = async (snapshot: Snapshot, notice = (_line: string) => {}) => {
    const opened = await ThreadedLedger.open(snapshot.usage as Parameters<typeof ThreadedLedger.open>[0]);
    const gateway = await startGateway(snapshot, { load: () => load(content), ledger: opened, notice });
    const close = async (): Promise<void> => {
      await gateway.close();
      await opened.close();
    };
    return { ...gateway, ledger: opened, close };
  };
  const gateway = await start(await load(off));
  const reload = async (): Promise<{ kind: string; refusals?: { message: string }[] }> =>
    (
      await fetch(`http://127.0.0.1:${gateway.adminPort}/api/reload`, {
        method: 'POST',
        body: '{}',
        // On a busy machine, a kept connection may be closed before the next reload.
        headers: { 'content-type': 'application/json', connection: 'close' },
      })
    ).json() as Promise<{ kind: string }>;
  content = text;
  expect((await reload()).refusals?.map(({ message }) => message)).toEqual([
    'The adapter of /v1 cannot serve clients yet: GET /drinks/{id} has 0 of 200 comparisons. Compare with adapter.mode: shadow first.',
  ]);
  const hash = evidenceHash(begun?.contractDigest, begun?.fromContractDigest, begun?.hash);
  gateway.ledger.saveEvidence([compared(200, { hash, route: 'GET /drinks/{id}' })]);
  await gateway.ledger.flush();
  expect(await reload()).toMatchObject({ kind: 'reloaded' });

  const changed = text.replace('has no search', 'lacks a search');
  expect(newServingAdapters(serving, await load(changed))).toHaveLength(1);
  content = changed;
  expect(await reload()).toMatchObject({ kind: 'refused' });
  content = `${changed}guard: { force: { "/v1": "a test" } }\n`;
  expect(await reload()).toMatchObject({ kind: 'reloaded', forced: ['/v1: a test'] });
  await gateway.close();

  const before = Ledger.open({ store, retention: 400 * day }, { clock: { now: () => Date.now() } });
  before.add([row('v1', 'a', now - day, { route: 'GET /legacy-search' })]);
  before.close();
  const lines: string[] = [];
  const again = await start(await load(changed), (line) => lines.push(line));
  await eventually(() =>
    expect(lines.join()).toContain('warning: The adapter of /v1 cannot serve clients yet: GET /drinks'),
  );
  await eventually(() =>
    expect(lines.join()).toContain('because its adapter does not serve GET /legacy-search (1 in the last 7 days).'),
  );
  await again.close();
});
