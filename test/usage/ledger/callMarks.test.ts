import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ignoredClientsOf } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { usageSinkOf } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { CallMarker, CallMarks } from '../../../gateway/usage/ledger/callMarks.ts';
import { claimLedger } from '../../../gateway/usage/ledger/file.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { markFileOf, readMarkFile, spareMarkFileOf } from '../../../gateway/usage/ledger/markFile.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { hostOf } from '../../support/hostOf.ts';
import { copyLedger } from '../../support/ledgerCopy.ts';
import { coverTenDays, row } from '../../support/ledgerWith.ts';

/** A gateway whose ledger covers the last ten days. */
function gateway() {
  const store = join(temporaryFolder(), 'usage.db');
  const marksFile = `${store}.calls`;
  const start = Date.now();
  const clock = { time: start, now: () => clock.time };
  const notices: string[] = [];
  let ledger: Ledger | undefined;
  let marker: CallMarker | undefined;
  coverTenDays(store, start);
  onTestFinished(() => {
    ledger?.close();
    rmSync(spareMarkFileOf(store), { force: true });
  });
  /** Starts another gateway with the same ledger. @returns a function that stops it */
  const startSecond = (): (() => void) => {
    const marks = CallMarks.open(store, clock.time);
    const second = Ledger.open({ store, retention: 400 * 86_400_000 }, { clock, marks, isShared: true });
    return () => second.close();
  };
  const run = (unmarked: readonly string[] = []): void => {
    clock.time += 1_000;
    const marks = CallMarks.open(store, clock.time, (line) => void notices.push(line));
    const onNotice = (line: string): void => void notices.push(line);
    ledger = Ledger.open({ store, retention: 400 * 86_400_000, unmarked }, { clock, marks, onNotice });
    marker = new CallMarker(marks.files, 0);
  };
  return {
    store,
    marksFile,
    notices,
    run,
    startSecond,
    pass: (ms: number): void => {
      clock.time += ms;
    },
    /** The process is killed, and with it what it had in memory. */
    kill: (): void => {
      const before = join(temporaryFolder(), 'usage.db');
      copyLedger(store, before);
      ledger?.close();
      marker?.close();
      copyLedger(before, store);
    },
    end: (): void => {
      ledger?.close();
      marker?.close();
    },
    configure: (unmarked: readonly string[]): void => {
      ledger?.configure({ ...ledger.settings, unmarked });
      ledger?.add([]);
    },
    /** A worker is killed just when it has marked calls. @returns the time */
    loseWorker: (...versions: readonly string[]): number => {
      if (!ledger?.marks) throw new Error('there is no run');
      const worker = new CallMarker(ledger.marks.files, 1);
      for (const version of versions) worker.mark(version, clock.time);
      worker.close();
      usageSinkOf(ledger, { clock }).onProcessEnd?.(1, false);
      return clock.time;
    },
    /** A call that is not counted yet. */
    call: (version: string, at = Date.now()): void => marker?.mark(version, at),
    count: (...versions: readonly string[]): void => {
      const rows = versions.map((version) => row(version, 'x-client-id:a', clock.time));
      ledger?.add(rows, { process: 0, until: marker?.last ?? 0 });
    },
    /** How many minutes until now the ledger covers of each version. */
    covered: async (versions = ['v1', 'v2']): Promise<Record<string, string>> => {
      const reader = LedgerReader.open(store);
      const since = async (version: string) => (await reader.coverage(version, 3_600_000)).since ?? 0;
      const words = async (version: string) =>
        (await since(version)) < start - 86_400_000 ? 'all' : 'since the start';
      const found: Record<string, string> = {};
      for (const version of versions) found[version] = await words(version);
      await reader.close();
      return found;
    },
  };
}

/** A host with one API that ignores these clients, or with another one below /orders that ignores its own. */
function ignoringIn(root: readonly string[], orders?: readonly string[]): Snapshot {
  const api = (clients: readonly string[]) =>
    snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, retire: { ignore_clients: clients } });
  return hostOf(api(root), orders ? { '/orders': api(orders) } : {});
}

it('a host with one API stores the ignored clients as they are', () => {
  expect(ignoredClientsOf(ignoringIn(['probe', 'x-client-id:a', 'probe']))).toEqual(['probe', 'x-client-id:a']);
});

/** As if the last gateway had been killed after its last write. */
function reopenLastRun(store: string): void {
  const database = new DatabaseSync(store);
  database.exec('UPDATE runs SET closed = 0 WHERE id = (SELECT MAX(id) FROM runs)');
  database.close();
}

