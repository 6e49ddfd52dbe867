import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { WaitingRows } from '../../../gateway/usage/ledger/waitingRows.ts';
import { otherClients } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { coveredSince, readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, randomBatch, randomOf, row, total } from '../model.ts';
import { integrityOf, openLedger } from './ledgerFixture.ts';

it('adds up rows of the same client, route and hour', () => {
  const unwrittenRows = new WaitingRows(10);
  const [one, two] = [
    row({ requests: 2, errors: 1, first: noon + 5 }),
    row({ requests: 3, first: noon + 1, last: noon + 9 }),
  ];
  unwrittenRows.keepOrFold([one]);
  unwrittenRows.keepOrFold([two]);
  expect(unwrittenRows.first(10).rows).toEqual([
    row({ requests: 5, errors: 1, served: 2, first: noon + 1, last: noon + 9 }),
  ]);
  // The caller's rows are not changed.
  expect(one.requests).toBe(2);
});

it('keeps apart what a brownout refused', () => {
  const unwrittenRows = new WaitingRows(10);
  unwrittenRows.keepOrFold([
    row({ requests: 2 }),
    row({ requests: 3, brownout: noon }),
    row({ requests: 4, brownout: noon }),
  ]);
  expect(unwrittenRows.first(10).rows).toMatchObject([{ requests: 2 }, { requests: 7, brownout: noon }]);
});

it('folds rows above the limit without losing requests', () => {
  const unwrittenRows = new WaitingRows(20);
  const rows = randomBatch(randomOf(2), 2_000, 5 * 3_600_000);
  unwrittenRows.keepOrFold(rows);
  const { rows: kept, remove } = unwrittenRows.first(1_000);
  // The maximum, and one row for each version and hour.
  expect(kept.length).toBeLessThanOrEqual(20 + 3 * 6);
  for (const what of ['requests', 'errors', 'served'] as const) expect(total(kept, what)).toBe(total(rows, what));
  remove();
  expect(unwrittenRows.size).toBe(0);
});

it('counts as moved only what was known by its client', () => {
  const full = new WaitingRows(0);
  expect(full.keepOrFold([row({ requests: 3 })])).toBe(3);
  expect(full.keepOrFold([row({ requests: 4, client: otherClients })])).toBe(0);
  expect(total(full.first(10).rows, 'requests')).toBe(7);
});

it('has not counted calls while a row of them waits, however many rows are written', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'kept'), 'in the way');
  const { ledger, store, clock } = openLedger({ store: join(folder, 'kept', 'usage.db') });
  const rows = Array.from({ length: 10_001 }, (_one, at) => row({ client: `client-${at}` }));
  ledger.add(rows, { process: 0, until: noon });
  rmSync(join(folder, 'kept'));
  clock.time += 60_000;
  // The first write has as many rows as fit.
  for (const [waiting, counted] of [
    [1, []],
    [0, [{ process: 0, until: noon }]],
  ]) {
    ledger.add([]);
    const database = new DatabaseSync(store, { readOnly: true });
    expect([ledger.unwrittenRows, database.prepare('SELECT * FROM counted').all()]).toEqual([waiting, counted]);
    database.close();
  }
});

it('knows since when rows have waited without a pause', () => {
  let now = 5;
  const unwrittenRows = new WaitingRows(20, () => now);
  const noRows = () => unwrittenRows.first(20).remove();
  expect(unwrittenRows.since).toBeUndefined();
  unwrittenRows.keepOrFold([]);
  expect(unwrittenRows.since).toBeUndefined();
  unwrittenRows.keepOrFold([row()]);
  now = 6;
  unwrittenRows.keepOrFold([row({ client: 'other' })]);
  expect(unwrittenRows.since).toBe(5);
  unwrittenRows.first(1).remove();
  expect(unwrittenRows.since).toBe(5);
  noRows();
  expect(unwrittenRows.since).toBeUndefined();
  unwrittenRows.keepOrFold([row()]);
  expect(unwrittenRows.since).toBe(6);
});

