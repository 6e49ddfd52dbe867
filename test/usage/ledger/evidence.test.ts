import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { maxEvidenceRows } from '../../../gateway/usage/ledger/evidence.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { EvidenceRow } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { dayMs, noon } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

function evidence(part: Partial<EvidenceRow> = {}): EvidenceRow {
  const property = { route: 'GET /drinks', status: 200, path: '/price', what: 'value', detail: '' };
  const counts = { pairs: 10, oldMore: 1, newMore: 2, oldShare: 7.5, newShare: 6.25, first: noon - 1, last: noon };
  return {
    version: 'v1',
    to: 'v2',
    kind: 'shadow',
    hash: 'a',
    ...property,
    oldListing: 'required',
    newListing: 'optional',
    ...counts,
    ...part,
  };
}

async function read(store: string, version = 'v1'): Promise<readonly EvidenceRow[]> {
  const reader = LedgerReader.open(store);
  try {
    return (await reader.evidence?.of(version)) ?? [];
  } finally {
    await reader.close();
  }
}

it('adds up evidence, also over restarts', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const before = openLedger({ store }).ledger;
  before.saveEvidence([evidence()]);
  before.saveEvidence([evidence({ first: noon + 5, last: noon + 5 }), evidence({ kind: 'control' })]);
  before.close();
  const { ledger } = openLedger({ store });
  ledger.saveEvidence([evidence({ version: 'v3' }), evidence({ path: '/other' }), evidence()]);
  const rows = await read(store);
  const sum = { pairs: 30, oldMore: 3, newMore: 6, oldShare: 22.5, newShare: 18.75, first: noon - 1, last: noon + 5 };
  expect(rows).toHaveLength(3);
  expect(rows.find((row) => row.kind === 'shadow' && row.path === '/price')).toEqual(evidence(sum));
  expect(await read(store, 'v3')).toEqual([evidence({ version: 'v3' })]);
});

it('takes evidence in its thread', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const ledger = await ThreadedLedger.open({ store, retention: 400 * dayMs });
  ledger.saveEvidence([evidence()]);
  await ledger.flush();
  expect(await read(store)).toEqual([evidence()]);
  await ledger.close();
});

it('keeps the evidence of the present and of the former contracts', async () => {
  const { ledger, store } = openLedger();
  for (const [index, hash] of ['a', 'b', 'c'].entries()) ledger.saveEvidence([evidence({ hash, last: noon + index })]);
  ledger.saveEvidence([evidence({ hash: 'x', kind: 'drift', to: 'v1' })]);
  expect((await read(store)).map(({ hash }) => hash).toSorted()).toEqual(['b', 'c', 'x']);
});

it('keeps a bounded number of rows of a version, counts on what it has, and prefers the present contracts', async () => {
  const { ledger, store } = openLedger();
  const many = (hash: string, count: number): EvidenceRow[] =>
    Array.from({ length: count }, (_one, index) => evidence({ hash, path: `/${index}` }));
  ledger.saveEvidence(many('a', maxEvidenceRows - 10));
  ledger.saveEvidence([...many('b', 100)]);
  expect((await read(store)).map(({ hash }) => hash).filter((hash) => hash === 'a')).toEqual([]);
  ledger.saveEvidence(many('b', maxEvidenceRows + 500));
  const rows = await read(store);
  expect(rows).toHaveLength(maxEvidenceRows);
  expect(rows.find(({ path }) => path === '/99')).toMatchObject({ pairs: 20 });
  ledger.saveEvidence([evidence({ hash: 'b', path: '/0' }), evidence({ hash: 'b', path: '/new' })]);
  const later = await read(store);
  expect(later).toHaveLength(maxEvidenceRows);
  expect(later.find(({ path }) => path === '/0')).toMatchObject({ pairs: 30 });
});

it('makes room for a comparison by deleting former evidence, then whole routes of the largest other comparison', async () => {
  const { ledger, store } = openLedger();
  const many = (count: number, more: Partial<EvidenceRow>, routes = 1): EvidenceRow[] =>
    Array.from({ length: count }, (_one, index) =>
      evidence({ path: `/${index}`, route: `GET /${index % routes}`, last: noon + (index % routes), ...more }),
    );
  const drift = { kind: 'drift', to: 'v1', hash: 'd' } as const;
  const sizes = async () => {
    const byHash = Map.groupBy(await read(store), ({ hash }) => hash);
    return Object.fromEntries([...byHash].map(([hash, rows]) => [hash, rows.length]).toSorted());
  };
  ledger.saveEvidence(many(1_000, { ...drift, hash: 'former' }));
  ledger.saveEvidence(many(18_000, drift, 100));
  ledger.saveEvidence(many(900, { hash: 'b' }));
  expect(await sizes()).toEqual({ b: 900, d: 18_000, former: 1_000 });
  // The present evidence of another kind stays while there is former evidence.
  ledger.saveEvidence(many(500, { hash: 'b', path: '/more' }, 500));
  expect(await sizes()).toEqual({ b: 1_400, d: 18_000 });
  ledger.saveEvidence([...many(2_000, { hash: 'b', kind: 'control' }), ...many(1, { hash: 'b', path: '/last' })]);
  // Only whole routes are deleted, here with 180 rows each. Seven would not make enough room.
  expect(await sizes()).toEqual({ b: 3_401, d: 18_000 - 8 * 180 });
  const routes = new Set((await read(store)).filter(({ hash }) => hash === 'd').map(({ route }) => route));
  expect([routes.size, routes.has('GET /0'), routes.has('GET /99')]).toEqual([92, false, true]);
  // It takes no more than half.
  ledger.saveEvidence(many(9_000, { hash: 'b', path: '/many' }, 9_000));
  const { b = 0, d = 0 } = await sizes();
  expect(b + d).toBe(maxEvidenceRows);
  expect(d - b).toBeGreaterThanOrEqual(0);
  expect(d - b).toBeLessThan(360);
});

it('forgets evidence after the retention', async () => {
  const { ledger, store, clock } = openLedger({ retention: 30 * dayMs });
  ledger.saveEvidence([evidence({ last: noon - 40 * dayMs }), evidence({ path: '/kept' })]);
  ledger.maintain(clock.now());
  expect((await read(store)).map(({ path }) => path)).toEqual(['/kept']);
});

it('adds the table to a ledger of the release before', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  openLedger({ store }).ledger.close();
  const database = new DatabaseSync(store);
  database.exec('DROP TABLE evidence; DROP TABLE losses; DROP TABLE counted; ALTER TABLE runs DROP COLUMN closed');
  database.exec('DROP TABLE sizes; ALTER TABLE outbox_rows DROP COLUMN body');
  database.exec('ALTER TABLE outbox_rows DROP COLUMN target; ALTER TABLE outbox_rows DROP COLUMN head');
  database.exec('ALTER TABLE outbox DROP COLUMN losses; PRAGMA user_version = 7');
  database.close();
  const reader = LedgerReader.open(store);
  expect(await reader.evidence?.of('v1')).toEqual([]);
  expect(reader.problem).toBeUndefined();
  await reader.close();
  openLedger({ store }).ledger.saveEvidence([evidence()]);
  expect(await read(store)).toEqual([evidence()]);
});
