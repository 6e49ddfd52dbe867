import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CallMarker, CallMarks, marksBeside } from '../../gateway/usage/ledger/callMarks.ts';
import { copyName } from '../../gateway/usage/ledger/file.ts';
import { readSpareMarkFile, spareMarkFileOf } from '../../gateway/usage/ledger/markFile.ts';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { okAnswer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { type Running, run } from '../support/process.ts';
import { openLedger } from '../usage/ledger/ledgerFixture.ts';
import { dayMs, row } from '../usage/model.ts';

// A failure during the repair of another one. The process must go on, and what it says must be true.

const isRoot = process.getuid?.() === 0;
// The system limits the threads of a user. Root has no such limit, so the process becomes a user of its own.
const user = 64_000 + (process.pid % 1_000);
const asUser = isRoot ? { uid: user, gid: user } : {};
const readSource = "fs.readFileSync('gateway/main.ts')";
const canLimit =
  process.platform === 'linux' &&
  [spawnSync('prlimit', ['--version'], asUser), spawnSync(process.execPath, ['-e', readSource], asUser)].every(
    ({ status }) => status === 0,
  );

const ledgerProgram = `
  import { once } from 'node:events';
  import { ThreadedLedger } from './gateway/usage/ledger/threadedLedger.ts';
  import { row } from './test/usage/model.ts';
  const { STORE, USER } = process.env;
  if (USER) process.setgid(Number(USER));
  if (USER) process.setuid(Number(USER));
  const settings = { store: STORE, retention: 1e10 };
  const worker = new URL('./test/usage/ledger/brokenLedgerWorker.ts', 'file://' + process.cwd() + '/');
  const ledger = await ThreadedLedger.open(settings, console.log, { worker, overdueMs: 600_000, closeMs: 600_000 });
  let count = 0;
  const alive = setInterval(() => {}, 60_000);
  process.on('SIGWINCH', () => {
    count += 1;
    ledger.add([row({ client: 'c' + count, first: Date.now() })]);
    console.log('added', count, ledger.problem);
  });
  process.on('SIGUSR2', async () => {
    await ledger.flush();
    console.log('flushed', ledger.unwrittenRows, ledger.problem);
  });
  process.on('SIGTERM', async () => {
    clearInterval(alive);
    await ledger.close();
    console.log('closed');
  });
  console.log('open', ledger.problem);
`;

/** Whether the process may start threads and processes. */
function allowProcesses({ child: { pid } }: Running, isAllowed: boolean): void {
  const [, hard] = /^Max processes +\S+ +(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
  const args = ['--pid', String(pid), `--nproc=${isAllowed ? hard : 1}:`];
  execFileSync('prlimit', args, asUser);
}

/** A folder of the user. */
function userFolder(): string {
  const folder = temporaryFolder();
  if (isRoot) chownSync(folder, user, user);
  return folder;
}

interface LedgerProcess extends Running {
  add(): Promise<void>;
  readonly store: string;
  /** If it exists, the thread that writes the ledger ends before it writes. */
  readonly deadly: string;
}

async function startLedger(): Promise<LedgerProcess> {
  const folder = userFolder();
  const [store, deadly] = [join(folder, 'usage.db'), join(folder, 'dies before it writes')];
  const running = run(process.execPath, ['-e', ledgerProgram], { STORE: store, USER: isRoot ? String(user) : '' });
  await running.printed(/open undefined/);
  let added = 0;
  const add = async (): Promise<void> => {
    added += 1;
    running.child.kill('SIGWINCH');
    await running.printed(new RegExp(`added ${added} `));
  };
  return { ...running, add, store, deadly };
}

describe.runIf(canLimit)('the thread of the ledger ended, and the system starts no other', () => {
  async function startWithoutThread(): Promise<LedgerProcess> {
    const one = await startLedger();
    allowProcesses(one, false);
    writeFileSync(one.deadly, '');
    await one.add();
    await one.printed(/ended: exit code 7/);
    rmSync(one.deadly);
    await one.add();
    expect(one.output()).toMatch(
      /\nThe thread that writes the usage ledger cannot be started: .*EAGAIN\. {2}Raise the limit of processes and threads: ulimit -u, or pids\.max of a container\. {2}Counts are kept in memory until it can be\.\n/,
    );
    await one.add();
    expect(one.output()).toMatch(/added 3 The thread that writes the usage ledger cannot be started/);
    return one;
  }

  it('keeps the counts, and writes them once threads are allowed', async () => {
    const one = await startWithoutThread();
    allowProcesses(one, true);
    await one.add();
    one.child.kill('SIGUSR2');
    await one.printed(/flushed 0 undefined/);
    const reader = LedgerReader.open(one.store);
    expect((await reader.totals(0)).map(({ requests }) => requests)).toEqual([4]);
    reader.close();
  });

  it('ends, and says how many rows are lost', async () => {
    const one = await startWithoutThread();
    one.child.kill('SIGTERM');
    expect(await once(one.child, 'close')).toEqual([0, null]);
    expect(one.output()).toMatch(/usage\.db was not written in time: 3 rows are lost\.\nclosed/);
  });
});

it.runIf(canLimit)(
  'a worker died, and the system starts no other: the others serve, and it is started once that is possible',
  async () => {
    const backend = await startBackend(() => okAnswer);
    const folder = userFolder();
    const file = join(folder, 'routes.yaml');
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 2 };
    const usage = { store: join(folder, 'usage.db') };
    writeFileSync(file, JSON.stringify({ gateway, usage, routes: { '/v1': backend.url } }));
    const setUser = isRoot ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'] : [];
    const [command = '', ...args] = [...setUser, process.execPath, gatewayMain, 'start', '--config', file];
    const running = run(command, args);
    const [, port] = await running.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
    const [, admin] = await running.printed(/(http:\/\/127\.0\.0\.1:\d+)\/readyz/);
    const pids = async (): Promise<number[]> => {
      const { workers } = (await (await fetch(`${admin}/api/status`)).json()) as { workers: { pid: number }[] };
      return workers.map(({ pid }) => pid);
    };
    const [first = 0, second = 0] = await pids();
    allowProcesses(running, false);
    process.kill(first, 'SIGKILL');
    await running.printed(
      /a new worker cannot serve: it cannot be started: spawn .* EAGAIN\. {2}Raise the limit of processes and threads/,
    );
    await running.printed(/a worker is started in \d+ ms/);
    expect((await fetch(`http://127.0.0.1:${port}/v1/x`)).status).toBe(200);
    expect(await pids()).toEqual([second]);
    running.child.kill('SIGUSR2');
    await running.printed(
      /rolling restart stopped, the other workers keep running: it cannot be started: spawn .* EAGAIN/,
    );
    expect(await pids()).toEqual([second]);
    expect((await fetch(`http://127.0.0.1:${port}/v1/x`)).status).toBe(200);
    allowProcesses(running, true);
    await eventually(async () => expect(await pids()).toHaveLength(2));
    expect((await fetch(`${admin}/readyz`)).status).toBe(200);
  },
);

describe('the ledger was removed while it was open', () => {
  it('and its copy does not fit on the disk: the loss is told, and no part of a copy is left', (context) => {
    const disk = temporaryFolder();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]).status !== 0)
      return context.skip('this user may not mount file systems');
    onTestFinished(() => void spawnSync('umount', ['-l', disk]));
    const { ledger, store, notices } = openLedger({ store: join(disk, 'usage.db') }, Date.now());
    ledger.add(Array.from({ length: 2_000 }, (_one, at) => row({ client: `client-${at}`, first: Date.now() })));
    rmSync(store);
    fill(join(disk, 'filling'));
    ledger.add([row({ first: Date.now() })]);
    expect(notices[0]).toMatch(/usage\.db was open when it was removed or replaced: its counts are lost \(.*full.*\)/);
    expect(readdirSync(disk).filter((name) => name.includes('.removed-'))).toEqual([]);
    rmSync(join(disk, 'filling'));
    ledger.close();
    expect(ledger.unwrittenRows).toBe(0);
  });
});