const nothing = { v1: 'since the start', v2: 'since the start' };
const onlyV2 = { v1: 'since the start', v2: 'all' };
const everything = { v1: 'all', v2: 'all' };

describe('after kill -9', () => {
  it('only the versions with calls that were not counted lose their coverage', async () => {
    const one = gateway();
    one.run();
    one.call('v2');
    one.count('v2');
    one.call('v1');
    one.kill();
    one.run();
    expect(await one.covered()).toEqual(onlyV2);
    expect(one.notices).toEqual(['Calls of /v1 may be missing: the gateway ended before it had counted them.']);
    // The loss is recorded once.
    one.kill();
    one.run();
    expect(await one.covered()).toEqual(onlyV2);
    expect(one.notices).toHaveLength(1);
  });

  it.each<[string, (file: string) => void, RegExp]>([
    ['removed', (file) => rmSync(file), /^Calls may be missing/],
    ['cut short', (file) => truncateSync(file, 5_000), /usage\.db\.calls cannot be used: its content is damaged\./],
    ['empty', (file) => truncateSync(file, 0), /usage\.db\.calls cannot be used: its content is damaged\./],
    [
      'overwritten with other bytes',
      (file) => overwrite(file, 2_048, 'other bytes '),
      /cannot be used: its content is/,
    ],
    ['overwritten with zeros', (file) => overwrite(file, 1_024, '\0'), /cannot be used: its content is damaged\./],
    ['a folder', (file) => replaced(file, () => mkdirSync(file)), /cannot be used: it is a folder, not a file\./],
    [
      'a pipe',
      (file) => replaced(file, () => execFileSync('mkfifo', [file])),
      /cannot be used: it is a pipe, not a file\./,
    ],
  ])('all versions lose their coverage if the marks are %s', async (_name, harm, line) => {
    const one = gateway();
    one.run();
    one.call('v1');
    one.kill();
    harm(one.marksFile);
    one.run();
    expect(await one.covered()).toEqual(nothing);
    expect(one.notices).toContainEqual(expect.stringMatching(line));
    // The next marks can be used again.
    one.kill();
    one.run();
    expect(one.notices.filter((text) => text.includes('cannot be used')).length).toBeLessThan(2);
  });

  it.each(['while it runs', 'after its end'])('marks from a backup are not believed: restored %s', async (when) => {
    const one = gateway();
    one.run();
    const backup = temporaryFolder();
    cpSync(dirname(one.store), backup, { recursive: true, preserveTimestamps: true });
    const restore = (): void => {
      rmSync(one.marksFile);
      copyFileSync(join(backup, 'usage.db.calls'), one.marksFile);
    };
    one.call('v1');
    if (when === 'while it runs') restore();
    one.kill();
    if (when !== 'while it runs') restore();
    copyLedger(join(backup, 'usage.db'), one.store);
    one.run();
    expect(await one.covered()).toEqual(nothing);
  });

  it('marks that were copied over the present ones are not believed', async () => {
    const one = gateway();
    one.run();
    const backup = join(temporaryFolder(), 'calls');
    execFileSync('cp', ['-a', one.marksFile, backup]);
    one.call('v1');
    one.kill();
    // The time of the last change is within a second of the last mark otherwise.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    execFileSync('cp', ['-a', backup, one.marksFile]);
    one.run();
    expect(await one.covered()).toEqual(nothing);
  });

  it('marks are not believed that a second gateway has replaced, although it failed to start', async () => {
    const one = gateway();
    one.run();
    one.startSecond()();
    expect(await one.covered()).toEqual(everything);
    one.call('v1');
    one.kill();
    one.run();
    expect(await one.covered()).toEqual(nothing);
  });

  it('nothing is known while a second gateway counts, too', async () => {
    const one = gateway();
    one.run();
    const stopSecond = one.startSecond();
    expect(await one.covered()).toEqual(nothing);
    stopSecond();
    expect(await one.covered()).toEqual(everything);
  });

  it('a second gateway was killed, and the first one then ended cleanly', async () => {
    const one = gateway();
    one.run();
    one.startSecond()();
    reopenLastRun(one.store);
    one.pass(10_000);
    one.call('v1');
    one.count('v1');
    one.end();
    one.run();
    expect(await one.covered()).toEqual(nothing);
    expect(one.notices.join()).toMatch(/beside another gateway/);
  });

  it('a second gateway starts while calls of the first one are not counted yet', async () => {
    const one = gateway();
    one.run();
    one.call('v1');
    one.startSecond()();
    one.count('v1');
    one.end();
    one.run();
    expect(await one.covered()).toEqual(everything);
  });

  it('a worker that was killed has marked calls in the file that another one has replaced', async () => {
    const one = gateway();
    one.run();
    const copy = join(temporaryFolder(), 'calls');
    execFileSync('cp', ['-a', one.marksFile, copy]);
    renameSync(copy, one.marksFile);
    one.loseWorker();
    expect(await one.covered()).toEqual(nothing);
  });

  it('a call in the very millisecond in which a worker was killed is missing', async () => {
    const one = gateway();
    one.run();
    const killedAt = one.loseWorker('v1');
    const reader = LedgerReader.open(one.store);
    expect((await reader.coverage('v1', 3_600_000)).since).toBeGreaterThan(killedAt);
    await reader.close();
    expect(await one.covered()).toEqual(onlyV2);
  });

  it('a call counts as missing until the restart, because the clock may have been wrong when it was marked', async () => {
    const one = gateway();
    one.run();
    one.call('v1', Date.now() - 40 * 86_400_000);
    one.kill();
    one.run();
    expect(await one.covered()).toEqual(onlyV2);
  });

  it('all versions lose their coverage if a client counts now whose calls were not marked', async () => {
    const one = gateway();
    one.run(['probe', 'monitor']);
    one.kill();
    one.run(['monitor', 'probe', 'another']);
    expect(await one.covered()).toEqual(everything);
    one.kill();
    one.run(['monitor']);
    expect(await one.covered()).toEqual(nothing);
  });

  it('a client counts now for another API than before', async () => {
    const one = gateway();
    one.run(ignoredClientsOf(ignoringIn(['probe'], [])));
    one.kill();
    one.run(ignoredClientsOf(ignoringIn(['probe'], ['probe'])));
    expect(await one.covered()).toEqual(everything);
    one.configure(ignoredClientsOf(ignoringIn([], ['probe'])));
    expect(await one.covered()).toEqual(nothing);
  });

  it('an API is removed whose clients were not marked: it may come back, and count them', async () => {
    const one = gateway();
    one.run(ignoredClientsOf(ignoringIn([], ['probe'])));
    one.kill();
    one.run(ignoredClientsOf(ignoringIn(['probe'])));
    expect(await one.covered()).toEqual(nothing);
  });

  it.each<[string, (one: ReturnType<typeof gateway>) => void]>([
    [
      'the gateway was killed before',
      (one) => {
        one.kill();
        one.run(['probe']);
      },
    ],
    ['a worker was killed that had marked no call', (one) => void one.loseWorker()],
  ])('a reload of such a client is noticed later, too: %s', async (_name, end) => {
    const one = gateway();
    one.run(['probe']);
    one.configure([]);
    one.configure(['probe']);
    expect(await one.covered()).toEqual(everything);
    end(one);
    expect(await one.covered()).toEqual(everything);
    one.configure(['probe', 'another']);
    expect(await one.covered()).toEqual(everything);
    one.configure(['another']);
    expect(await one.covered()).toEqual(nothing);
    expect(one.notices).toEqual([
      'Calls may be missing: a process ended before it had counted them, and retire.ignore_clients has changed since.',
    ]);
  });

  it('a ledger behind a symbolic link has the same marks and the same lock', () => {
    const one = gateway();
    const link = join(temporaryFolder(), 'usage.db');
    symlinkSync(one.store, link);
    expect(markFileOf(link)).toBe(markFileOf(one.store));
    const claim = claimLedger(one.store);
    onTestFinished(() => claim?.release());
    expect(claimLedger(link)).toBeUndefined();
  });

  it('a ledger from a backup lacks the calls that were marked later', async () => {
    const one = gateway();
    one.run();
    const backup = join(temporaryFolder(), 'usage.db');
    copyLedger(one.store, backup);
    one.call('v1');
    one.count('v1');
    one.end();
    copyLedger(backup, one.store);
    one.run();
    expect(await one.covered()).toEqual(onlyV2);
  });
});

