import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { SupervisedThread, type ThreadEnd, type ThreadOptions } from '../../gateway/shared/supervisedThread.ts';
import { eventually } from '../support/eventually.ts';
import { run } from '../support/process.ts';
import type { TestCommand, TestReport } from './obeyingThread.ts';

interface Supervised {
  readonly thread: SupervisedThread<TestCommand, TestReport>;
  readonly reports: TestReport[];
  readonly notices: string[];
  /** The ends of the threads, and whether the next thread could be started at once. */
  readonly ends: { readonly message: string | undefined; readonly canStart: boolean }[];
  /** How many of the next threads end at their start. */
  failing: number;
  started: number;
}

function supervise(options: Partial<ThreadOptions<TestReport>> = {}): Supervised {
  const thread = new SupervisedThread<TestCommand, TestReport>({
    file: new URL('./obeyingThread.ts', import.meta.url),
    task: 'obeys',
    workerData: () => {
      supervised.started += 1;
      supervised.failing -= 1;
      return { failsAtStart: supervised.failing >= 0, thread: supervised.started };
    },
    onReport: (report) => supervised.reports.push(report),
    onEnd: (end: ThreadEnd | undefined) => supervised.ends.push({ message: end?.message, canStart: thread.start() }),
    notice: (line) => supervised.notices.push(line),
    ...options,
  });
  const supervised: Supervised = { thread, reports: [], notices: [], ends: [], failing: 0, started: 0 };
  onTestFinished(() => thread.close());
  return supervised;
}

const echo = async ({ thread }: Supervised, text: string): Promise<string> =>
  (await thread.ask(() => ({ kind: 'echo', text }))).text;

it('is started by a question, which it answers, and not by a command', async () => {
  const one = supervise();
  expect(one.thread.send({ kind: 'say', text: 'lost' })).toBe(false);
  expect(one.started).toBe(0);
  expect(await Promise.all(['a', 'b'].map((text) => echo(one, text)))).toEqual(['a', 'b']);
  expect(one.thread.send({ kind: 'say', text: 'heard' })).toBe(true);
  await eventually(() => expect(one.reports).toEqual([{ thread: 1, text: 'heard' }]));
  expect([one.started, one.ends]).toEqual([1, []]);
});

it('is started again after it ended at its start, at once after the first time only, and is told once', async () => {
  const one = supervise();
  one.failing = 2;
  one.thread.start();
  await eventually(() => expect(one.ends).toHaveLength(2));
  const message = 'the thread that obeys ended: no start';
  expect(one.ends).toEqual([
    { message, canStart: true },
    { message, canStart: false },
  ]);
  expect(one.notices).toEqual([`${message}.  A new one is started.`]);
  // The question waits for the end of the pause.
  expect(await echo(one, 'a')).toBe('a');
  expect(one.started).toBe(3);
  expect(one.notices).toEqual([`${message}.  A new one is started.`, 'the thread that obeys works again.']);
});

it('works again if it reports something after it has run for a while', async () => {
  const one = supervise({ steadyMs: 0 });
  one.failing = 1;
  one.thread.start();
  await eventually(() => expect(one.notices).toHaveLength(1));
  one.thread.send({ kind: 'say', text: 'here' });
  await eventually(() => expect(one.notices.at(-1)).toBe('the thread that obeys works again.'));
});

it.each([
  ['crash', 'the thread that obeys ended: told to crash'],
  ['exit', 'the thread that obeys ended: exit code 7'],
] as const)('rejects all open questions if it ends: %s', async (kind, message) => {
  const one = supervise();
  const open = [1, 2].map(() => one.thread.ask(() => ({ kind: 'silence' })));
  one.thread.send({ kind });
  expect(await Promise.allSettled(open)).toEqual([
    { status: 'rejected', reason: expect.objectContaining({ message }) },
    { status: 'rejected', reason: expect.objectContaining({ message }) },
  ]);
  expect(await echo(one, 'again')).toBe('again');
});

it('is ended if it hangs, and rejects what waits behind', async () => {
  const one = supervise({ answerMs: 1 });
  one.thread.start();
  one.thread.send({ kind: 'hang' });
  const message = 'the thread that obeys ended: it has not answered within 0.001 s';
  const waiting = [echo(one, 'a'), echo(one, 'b')];
  for (const question of waiting) await expect(question).rejects.toMatchObject({ message, code: 'NO_ANSWER' });
});

