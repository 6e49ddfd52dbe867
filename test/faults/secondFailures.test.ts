import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { type Running, run } from '../support/process.ts';

// A failure during the repair of another one. The process must go on, and what it says must be true.

const isRoot = process.getuid?.() === 0;
// The system limits the threads of a user. Root has no such limit, so the process becomes a user of its own.
const user = 64_000 + (process.pid % 1_000);

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

interface LedgerProcess extends Running {
  add(): Promise<void>;
  /** Allows the process to start threads or not. */
  allowThreads(isAllowed: boolean): void;
  readonly store: string;
  /** If it exists, the thread that writes the ledger ends before it writes. */
  readonly deadly: string;
}

async function startLedger(): Promise<LedgerProcess> {
  const folder = temporaryFolder();
  if (isRoot) chownSync(folder, user, user);
  chmodSync(folder, 0o700);
  const [store, deadly] = [join(folder, 'usage.db'), join(folder, 'dies before it writes')];
  const running = run(process.execPath, ['-e', ledgerProgram], { STORE: store, USER: isRoot ? String(user) : '' });
  await running.printed(/open undefined/);
  let added = 0;
  const add = async (): Promise<void> => {
    added += 1;
    running.child.kill('SIGWINCH');
    await running.printed(new RegExp(`added ${added} `));
  };
  const allowThreads = (isAllowed: boolean): void => {
    const { pid } = running.child;
    const [, hard] = /^Max processes +\S+ +(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
    const args = ['--pid', String(pid), `--nproc=${isAllowed ? hard : 1}:`];
    execFileSync('prlimit', args, isRoot ? { uid: user, gid: user } : {});
  };
  return { ...running, add, allowThreads, store, deadly };
}

describe.runIf(process.platform === 'linux')('the thread of the ledger ended, and the system starts no other', () => {
  async function startWithoutThread(): Promise<LedgerProcess> {
    const one = await startLedger();
    one.allowThreads(false);
    writeFileSync(one.deadly, '');
    await one.add();
    await one.printed(/ended: exit code 7/);
    rmSync(one.deadly);
    await one.add();
    expect(one.output()).toMatch(
      /\nThe thread that writes the usage ledger cannot be started: .*EAGAIN\. {2}Raise the limit of threads: ulimit -u, or pids\.max of a container\. {2}Counts are kept in memory until it can be\.\n/,
    );
    await one.add();
    expect(one.output()).toMatch(/added 3 The thread that writes the usage ledger cannot be started/);
    return one;
  }

  it('keeps the counts, and writes them once threads are allowed', async () => {
    const one = await startWithoutThread();
    one.allowThreads(true);
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