describe('calls of versions of other APIs', () => {
  const ids = ['v1', 'orders/v1', 'orders/v2', 'shop/pay/v1'];
  const coveredExcept = (...missing: readonly string[]) =>
    Object.fromEntries(ids.map((id) => [id, missing.includes(id) ? 'since the start' : 'all']));
  const sizeOfTables = 1_024 * 1_101;

  it('cost only these versions their coverage', async () => {
    const one = gateway();
    one.run();
    one.call('v1');
    one.call('orders/v2');
    one.count('v1', 'orders/v2');
    one.call('orders/v1');
    one.call('shop/pay/v1');
    one.kill();
    one.run();
    expect(await one.covered(ids)).toEqual(coveredExcept('orders/v1', 'shop/pay/v1'));
    expect(one.notices).toEqual([
      'Calls of /orders/v1 may be missing: the gateway ended before it had counted them.',
      'Calls of /shop/pay/v1 may be missing: the gateway ended before it had counted them.',
    ]);
    // The losses are recorded once.
    one.kill();
    one.run();
    expect(one.notices).toHaveLength(2);
  });

  it('leave no trace in the file after the next start, so that an earlier release can read it', () => {
    const one = gateway();
    one.run();
    one.call('v1');
    expect(statSync(one.marksFile).size).toBe(sizeOfTables);
    one.call('orders/v1');
    expect(statSync(one.marksFile).size).toBeGreaterThan(sizeOfTables);
    one.kill();
    one.run();
    expect(statSync(one.marksFile).size).toBe(sizeOfTables);
  });

  it('are kept by a worker that gets the number of one that was killed', async () => {
    const one = gateway();
    one.run();
    one.loseWorker('orders/v1');
    one.loseWorker('orders/v2');
    const found = readMarkFile(one.marksFile)?.marks;
    expect(found?.map(({ process, version }) => [process, version])).toEqual([
      [1, 'orders/v1'],
      [1, 'orders/v2'],
    ]);
    expect(await one.covered(ids)).toEqual(coveredExcept('orders/v1', 'orders/v2'));
  });

  it.each([
    ['other bytes', 'other bytes '],
    ['an id that no version has', `${'\0'.repeat(6)}\x70\x42orders/`],
  ])('are not believed if their place has %s', async (_name, text) => {
    const one = gateway();
    one.run();
    one.call('orders/v1');
    one.kill();
    overwrite(one.marksFile, sizeOfTables, text, 128);
    one.run();
    expect(await one.covered(ids)).toEqual(coveredExcept(...ids));
  });

  it('are marked as calls of any version, if their id is too long or no place is left', () => {
    const store = join(temporaryFolder(), 'usage.db');
    const { files } = CallMarks.open(store, Date.now());
    const marker = new CallMarker(files, 0);
    const marked = () => readMarkFile(files.file)?.marks.map(({ version }) => version) ?? [];
    const long = `${'a'.repeat(118)}/v1`;
    marker.mark(long, 1);
    marker.mark(long.slice(1), 1);
    expect(marked()).toEqual(['', long.slice(1)]);
    // A scanner leaves half of the places to versions that are listed.
    const names = Array.from({ length: 600 }, (_, major) => marker.nameOfUnlisted(`orders/v${major}`));
    expect(names.filter((name) => name !== '')).toHaveLength(255);
    expect(marker.nameOfUnlisted('v7')).toBe('v7');
    expect(marker.nameOfUnlisted('v700')).toBe('');
    const again = new CallMarker(files, 0);
    for (let major = 0; major < 600; major += 1) again.mark(`shop/v${major}`, 1);
    const found = marked();
    expect([found.length, found.includes('shop/v510'), found.includes('shop/v511')]).toEqual([513, true, false]);
    marker.close();
    again.close();
  });

  it('are marked as calls of any version, if a full disk has no room for a place', (context) => {
    const folder = temporaryFolder();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      return context.skip('this user may not mount file systems');
    }
    onTestFinished(() => void execFileSync('umount', ['-l', folder]));
    const store = join(folder, 'usage.db');
    const marks = CallMarks.open(store, Date.now());
    const marker = new CallMarker(marks.files, 0);
    expect(() => {
      for (let file = 0; ; file += 1) writeFileSync(join(folder, String(file)), Buffer.alloc(4096));
    }).toThrow('ENOSPC');
    // The last block of the tables has room for a few places.
    for (let major = 1; major <= 100; major += 1) marker.mark(`orders/v${major}`, Date.now());
    const marked = marks.of(0)?.map(({ version, at }) => [version, at]) ?? [];
    expect([marked.length > 100, marked[0]]).toEqual([false, ['', marker.last]]);
    marker.close();
  });
});