it('has more time if it makes progress', async () => {
  const one = supervise({ answerMs: 1 });
  const answer = echo(one, 'a');
  one.thread.extend(300_000);
  expect(await answer).toBe('a');
});

it('is not heard any more once it is replaced', async () => {
  const one = supervise({ onEnd: () => {} });
  one.thread.start();
  one.thread.send({ kind: 'flood' });
  await eventually(() => expect(one.reports.length).toBeGreaterThan(10));
  // What the thread reports from now on is delivered after its end.
  const until = performance.now() + 50;
  while (performance.now() < until);
  const heard = one.reports.length;
  const ended = one.thread.end();
  expect(await echo(one, 'next')).toBe('next');
  await ended;
  expect(one.reports).toHaveLength(heard);
});

it('ends when it is idle, without a failure of the next question', async () => {
  const one = supervise({ idleMs: 1 });
  for (let count = 0; count < 30; count += 1) {
    expect(await echo(one, 'a')).toBe('a');
    await sleep(count % 3);
  }
  await eventually(() => expect(one.ends.length).toBeGreaterThan(1));
  expect(one.ends.every(({ message }) => message === undefined)).toBe(true);
  expect(one.notices).toEqual([]);
});

it('ends with a last command, and is not started after it is closed', async () => {
  const one = supervise({ closeMs: 300_000 });
  one.thread.start();
  one.thread.send({ kind: 'say', text: 'last' });
  await one.thread.close({ kind: 'close' });
  expect(one.reports).toEqual([{ thread: 1, text: 'last' }]);
  expect([one.ends, one.notices]).toEqual([[{ message: undefined, canStart: false }], []]);
  await expect(echo(one, 'late')).rejects.toThrow('the thread that obeys ended: the gateway stops');
  expect(one.thread.send({ kind: 'say', text: 'late' })).toBe(false);
  expect(one.started).toBe(1);
});

it('is terminated if it does not end in time, and a crash while it is told to end is no failure', async () => {
  const one = supervise({ closeMs: 1 });
  for (const kind of ['hang', 'crash'] as const) {
    one.thread.start();
    const open = one.thread.ask(() => ({ kind: 'silence' }));
    await Promise.all([one.thread.end({ kind }), expect(open).rejects.toThrow('the gateway stops')]);
  }
  await one.thread.close();
  expect(one.ends.map(({ message }) => message)).toEqual([undefined, undefined, undefined]);
  expect(one.notices).toEqual([]);
});

it('does not let a question wait for the end of a pause when it is closed', async () => {
  const { promise: rejection, resolve } = Promise.withResolvers<unknown>();
  const one = supervise({
    onEnd: () => {
      if (one.thread.start()) return;
      resolve(echo(one, 'a').catch(String));
      void one.thread.close();
    },
  });
  one.failing = 3;
  one.thread.start();
  expect(await rejection).toContain('the gateway stops');
  expect(one.started).toBe(2);
});

it('does not keep the process alive', async () => {
  const program = `
    import { SupervisedThread } from './gateway/shared/supervisedThread.ts';
    const file = new URL('./test/shared/obeyingThread.ts', 'file://' + process.cwd() + '/');
    const thread = new SupervisedThread({ file, task: 'obeys', workerData: () => ({}), answerMs: 300_000 });
    thread.ask(() => ({ kind: 'silence' }));
  `;
  const { child } = run(process.execPath, ['-e', program]);
  expect(await once(child, 'close')).toEqual([0, null]);
});

it('throws nothing if the system starts no thread, rejects the questions, tells it once, and tries again', async () => {
  const execArgv = ['--no-such-flag'];
  const one = supervise({ worker: { execArgv } });
  const message =
    'the thread that obeys cannot be started: Initiated Worker with invalid execArgv flags: --no-such-flag';
  expect([one.thread.start(), one.thread.isRunning]).toEqual([false, false]);
  await expect(echo(one, 'a')).rejects.toMatchObject({ message, code: 'ERR_WORKER_INVALID_EXEC_ARGV' });
  expect([one.ends, one.notices]).toEqual([[], [`${message}.  It is tried again.`]]);
  execArgv.pop();
  // The question waits for the end of the pause.
  expect(await echo(one, 'b')).toBe('b');
  expect(one.notices.slice(1)).toEqual(['the thread that obeys is started.']);
});
