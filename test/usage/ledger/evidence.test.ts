import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { mostEvidenceRows } from '../../../gateway/usage/ledger/evidence.ts';
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
    declares: 'required → optional',
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
  ledger.saveEvidence(many('a', mostEvidenceRows - 10));
  ledger.saveEvidence([...many('b', 100)]);
  expect((await read(store)).map(({ hash }) => hash).filter((hash) => hash === 'a')).toEqual([]);
  ledger.saveEvidence(many('b', mostEvidenceRows + 500));
  const rows = await read(store);
  expect(rows).toHaveLength(mostEvidenceRows);
  expect(rows.find(({ path }) => path === '/99')).toMatchObject({ pairs: 20 });
  ledger.saveEvidence([evidence({ hash: 'b', path: '/0' }), evidence({ hash: 'b', path: '/new' })]);
  const later = await read(store);
  expect(later).toHaveLength(mostEvidenceRows);
  expect(later.find(({ path }) => path === '/0')).toMatchObject({ pairs: 30 });
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
  database.exec('DROP TABLE evidence; PRAGMA user_version = 7');
  database.close();
  const reader = LedgerReader.open(store);
  expect(await reader.evidence?.of('v1')).toEqual([]);
  expect(reader.problem).toBeUndefined();
  await reader.close();
  openLedger({ store }).ledger.saveEvidence([evidence()]);
  expect(await read(store)).toEqual([evidence()]);
});