describe('a ledger that cannot be written', () => {
  it('keeps the counts until its folder can be created', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'kept'), 'in the way');
    const { ledger, store, clock, notices } = openLedger({ store: join(folder, 'kept', 'usage.db') });
    expect(ledger.problem).toBe(
      `${store} cannot be written: a part of its path is not a folder.  Counts are kept in memory until it can be.`,
    );
    for (let turn = 0; turn < 20; turn++) ledger.add([row()]);
    ledger.maintain(noon);
    expect(ledger.unwrittenRows).toBe(1);
    // One notice for all attempts.
    expect(notices).toEqual([ledger.problem]);
    expect([
      await readLedger(ledger).totals(0),
      await readLedger(ledger).series('day', 0),
      await coveredSince(readLedger(ledger)),
    ]).toEqual([[], [], undefined]);
    rmSync(join(folder, 'kept'));
    clock.time += 60_000;
    ledger.add([row()]);
    expect([ledger.problem, ledger.unwrittenRows]).toEqual([undefined, 0]);
    ledger.add([row({ requests: 0 })]);
    expect(notices.slice(1)).toEqual([`${store} can be written again.`]);
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 21 }]);
    expect(await coveredSince(readLedger(ledger))).toBe(noon);
  });

  it.runIf(process.getuid?.() !== 0)('reports a read-only folder', () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    expect(openLedger({ store: join(folder, 'usage.db') }).ledger.problem).toContain('the permissions do not allow it');
    chmodSync(folder, 0o700);
  });

  it.runIf(process.platform === 'linux')('reports at once that no folder can be created', () => {
    const { ledger, notices } = openLedger({ store: '/proc/nope/usage.db' });
    ledger.add([row()]);
    expect(ledger.problem).toContain('/proc/nope/usage.db cannot be written: its folder cannot be created.');
    expect([ledger.unwrittenRows, notices]).toEqual([1, [ledger.problem]]);
  });

  it('waits while another process has locked it', async () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    const other = new DatabaseSync(store);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    ledger.add([row()]);
    expect(ledger.problem).toContain('another process has locked it');
    // It can still be read.
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 1 }]);
    other.exec('ROLLBACK');
    // After one failure the next batch tries at once.
    ledger.add([]);
    expect(ledger.problem).toBeUndefined();
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 2 }]);
  });

  it('loses nothing while the disk is full', async (context) => {
    const disk = smallDisk();
    if (disk === undefined) return context.skip('this user may not mount file systems');
    const { ledger, store, clock } = openLedger({ store: join(disk, 'usage.db') });
    const random = randomOf(17);
    const rows = Array.from({ length: 60 }, (_one, n) =>
      randomBatch(random, 100, 30 * dayMs).map((one) => ({ ...one, client: `c${n}-${random(1_000)}` })),
    );
    for (const batch of rows) ledger.add(batch);
    expect(ledger.problem).toContain('the disk is full');
    expect(ledger.unwrittenRows).toBeGreaterThan(0);
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    clock.time += 60_000;
    ledger.add([]);
    expect([ledger.problem, ledger.unwrittenRows]).toEqual([undefined, 0]);
    const all = total(rows.flat(), 'requests');
    expect((await readLedger(ledger).totals(0)).reduce((sum, { requests }) => sum + requests, 0)).toBe(all);
    // A rolled-back name must not lose its requests.
    const byName = await Array.fromAsync(['v0', 'v1', 'v2'], (version) => readLedger(ledger).byClient(version, 0));
    expect(byName.flat().reduce((sum, { requests }) => sum + requests, 0)).toBe(all);
    expect(integrityOf(store)).toBe('ok');
  });

  it('is written again once the disk is writable', async (context) => {
    const disk = smallDisk();
    if (disk === undefined) return context.skip('this user may not mount file systems');
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    const { ledger, clock } = openLedger({ store: join(disk, 'usage.db') });
    ledger.add([row()]);
    expect(ledger.problem).toContain('the disk is read-only');
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    clock.time += 60_000;
    ledger.add([row()]);
    expect(ledger.problem).toBeUndefined();
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 2 }]);
  });

  it('is created again after the file was removed', async () => {
    const { ledger, store, clock } = openLedger();
    ledger.add([row()]);
    for (const name of readdirSync(dirname(store))) rmSync(join(dirname(store), name));
    clock.time += hourMs;
    ledger.add([row({ client: 'b', first: noon + 2 * hourMs })]);
    expect(ledger.problem).toBeUndefined();
    const reader = LedgerReader.open(store);
    onTestFinished(() => reader.close());
    expect(await reader.byClient('v1', 0)).toMatchObject([{ client: 'b', requests: 1 }]);
    // The time before the removal is no longer covered.
    expect(await coveredSince(reader)).toBe(noon + hourMs);
  });
});

/** Mounts a file system of 256 KiB; undefined if mounting is not permitted. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=384k', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}