describe('after a clean end', () => {
  it('nothing is missing', async () => {
    const one = gateway();
    one.run();
    one.call('v1');
    one.count('v1');
    one.end();
    one.run();
    expect(await one.covered()).toEqual(everything);
    expect(one.notices).toEqual([]);
  });

  it('a folder from a backup, with its marks, is not believed', async () => {
    const one = gateway();
    one.run();
    one.end();
    const backup = join(temporaryFolder(), 'backup');
    execFileSync('cp', ['-a', dirname(one.store), backup]);
    one.run();
    one.call('v1');
    one.count('v1');
    one.end();
    // Like `cp -a backup/. folder/`: the files keep their inodes.
    for (const name of ['usage.db', 'usage.db.calls'])
      execFileSync('cp', ['-a', join(backup, name), join(dirname(one.store), name)]);
    one.run();
    expect(await one.covered()).toEqual(nothing);
    expect(one.notices).toEqual([
      'Calls may be missing: the file with the marks of calls was removed, damaged or replaced while the gateway was stopped.',
    ]);
  });

  it('a ledger of an earlier release, restored beside later marks, is not believed', async () => {
    const one = gateway();
    const backup = join(temporaryFolder(), 'usage.db');
    copyLedger(one.store, backup);
    one.run();
    one.call('v1');
    one.count('v1');
    one.end();
    copyLedger(backup, one.store);
    one.run();
    expect(await one.covered()).toEqual(nothing);
  });

  it('a folder from a backup is not believed after a restart of the machine either', async () => {
    const one = gateway();
    one.run();
    one.end();
    const folder = dirname(one.store);
    const backup = join(temporaryFolder(), 'backup');
    execFileSync('cp', ['-a', folder, backup]);
    one.run();
    one.call('v1');
    one.count('v1');
    one.end();
    rmSync(folder, { recursive: true });
    renameSync(backup, folder);
    restartMachine(one.store);
    one.run();
    expect(await one.covered()).toEqual(nothing);
  });

  it('a restart of the machine keeps the coverage', async () => {
    const one = gateway();
    one.run();
    one.call('v1');
    one.count('v1');
    one.end();
    restartMachine(one.store);
    one.run();
    expect(await one.covered()).toEqual(everything);
  });

  it('a folder that was renamed keeps its coverage', async () => {
    const one = gateway();
    one.run();
    one.end();
    const folder = dirname(one.store);
    renameSync(folder, `${folder}-elsewhere`);
    renameSync(`${folder}-elsewhere`, folder);
    one.run();
    expect(await one.covered()).toEqual(everything);
  });
});

