import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, randomBatch, randomOf, row, total } from '../model.ts';
import { openLedger } from './ledgerFixture.ts';

describe('a ledger that cannot be written', () => {
  it('keeps the counts until its folder can be created', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'kept'), 'in the way');
    const { ledger, store, clock, notices } = openLedger({ store: join(folder, 'kept', 'usage.db') });
    expect(ledger.problem).toBe(
      `${store} cannot be written: a part of its path is not a folder.  Counts are kept in memory until it can be.`,
    );
    for (let turn = 0; turn < 20; turn++) ledger.add([row()]);
    ledger.maintain(noon);
    expect(ledger.waitingRows).toBe(1);
    // Once, not at every attempt.
    expect(notices).toEqual([ledger.problem]);
    expect([
      readLedger(ledger).totals(0),
      readLedger(ledger).series('day', 0),
      readLedger(ledger).coveredSince(),
    ]).toEqual([[], [], undefined]);
    rmSync(join(folder, 'kept'));
    clock.time += 60_000;
    ledger.add([row()]);
    expect([ledger.problem, ledger.waitingRows]).toEqual([undefined, 0]);
    ledger.add([row({ requests: 0 })]);
    expect(notices.slice(1)).toEqual([`${store} can be written again.`]);
    expect(readLedger(ledger).totals(0)).toMatchObject([{ requests: 21 }]);
    expect(readLedger(ledger).coveredSince()).toBe(noon);
  });

  it.runIf(process.getuid?.() !== 0)('says so of a folder that it may only read', () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    expect(openLedger({ store: join(folder, 'usage.db') }).ledger.problem).toContain('the permissions do not allow it');
    chmodSync(folder, 0o700);
  });

  it.runIf(process.platform === 'linux')('is quick to say so where no folder can be made', () => {
    const { ledger, notices } = openLedger({ store: '/proc/nope/usage.db' });
    ledger.add([row()]);
    expect(ledger.problem).toContain('/proc/nope/usage.db cannot be written: its folder cannot be created.');
    expect([ledger.waitingRows, notices]).toEqual([1, [ledger.problem]]);
  });

  it('waits while another process has locked it', () => {
    const { ledger, store } = openLedger();
    ledger.add([row()]);
    const other = new DatabaseSync(store);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    ledger.add([row()]);
    expect(ledger.problem).toContain('another process has locked it');
    // It can still be read.
    expect(readLedger(ledger).totals(0)).toMatchObject([{ requests: 1 }]);
    other.exec('ROLLBACK');
    // After one failure the next batch tries at once.
    ledger.add([]);
    expect(ledger.problem).toBeUndefined();
    expect(readLedger(ledger).totals(0)).toMatchObject([{ requests: 2 }]);
  });

  it('loses nothing while the disk is full', (context) => {
    const disk = smallDisk();
    if (disk === undefined) return context.skip('needs the right to mount a file system');
    const { ledger, store, clock } = openLedger({ store: join(disk, 'usage.db') });
    const random = randomOf(17);
    const rows = Array.from({ length: 60 }, (_one, n) =>
      randomBatch(random, 100, 30 * dayMs).map((one) => ({ ...one, client: `c${n}-${random(1_000)}` })),
    );
    for (const batch of rows) ledger.add(batch);
    expect(ledger.problem).toContain('the disk is full');
    expect(ledger.waitingRows).toBeGreaterThan(0);
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    clock.time += 60_000;
    ledger.add([]);
    expect([ledger.problem, ledger.waitingRows]).toEqual([undefined, 0]);
    const all = total(rows.flat(), 'requests');
    expect(
      readLedger(ledger)
        .totals(0)
        .reduce((sum, { requests }) => sum + requests, 0),
    ).toBe(all);
    // A rolled-back name must not lose its requests.
    const byName = ['v0', 'v1', 'v2'].flatMap((version) => readLedger(ledger).byClient(version, 0));
    expect(byName.reduce((sum, { requests }) => sum + requests, 0)).toBe(all);
    expect(integrityOf(store)).toBe('ok');
  });

  it('is written again once the disk is writable', (context) => {
    const disk = smallDisk();
    if (disk === undefined) return context.skip('needs the right to mount a file system');
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    const { ledger, clock } = openLedger({ store: join(disk, 'usage.db') });
    ledger.add([row()]);
    expect(ledger.problem).toContain('the disk is read-only');
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    clock.time += 60_000;
    ledger.add([row()]);
    expect(ledger.problem).toBeUndefined();
    expect(readLedger(ledger).totals(0)).toMatchObject([{ requests: 2 }]);
  });

  it('is created again after the file was removed', () => {
    const { ledger, store, clock } = openLedger();
    ledger.add([row()]);
    for (const name of readdirSync(dirname(store))) rmSync(join(dirname(store), name));
    clock.time += hourMs;
    ledger.add([row({ client: 'b', first: noon + 2 * hourMs })]);
    expect(ledger.problem).toBeUndefined();
    const reader = LedgerReader.open(store);
    onTestFinished(() => reader.close());
    expect(reader.byClient('v1', 0)).toMatchObject([{ client: 'b', requests: 1 }]);
    // The time before the removal is no longer covered.
    expect(reader.coveredSince()).toBe(noon + hourMs);
  });
});