function fill(file: string): void {
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) appendFileSync(file, block);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}

it('leaves entries of the future unchanged if they cannot be copied, and says so', async () => {
  const now = Date.now();
  const { ledger: early, store } = openLedger({}, now + 3 * dayMs);
  early.add([row({ first: now + 3 * dayMs })]);
  early.close();
  writeFileSync(copyName(store, 'future', now), 'in the way');
  const { ledger, notices } = openLedger({ store }, now);
  expect(notices.at(-1)).toMatch(
    /^Entries dated in the future are left unchanged, because .* cannot be written: there is such a file already\.$/,
  );
  expect(ledger.problem).toBeUndefined();
  const reader = LedgerReader.open(store);
  expect((await reader.totals(0)).map(({ last }) => last > now + dayMs)).toEqual([true]);
  reader.close();
});

describe('calls are marked', () => {
  /** A file on a full disk. It can be opened, and a repair removes only the link. */
  function fullFile(name: string): string {
    const file = join(temporaryFolder(), name);
    symlinkSync('/dev/full', file);
    return file;
  }

  it.runIf(process.platform === 'linux')('in the spare file once the file cannot be written', () => {
    const files = { file: fullFile('usage.db.calls'), spare: join(temporaryFolder(), 'spare') };
    const marker = new CallMarker(files, 0);
    const now = Date.now();
    marker.mark('v1', now);
    expect(readSpareMarkFile(files.spare)?.marks).toEqual([{ process: 0, version: 'v1', at: now }]);
    // The next start must not believe that nothing was called.
    expect(existsSync(files.file)).toBe(false);
    marker.close();
  });

  it.runIf(process.platform === 'linux').each([
    ['is full, too', () => fullFile('spare')],
    ['cannot be created', () => '/proc/version-gateway/spare'],
  ])('by their number only if the spare file %s', (_what, spare) => {
    const marker = new CallMarker({ file: fullFile('usage.db.calls'), spare: spare() }, 0);
    marker.mark('v1', 1_000);
    marker.mark('v1', 1_000);
    expect(marker.last).toBe(1_001);
    marker.close();
  });

  it('and not known, if their file is damaged while the gateway runs', () => {
    const store = join(temporaryFolder(), 'usage.db');
    const marks = CallMarks.open(store, Date.now());
    expect(marks.of(0)).toEqual([]);
    writeFileSync(marks.files.file, 'damaged');
    expect(marks.of(0)).toBeUndefined();
    expect(marksBeside(store, Date.now())).toMatchObject({ marks: [], found: [] });
  });

  it('nowhere, and says so, if neither the file nor the spare file can be written', () => {
    const store = '/proc/version-gateway/usage.db';
    const spare = spareMarkFileOf(store);
    mkdirSync(spare);
    onTestFinished(() => rmSync(spare, { recursive: true }));
    const notices: string[] = [];
    const marks = CallMarks.open(store, Date.now(), (line) => notices.push(line));
    expect([marks.atStart.own, marks.of(0)]).toEqual([undefined, undefined]);
    expect(notices).toEqual([
      expect.stringMatching(
        / cannot be written: .*\. {2}If the gateway is killed, coverage restarts for all versions\.$/,
      ),
    ]);
  });
});

it.runIf(canLimit)('keeps the names of clients if neither the edit nor what was there can be written', async () => {
  const file = join(temporaryFolder(), 'names.yaml');
  const text = `x-client-id:a: Old\n${'# '.padEnd(80, 'x').concat('\n').repeat(40)}`;
  writeFileSync(file, text);
  // A file with two names cannot be replaced by a rename.
  linkSync(file, `${file}.link`);
  const program = `
    import { execFileSync } from 'node:child_process';
    import { nameClient } from './gateway/usage/clientNames.ts';
    process.on('SIGXFSZ', () => {});
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=1024:']);
    try {
      nameClient(process.env.NAMES, 'x-client-id:a', 'A new name', 'Old');
    } catch (error) {
      console.log('failed', error.code);
    }
  `;
  const running = run(process.execPath, ['-e', program], { NAMES: file });
  await running.printed(/failed EFBIG/);
  expect(readFileSync(file, 'utf8')).toBe(text);
});
