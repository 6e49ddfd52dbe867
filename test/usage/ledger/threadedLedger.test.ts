import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { hourMs, row } from '../model.ts';

const brokenWorker = new URL('brokenLedgerWorker.ts', import.meta.url);

async function open(options: { worker?: URL; overdueMs?: number; closeMs?: number } = {}) {
  const folder = temporaryFolder();
  const store = join(folder, 'usage.db');
  const notices: string[] = [];
  const settings = { store, retention: 1e10 };
  // Longer than the defaults: a busy machine must not cut a write off.
  const patient = { overdueMs: 60_000, closeMs: 60_000, ...options };
  const ledger = await ThreadedLedger.open(settings, (line) => void notices.push(line), patient);
  onTestFinished(() => ledger.close());
  const requests = async (): Promise<number> => {
    const reader = LedgerReader.open(store);
    const sum = (await reader.totals(0)).reduce((all, one) => all + one.requests, 0);
    reader.close();
    return sum;
  };
  return { folder, store, settings, notices, ledger, requests };
}

/** Rows of new clients. */
function newNames(count: number, prefix: string): UsageBatch {
  const first = Date.now() - hourMs;
  return Array.from({ length: count }, (_one, n) => row({ client: `${prefix}-${n}`, first }));
}

/** Makes the disk hang for `brokenLedgerWorker.ts`. Returns a function that ends it. */
function hang(folder: string): () => void {
  const pipe = join(folder, 'hangs');
  execFileSync('mkfifo', [pipe]);
  // A writer that writes nothing: the thread's read blocks until it is closed.
  const writer = openSync(pipe, 'r+');
  return () => {
    rmSync(pipe);
    closeSync(writer);
  };
}

it('has written all earlier batches once it is flushed', async () => {
  const { ledger, requests, notices } = await open();
  for (let turn = 0; turn < 20; turn += 1) ledger.add(newNames(1_000, `turn-${turn}`));
  // More batches than may be unanswered: the rest is added up in memory.
  expect(ledger.unwrittenRows).toBeGreaterThan(0);
  await ledger.flush();
  expect([await requests(), ledger.unwrittenRows, ledger.problem, notices]).toEqual([20_000, 0, undefined, []]);
});

it('writes everything before it closes, and accepts nothing afterwards', async () => {
  const { ledger, requests } = await open();
  for (let turn = 0; turn < 10; turn += 1) ledger.add(newNames(1_000, `turn-${turn}`));
  await ledger.close();
  ledger.add([row()]);
  await ledger.flush();
  expect(await requests()).toBe(10_000);
});

it('uses the salt of the file, and applies the settings of a reload', async () => {
  const { ledger, settings, store } = await open();
  ledger.add([row({ first: Date.now() - 30 * hourMs }), row({ first: Date.now() })]);
  ledger.configure({ ...settings, store: '/elsewhere', retention: hourMs });
  ledger.maintain(Date.now());
  await ledger.close();
  const again = await ThreadedLedger.open({ ...settings, retention: hourMs });
  expect([again.salt, again.settings.store]).toEqual([ledger.salt, store]);
  await again.close();
  const reader = LedgerReader.open(store);
  expect(await reader.totals(0)).toMatchObject([{ requests: 1 }]);
  reader.close();
});

it.each(['dies before it writes', 'dies after it wrote'])(
  'starts a new thread after one that %s, and counts everything once',
  async (what) => {
    const { folder, ledger, requests, notices } = await open({ worker: brokenWorker });
    ledger.add(newNames(10, 'before'));
    await ledger.flush();
    writeFileSync(join(folder, what), '');
    ledger.add(newNames(100, 'meanwhile'));
    await eventually(() =>
      expect(ledger.problem).toContain('The thread that writes the usage ledger ended: exit code 7'),
    );
    ledger.add(newNames(1_000, 'later'));
    rmSync(join(folder, what));
    await eventually(() => {
      ledger.add([]);
      expect(ledger.problem).toBeUndefined();
    });
    await ledger.flush();
    expect(await requests()).toBe(1_110);
    expect(notices).toEqual([expect.stringContaining('exit code 7'), 'The usage ledger is written again.']);
  },
);

it('a new thread does not close the run of another gateway', async () => {
  const { folder, store, settings, ledger } = await open({ worker: brokenWorker });
  ledger.add(newNames(10, 'before'));
  await ledger.flush();
  const other = Ledger.open(settings, { clock: systemClock, isShared: true });
  onTestFinished(() => other.close());
  writeFileSync(join(folder, 'dies after it wrote'), '');
  ledger.add(newNames(10, 'meanwhile'));
  await eventually(() => expect(ledger.problem).toContain('exit code 7'));
  rmSync(join(folder, 'dies after it wrote'));
  await eventually(() => {
    ledger.add([]);
    expect(ledger.problem).toBeUndefined();
  });
  const database = new DatabaseSync(store);
  onTestFinished(() => database.close());
  expect(database.prepare('SELECT closed FROM runs ORDER BY id').all()).toEqual([
    { closed: 1 },
    { closed: 0 },
    { closed: 0 },
  ]);
});

it.each([1, 2])(
  'does not forget that a process ended before it had counted its calls: %i threads end before it is written',
  async (ends) => {
    const { folder, store, ledger } = await open({ worker: brokenWorker });
    ledger.add(newNames(10, 'before'));
    await ledger.flush();
    // Nothing can be written.
    const other = new DatabaseSync(store);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    ledger.addLosses([], { process: 3, until: 0 });
    await eventually(() => expect(ledger.problem).toContain('another process has locked it'));
    for (let count = 0; count < ends; count += 1) {
      writeFileSync(join(folder, 'dies before it writes'), '');
      ledger.add([]);
      await eventually(() => expect(ledger.problem).toContain('exit code 7'));
      rmSync(join(folder, 'dies before it writes'));
      ledger.saveEvidence([]);
      await eventually(() => expect(ledger.problem).toContain('another process has locked it'));
    }
    other.exec('ROLLBACK');
    await eventually(() => {
      ledger.add([]);
      expect(ledger.problem).toBeUndefined();
    });
    expect(ledger.lastIncident?.text).toContain('Coverage restarts');
  },
);

it('reports that the disk hangs, and loses nothing if it recovers', async () => {
  const { folder, ledger, requests } = await open({ worker: brokenWorker, overdueMs: 100 });
  const comesBack = hang(folder);
  for (let turn = 0; turn < 8; turn += 1) ledger.add(newNames(100, `turn-${turn}`));
  await ledger.flush();
  await eventually(() => expect(ledger.problem).toMatch(/cannot be written: the disk has not answered for \d+ s/));
  // Also those that the thread has received.
  expect(ledger.unwrittenRows).toBe(800);
  comesBack();
  await eventually(async () => expect([ledger.problem, await requests()]).toEqual([undefined, 800]));
});

it('closes without waiting for a disk that hangs, and reports what is lost', async () => {
  const { folder, ledger, notices } = await open({ worker: brokenWorker, closeMs: 100 });
  const comesBack = hang(folder);
  ledger.add(newNames(100, 'a'));
  await ledger.close();
  expect(notices).toEqual([expect.stringContaining('was not written in time: 100 rows are lost')]);
  comesBack();
});