describe('a file that another program changes while it is open', () => {
  it.each([
    ['truncated', (store: string) => truncateSync(store, 0)],
    ['cut off', (store: string) => truncateSync(store, 12_288)],
    ['overwritten with text', (store: string) => writeFileSync(store, 'this is no database'.repeat(1_000))],
    ['overwritten in its middle', (store: string) => overwrite(store, 40_960, 8_192)],
    ['overwritten by another ledger', (store: string) => copyFileSync(openLedger().store, store)],
  ])('is renamed at the next write, and a new one is created: %s', (_name, change) => {
    const { ledger, store, clock, notices } = openLedger();
    ledger.add(randomBatch(randomOf(1), 400, 10 * dayMs));
    const { salt } = ledger;
    checkpoint(store);
    change(store);
    clock.time += hourMs;
    ledger.add([row({ client: 'new', first: clock.time })]);
    expect([ledger.problem, ledger.waitingRows, ledger.salt]).toEqual([undefined, 0, salt]);
    expect(readLedger(ledger).byClient('v1', 0)).toMatchObject([{ client: 'new' }]);
    expect(readLedger(ledger).coveredSince()).toBe(clock.time);
    expect(notices).toEqual([
      expect.stringMatching(/could not be used: .*\. {2}It was renamed to .*usage\.db\.corrupt-/),
    ]);
    expect(ledger.incident).toEqual({ at: clock.time, text: notices[0] });
    expect(readdirSync(dirname(store)).filter((name) => name.startsWith('usage.db.corrupt-'))).not.toEqual([]);
    expect(integrityOf(store)).toBe('ok');
  });

  it.each([
    ['removed', (store: string) => rmSync(store)],
    ['removed with its journal', (store: string) => ['', '-wal', '-shm'].map((suffix) => rmSync(store + suffix))],
    ['replaced', (store: string) => renameSync(closedLedger(), store)],
    ['left without its journal', (store: string) => rmSync(`${store}-wal`)],
  ])('is copied, and a new one is created: %s', (_name, change) => {
    const { ledger, store, clock, notices } = openLedger();
    ledger.add([row({ requests: 7 })]);
    change(store);
    clock.time += hourMs / 2;
    ledger.add([row({ client: 'new', first: clock.time })]);
    expect(ledger.problem).toBeUndefined();
    expect(
      readLedger(ledger)
        .byClient('v1', 0)
        .map(({ client }) => client),
    ).toContain('new');
    expect(readLedger(ledger).coveredSince()).toBe(clock.time);
    expect(notices).toEqual([expect.stringMatching(/was open when .* its counts were saved to .*usage\.db\.removed-/)]);
    const copy = readdirSync(dirname(store)).find((name) => name.startsWith('usage.db.removed-')) ?? '';
    const reader = LedgerReader.open(join(dirname(store), copy));
    expect(reader.totals(0)).toMatchObject([{ requests: 7 }]);
    reader.close();
    expect(integrityOf(store)).toBe('ok');
  });

  it('is unchanged after another program checkpointed the journal', () => {
    const { ledger, store, notices } = openLedger();
    for (let turn = 1; turn <= 5; turn += 1) {
      ledger.add([row()]);
      checkpoint(store);
    }
    ledger.add([row()]);
    expect([readLedger(ledger).totals(0)[0]?.requests, readLedger(ledger).coveredSince(), notices]).toEqual([
      6,
      noon,
      [],
    ]);
  });
});