describe('if the marks cannot be written beside the ledger', () => {
  it('they are written to the temporary folder, and the next start reads them there', async (context) => {
    const one = gateway();
    // The place of the file is taken by a folder that cannot be renamed.
    mkdirSync(one.marksFile);
    let isMounted = true;
    try {
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', one.marksFile], { stdio: 'ignore' });
    } catch {
      return context.skip('this user may not mount file systems');
    }
    const unmount = (): void => {
      if (isMounted) execFileSync('umount', [one.marksFile]);
      isMounted = false;
    };
    onTestFinished(unmount);
    one.run();
    expect(one.notices).toContainEqual(expect.stringContaining(`Calls are marked in ${spareMarkFileOf(one.store)}`));
    one.call('v1');
    one.kill();
    unmount();
    rmSync(one.marksFile, { recursive: true });
    one.run();
    expect(await one.covered()).toEqual(onlyV2);
    expect(existsSync(spareMarkFileOf(one.store))).toBe(false);
  });

  it('because the disk is full, the file of the run before is used, unless another program has changed it', async (context) => {
    const folder = temporaryFolder();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      return context.skip('this user may not mount file systems');
    }
    onTestFinished(() => void execFileSync('umount', ['-l', folder]));
    const store = join(folder, 'usage.db');
    onTestFinished(() => rmSync(spareMarkFileOf(store), { force: true }));
    const first = CallMarks.open(store, Date.now());
    const marker = new CallMarker(first.files, 0);
    marker.mark('v1', Date.now());
    marker.close();
    expect(() => {
      for (let file = 0; ; file += 1) writeFileSync(join(folder, String(file)), Buffer.alloc(4096));
    }).toThrow('ENOSPC');
    const { files, atStart } = CallMarks.open(store, Date.now());
    expect([files.file, atStart.own?.id]).toEqual([markFileOf(store), first.atStart.own?.id]);
    // Later than the kernel may have written the mark. As a backup that is copied into its place.
    await sleep(1_500);
    writeFileSync(files.file, readFileSync(files.file), { flag: 'r+' });
    const notices: string[] = [];
    const changed = CallMarks.open(store, Date.now(), (line) => void notices.push(line));
    expect([changed.files.file, existsSync(markFileOf(store))]).toEqual([spareMarkFileOf(store), false]);
    expect(notices.join()).toContain(`Calls are marked in ${spareMarkFileOf(store)}`);
  });
});

