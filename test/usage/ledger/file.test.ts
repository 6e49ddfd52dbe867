import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
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
import { coveredSince, readLedger } from '../../support/readLedger.ts';
import { dayMs, hourMs, noon, randomBatch, randomOf, row } from '../model.ts';
import { integrityOf, openLedger } from './ledgerFixture.ts';

describe('a file that another program changes while it is open', () => {
  it.each([
    ['truncated', (store: string) => truncateSync(store, 0)],
    ['cut off', (store: string) => truncateSync(store, 12_288)],
    ['overwritten with text', (store: string) => writeFileSync(store, 'this is no database'.repeat(1_000))],
    ['overwritten in its middle', (store: string) => overwrite(store, 40_960, 8_192)],
    ['overwritten by another ledger', (store: string) => copyFileSync(openLedger().store, store)],
  ])('is renamed at the next write, and a new one is created: %s', async (_name, change) => {
    const { ledger, store, clock, notices } = openLedger();
    ledger.add(randomBatch(randomOf(1), 400, 10 * dayMs));
    const { salt } = ledger;
    checkpoint(store);
    change(store);
    clock.time += hourMs;
    ledger.add([row({ client: 'new', first: clock.time })]);
    expect([ledger.problem, ledger.unwrittenRows, ledger.salt]).toEqual([undefined, 0, salt]);
    expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ client: 'new' }]);
    expect(await coveredSince(readLedger(ledger))).toBe(clock.time);
    expect(notices).toEqual([
      expect.stringMatching(/could not be used: .*\. {2}It was renamed to .*usage\.db\.corrupt-/),
    ]);
    expect(ledger.lastIncident).toEqual({ at: clock.time, text: notices[0] });
    expect(readdirSync(dirname(store)).filter((name) => name.startsWith('usage.db.corrupt-'))).not.toEqual([]);
    expect(integrityOf(store)).toBe('ok');
  });

  it.each([
    ['removed', (store: string) => rmSync(store)],
    ['removed with its journal', (store: string) => ['', '-wal', '-shm'].map((suffix) => rmSync(store + suffix))],
    ['replaced', (store: string) => renameSync(closedLedger(), store)],
    ['left without its journal', (store: string) => rmSync(`${store}-wal`)],
  ])('is copied, and a new one is created: %s', async (_name, change) => {
    const { ledger, store, clock, notices } = openLedger();
    ledger.add([row({ requests: 7 })]);
    change(store);
    clock.time += hourMs / 2;
    ledger.add([row({ client: 'new', first: clock.time })]);
    expect(ledger.problem).toBeUndefined();
    expect((await readLedger(ledger).byClient('v1', 0)).map(({ client }) => client)).toContain('new');
    expect(await coveredSince(readLedger(ledger))).toBe(clock.time);
    expect(notices).toEqual([expect.stringMatching(/was open when .* its counts were saved to .*usage\.db\.removed-/)]);
    const copy = readdirSync(dirname(store)).find((name) => name.startsWith('usage.db.removed-')) ?? '';
    const reader = LedgerReader.open(join(dirname(store), copy));
    expect(await reader.totals(0)).toMatchObject([{ requests: 7 }]);
    reader.close();
    expect(integrityOf(store)).toBe('ok');
  });

  it('is unchanged after another program checkpointed the journal', async () => {
    const { ledger, store, notices } = openLedger();
    for (let turn = 1; turn <= 5; turn += 1) {
      ledger.add([row()]);
      checkpoint(store);
    }
    ledger.add([row()]);
    expect([
      (await readLedger(ledger).totals(0))[0]?.requests,
      await coveredSince(readLedger(ledger)),
      notices,
    ]).toEqual([6, noon, []]);
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
  ])('is renamed when it is %s, and a new one is created', async (_name, damage) => {
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
    expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 1 }]);
    expect(salt).toHaveLength(32);
  });

  it('keeps its name if it cannot be renamed, and the problem says why', () => {
    const { ledger: before, store } = openLedger();
    before.close();
    writeFileSync(store, 'x'.repeat(5_000));
    mkdirSync(`${store}.corrupt-2026-11-19T12-00-00-000Z`);
    const { ledger } = openLedger({ store }, noon + dayMs);
    ledger.add([row({ first: noon + dayMs })]);
    expect(ledger.problem).toMatch(
      /usage\.db cannot be used: it is not a ledger\. {2}It cannot be renamed to .*usage\.db\.corrupt-2026-11-19T12-00-00-000Z: it is a folder\. {2}Counts are kept in memory/,
    );
    expect(ledger.unwrittenRows).toBe(1);
  });

  it('is renamed when it is damaged while it is open', async () => {
    const { ledger, store, notices } = openLedger();
    ledger.add(randomBatch(randomOf(1), 2_000, 100 * dayMs));
    const { salt } = ledger;
    // Checkpoints the journal into the file.
    const other = new DatabaseSync(store);
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    other.close();
    writeSync(openSync(store, 'r+'), Buffer.alloc(300_000, 0xab), 0, 300_000, 4_096);
    for (let turn = 0; turn < 5; turn++) ledger.add([row({ client: `new-${turn}`, first: noon + turn })]);
    await readLedger(ledger).byClient('v1', 0);
    ledger.add([row({ client: 'last', first: noon })]);
    expect(ledger.problem).toBeUndefined();
    expect(notices).toHaveLength(1);
    expect((await readLedger(ledger).byClient('v1', 0)).map(({ client }) => client)).toContain('last');
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
    expect([ledger.unwrittenRows, notices]).toEqual([1, [ledger.problem]]);
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
        first: ${noon}, last: ${noon}, used: ${noon}, accepted: 0 })));
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
  await eventually(() => expect(written).toBeGreaterThan(50));
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(integrityOf(store)).toBe('ok');
  const [total] = await readLedger(openLedger({ store }).ledger).totals(0);
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