describe('a damaged file', () => {
  it.each([
    [
      'text',
      (store: string) => writeFileSync(store, 'this is no database, and long enough to be read as one'.repeat(40)),
    ],
    ['cut off', (store: string) => writeFileSync(store, readFileSync(store).subarray(0, 5_000))],
    ['overwritten', (store: string) => writeSync(openSync(store, 'r+'), Buffer.alloc(60_000, 0xab), 0, 60_000, 4_096)],
  ])('is renamed when it is %s, and a new one is created', (_name, damage) => {
    const { ledger: before, store } = openLedger();
    before.add(randomBatch(randomOf(1), 300, 10 * dayMs));
    const { salt } = before;
    before.close();
    damage(store);
    const { ledger, notices } = openLedger({ store }, noon + dayMs);
    ledger.add([row({ first: noon + dayMs })]);
    expect(ledger.problem).toBeUndefined();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /usage\.db could not be used: (?:it is not a ledger|its content is damaged)\. {2}It was renamed to /,
    );
    expect(readdirSync(dirname(store))).toContain('usage.db.corrupt-2026-11-19T12-00-00-000Z');
    expect(readLedger(ledger).totals(0)).toMatchObject([{ requests: 1 }]);
    expect(salt).toHaveLength(32);
  });

  it('is renamed when it is damaged while it is open', () => {
    const { ledger, store, notices } = openLedger();
    ledger.add(randomBatch(randomOf(1), 2_000, 100 * dayMs));
    const { salt } = ledger;
    // Checkpoints the journal into the file.
    const other = new DatabaseSync(store);
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    other.close();
    writeSync(openSync(store, 'r+'), Buffer.alloc(300_000, 0xab), 0, 300_000, 4_096);
    for (let turn = 0; turn < 5; turn++) ledger.add([row({ client: `new-${turn}`, first: noon + turn })]);
    readLedger(ledger).byClient('v1', 0);
    ledger.add([row({ client: 'last', first: noon })]);
    expect(ledger.problem).toBeUndefined();
    expect(notices).toHaveLength(1);
    expect(
      readLedger(ledger)
        .byClient('v1', 0)
        .map(({ client }) => client),
    ).toContain('last');
    expect(ledger.salt).toBe(salt);
  });
});

describe('a file of another program or release', () => {
  it.each([
    ['another program’s', 'CREATE TABLE notes (text)', 'it belongs to another program'],
    [
      'a later release’s',
      'PRAGMA application_id = 0x5647554c; PRAGMA user_version = 99',
      'it was written by a later release',
    ],
  ])('is not changed: %s', (_name, sql, reason) => {
    const store = join(temporaryFolder(), 'usage.db');
    const other = new DatabaseSync(store);
    other.exec(sql);
    other.close();
    const before = readFileSync(store);
    const { ledger, notices } = openLedger({ store });
    ledger.add([row()]);
    expect(ledger.problem).toContain(reason);
    expect([ledger.waitingRows, notices]).toEqual([1, [ledger.problem]]);
    ledger.close();
    expect(readFileSync(store).equals(before)).toBe(true);
  });

  it.each([
    ['missing', () => {}, 'there is no such file'],
    ['a folder', (store: string) => mkdirSync(store), 'it is a folder'],
    ['text', (store: string) => writeFileSync(store, 'x'.repeat(5_000)), 'it is not a ledger'],
    ['empty', (store: string) => writeFileSync(store, ''), 'it is not a ledger'],
  ])('cannot be read: %s', (_name, make, reason) => {
    const store = join(temporaryFolder(), 'usage.db');
    make(store);
    expect(() => LedgerReader.open(store)).toThrow(reason);
  });
});

it('is intact after its process was killed while writing', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const script = `
    import { Ledger } from ${JSON.stringify(new URL('../../../gateway/usage/ledger/ledger.ts', import.meta.url).href)};
    const ledger = Ledger.open({ store: ${JSON.stringify(store)}, retention: 1e10 }, { clock: { now: () => ${noon} } });
    for (let turn = 0; ; turn++) {
      ledger.add(Array.from({ length: 100 }, (_one, n) => ({ version: 'v1', client: 'c' + ((turn * 100 + n) % 5000),
        route: 'GET /', hour: ${noon}, requests: 1, errors: 0, served: 1, failing: 0, refused: 0,
        first: ${noon}, last: ${noon}, used: ${noon} })));
      process.stdout.write('.');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let written = 0;
  child.stdout.on('data', (dots: Buffer) => {
    written += dots.length;
  });
  await eventually(() => expect(written).toBeGreaterThan(50), 10_000);
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(integrityOf(store)).toBe('ok');
  const [total] = readLedger(openLedger({ store }).ledger).totals(0);
  // Whole batches only; at most the last one is missing.
  expect((total?.requests ?? 0) % 100).toBe(0);
  expect(total?.requests).toBeGreaterThanOrEqual(written * 100);
  expect(total?.requests).toBeLessThanOrEqual((written + 2) * 100);
});

/** Checkpoints the journal into the file. */
function checkpoint(store: string): void {
  const other = new DatabaseSync(store);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.close();
}

function overwrite(store: string, from: number, length: number): void {
  const file = openSync(store, 'r+');
  writeSync(file, Buffer.alloc(length, 0xab), 0, length, from);
  closeSync(file);
}

function closedLedger(): string {
  const { ledger, store } = openLedger();
  ledger.close();
  return store;
}

function integrityOf(store: string): unknown {
  const database = new DatabaseSync(store);
  try {
    return database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  } finally {
    database.close();
  }
}

/** Mounts a file system of 256 KiB; undefined if mounting is not permitted. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}