describe('a reader without the gateway', () => {
  const coveredAlone = async (store: string) => {
    const reader = LedgerReader.openAlone(store);
    const isCovered = async (version: string) =>
      ((await reader.coverage(version, 3_600_000)).since ?? 0) < Date.now() - 86_400_000;
    const found = { v1: await isCovered('v1'), v2: await isCovered('v2') };
    await reader.close();
    return found;
  };

  it('knows that calls are not counted yet, or never will be', async () => {
    const one = gateway();
    one.run();
    one.count();
    expect(await coveredAlone(one.store)).toEqual({ v1: true, v2: true });
    one.call('v1');
    expect(await coveredAlone(one.store)).toEqual({ v1: false, v2: true });
    one.kill();
    expect(await coveredAlone(one.store)).toEqual({ v1: false, v2: true });
  });

  it('knows that calls of a client that its gateway ignores are not marked', async () => {
    const store = join(temporaryFolder(), 'usage.db');
    coverTenDays(store);
    const probe = 'x-client-id:probe';
    const ledger = Ledger.open({ store, retention: 400 * 86_400_000, unmarked: [probe] }, { clock: Date });
    ledger.close();
    const reasonsFor = async (ignored: readonly string[]) => {
      const reader = LedgerReader.openAlone(store, undefined, ignored);
      const { losses } = await reader.coverage('v1', 3_600_000);
      await reader.close();
      return losses.map(({ reason }) => reason);
    };
    expect(await reasonsFor([probe, 'x-client-id:monitor'])).toEqual([]);
    expect(await reasonsFor([])).toEqual([
      'Calls may be missing: the ledger was last written with other retire.ignore_clients.',
    ]);
  });

  it('knows that calls of a client are not marked that another API counts', async () => {
    const store = join(temporaryFolder(), 'usage.db');
    coverTenDays(store);
    const unmarked = ignoredClientsOf(ignoringIn(['probe'], []));
    Ledger.open({ store, retention: 400 * 86_400_000, unmarked }, { clock: Date }).close();
    const lossesFor = async (host: Snapshot) => {
      const reader = LedgerReader.openAlone(store, undefined, ignoredClientsOf(host));
      const { losses } = await reader.coverage('v1', 3_600_000);
      await reader.close();
      return losses.length;
    };
    expect(await lossesFor(ignoringIn(['probe'], []))).toBe(0);
    expect(await lossesFor(ignoringIn(['probe'], ['probe']))).toBe(0);
    expect(await lossesFor(ignoringIn([], ['probe']))).toBe(1);
  });

  it('does not know when a ledger was written last whose clock was ahead', async () => {
    const store = join(temporaryFolder(), 'usage.db');
    coverTenDays(store, Date.now() + 4 * 3_600_000);
    const reader = LedgerReader.openAlone(store);
    const { since, losses } = await reader.coverage('v1', 86_400_000);
    await reader.close();
    expect(since).toBeGreaterThan(Date.now() - 60_000);
    expect(losses[0]?.reason).toMatch(
      /^The last write to this ledger is dated \S+Z, which is in the future: a clock was wrong\.$/,
    );
  });

  it('knows that a copy lacks the calls that came later', async () => {
    const one = gateway();
    one.run();
    const copy = join(temporaryFolder(), 'usage.db');
    copyLedger(one.store, copy);
    expect(await coveredAlone(copy)).toEqual({ v1: false, v2: false });
  });
});

/** Makes the ledger one whose last run ended before the last restart of the machine. */
function restartMachine(store: string): void {
  const database = new DatabaseSync(store);
  const edit = database.prepare(
    `UPDATE meta SET value = 'another-boot' || substr(value, 37) WHERE key IN ('marks', 'clock')`,
  );
  expect(edit.run().changes).toBe(2);
  database.close();
}

function replaced(file: string, make: () => void): void {
  rmSync(file);
  make();
}

function overwrite(file: string, at: number, text: string, length = 1_024): void {
  const content = readFileSync(file);
  content.fill(text, at, at + length, 'latin1');
  writeFileSync(file, content);
}
