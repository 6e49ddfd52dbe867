import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import type { WorkerReport } from '../../../gateway/usage/observability/report.ts';
import { EditWatch } from '../../../gateway/versions/editWatch/editWatch.ts';

/** A watch of processes whose counts the test sets. Both clocks are those of the test. */
function start() {
  const versionsOf = (port: number, more: object = {}): Snapshot =>
    snapshotFrom({ ...more, routes: { '/v1': 'http://127.0.0.1:1', '/v2': `http://127.0.0.1:${port}` } });
  const source = { current: versionsOf(2) };
  const clock = {
    wall: Date.parse('2026-11-21T10:00:00Z'),
    elapsed: 5_000,
    now: () => clock.wall,
    monotonic: () => clock.elapsed,
  };
  const notices: string[] = [];
  const updates: (readonly string[])[] = [];
  const processes = new Map<number, { requests: number; lost: number; isSilent: boolean }>();
  let failure: Error | undefined;
  const report = async () => {
    if (failure) throw failure;
    return {
      workers: [...processes].map(([pid, { requests, lost, isSilent }]): WorkerReport => {
        const answers = { v2: { requests, lost: lost > 0 ? { 502: lost } : {} } };
        return isSilent ? { pid, since: pid, unresponsiveSince: 1 } : { pid, since: pid, answers };
      }),
    };
  };
  const watch = new EditWatch({
    source,
    clock,
    notice: (line) => notices.push(line),
    report,
    restrict: async ({ formerPaths }) => void updates.push([...formerPaths.keys()]),
  });
  onTestFinished(() => watch.close());
  let port = 2;
  return {
    ...{ watch, notices, processes, clock, source, versionsOf, updates },
    fail: (error: Error | undefined): void => {
      failure = error;
    },
    /** Requests to v2 in a process. */
    count: (pid: number, requests: number, lost = 0): void => {
      const before = processes.get(pid) ?? { requests: 0, lost: 0, isSilent: false };
      processes.set(pid, { ...before, requests: before.requests + requests, lost: before.lost + lost });
    },
    pass: async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        clock.wall += 1_000;
        clock.elapsed += 1_000;
        await watch.check();
      }
    },
    /** Without `next`: v2 gets another target. */
    edit: async (next?: Snapshot): Promise<void> => {
      port += 1;
      const edited = next ?? versionsOf(port);
      await watch.around(edited, async () => {
        source.current = edited;
      });
      // The watch begins after the report of the moment of the edit.
      await setImmediate();
    },
    ofV2: () => watch.status().filter(({ version }) => version === 'v2'),
  };
}

it('adds up what the processes count, also if they end and others begin', async () => {
  const { count, pass, edit, processes, ofV2 } = start();
  count(1, 100);
  count(2, 100);
  await pass(10);
  // One process ends before the edit, and its counts go with it.
  processes.delete(1);
  count(3, 50);
  await pass(10);
  await edit();
  count(2, 10, 10);
  await pass(1);
  // Another one is killed after the edit.
  processes.delete(2);
  count(4, 15, 15);
  await pass(6);
  expect(ofV2()).toMatchObject([
    { jumped: 'yes', before: { requests: 250, lost: 0 }, after: { requests: 25, lost: 25 } },
  ]);
});

it('does not take the counts of a new process with an old process number for requests of the old one', async () => {
  const { count, pass, edit, processes, ofV2 } = start();
  count(1, 100);
  await pass(10);
  processes.clear();
  await pass(10);
  count(1, 30);
  await pass(5);
  await edit();
  expect(ofV2()).toMatchObject([{ before: { requests: 130 } }]);
});

it('says no only if every process answers', async () => {
  const { count, pass, edit, processes, ofV2 } = start();
  count(1, 100);
  count(2, 100);
  await pass(10);
  await edit();
  count(1, 100);
  processes.set(2, { requests: 100, lost: 0, isSilent: true });
  await pass(61);
  expect(ofV2()).toMatchObject([
    { jumped: 'not known', state: 'ended', text: expect.stringContaining('a worker does not answer') },
  ]);
});

it('compares with the last five minutes only', async () => {
  const { count, pass, edit, ofV2 } = start();
  count(1, 1_000, 1_000);
  await pass(10);
  count(1, 30);
  await pass(305);
  await edit();
  expect(ofV2()).toMatchObject([{ before: { requests: 0, lost: 0, seconds: 300 } }]);
  count(1, 7);
  await pass(5);
  await edit();
  // The first edit could not be judged, so only the time since it is compared with.
  expect(ofV2()).toMatchObject([{ before: { requests: 7, lost: 0 } }]);
});

it('neither ends nor extends a watch when the wall clock is set', async () => {
  const { count, pass, edit, clock, ofV2 } = start();
  count(1, 100);
  await pass(10);
  await edit();
  clock.wall += 86_400_000;
  count(1, 10, 10);
  await pass(4);
  expect(ofV2()).toMatchObject([{ jumped: 'not known', state: 'watching' }]);
  clock.wall -= 2 * 86_400_000;
  await pass(2);
  expect(ofV2()).toMatchObject([{ jumped: 'yes', state: 'watching' }]);
  await pass(55);
  expect(ofV2()).toMatchObject([{ jumped: 'yes', state: 'ended' }]);
});

it('watches nothing if the edit cannot be applied, and goes on with the watch of the edit before', async () => {
  const { count, pass, edit, watch, versionsOf, ofV2 } = start();
  count(1, 100);
  await pass(10);
  await edit();
  const failing = watch.around(versionsOf(9), async () => {
    throw new Error('no worker');
  });
  await expect(failing).rejects.toThrow('no worker');
  count(1, 10, 10);
  await pass(6);
  expect(ofV2()).toMatchObject([
    { jumped: 'yes', edits: [{ changes: [expect.stringContaining('127.0.0.1:3 added')] }] },
  ]);
});

it('survives reports that fail', async () => {
  const { count, pass, edit, fail, ofV2 } = start();
  count(1, 100);
  await pass(10);
  fail(new Error('stopping'));
  await edit();
  expect(ofV2()).toEqual([]);
  fail(undefined);
  await edit();
  count(1, 10, 10);
  fail(new Error('stopping'));
  await pass(10);
  expect(ofV2()).toMatchObject([{ jumped: 'not known' }]);
  fail(undefined);
  await pass(10);
  expect(ofV2()).toMatchObject([{ jumped: 'yes' }]);
});

it('logs a jump once, and its end when the version is answered again', async () => {
  const { count, pass, edit, notices, ofV2 } = start();
  count(1, 100);
  await pass(10);
  await edit();
  count(1, 20, 20);
  await pass(30);
  // The backend recovers by itself.
  for (let minute = 0; minute < 3; minute += 1) {
    count(1, 30);
    await pass(60);
  }
  expect(ofV2()).toMatchObject([{ jumped: 'yes', state: 'recovered', recovered_at: expect.any(String) }]);
  expect(notices.filter((line) => line.startsWith('/v2 loses requests'))).toHaveLength(1);
  expect(notices.filter((line) => line.startsWith('/v2 is answered again as before the edit'))).toHaveLength(1);
  // The minutes of the outage are not part of what the next edit is compared with.
  await edit();
  expect(ofV2().map(({ before }) => before.lost)).toEqual([0]);
  count(1, 20, 20);
  await pass(6);
  expect(ofV2()).toMatchObject([{ jumped: 'yes', state: 'watching' }]);
});

it('shows a jump for a day, unless it is over earlier', async () => {
  const { count, pass, edit, clock, ofV2 } = start();
  count(1, 100);
  await pass(10);
  await edit();
  count(1, 20, 20);
  await pass(61);
  clock.elapsed += 86_000_000;
  await pass(5);
  expect(ofV2()).toMatchObject([{ jumped: 'yes', state: 'ended' }]);
  clock.elapsed += 400_000;
  await pass(5);
  expect(ofV2()).toEqual([]);
});

it('keeps few watches of a version, whatever the number of edits', async () => {
  const { count, pass, edit, ofV2 } = start();
  count(1, 100);
  await pass(10);
  for (let edits = 0; edits < 30; edits += 1) {
    count(1, 1, 1);
    await edit();
  }
  // One with the jump, and three that are open.
  expect(ofV2().length).toBeLessThanOrEqual(4);
  expect(Math.max(...ofV2().map(({ edits }) => edits.length))).toBeLessThanOrEqual(10);
  await pass(6);
  expect(ofV2()[0]).toMatchObject({ jumped: 'yes' });
});

it('remembers the former paths of versions until they are served there again', async () => {
  const { edit, versionsOf, updates } = start();
  await edit(versionsOf(2, { gateway: { base_path: '/api' } }));
  await edit(versionsOf(2, { gateway: { base_path: '/rest' } }));
  await edit(versionsOf(2));
  expect(updates).toEqual([
    ['/v1', '/v2'],
    ['/v1', '/v2', '/api/v1', '/api/v2'],
    ['/api/v1', '/api/v2', '/rest/v1', '/rest/v2'],
  ]);
});

it('does not blame an edit for a version that failed before', async () => {
  const { count, pass, edit, ofV2 } = start();
  count(1, 100, 60);
  await pass(10);
  await edit();
  count(1, 50, 30);
  await pass(61);
  expect(ofV2()).toMatchObject([{ jumped: 'no' }]);
});
