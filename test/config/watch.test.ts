import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf } from '../../gateway/config/referencedFiles.ts';
import { watchFile } from '../../gateway/config/watch.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from './temporary.ts';

/** A folder with a routes.yaml, and how often its watch has called. */
function watched(): { folder: string; file: string; calls: () => number } {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'));
  const file = join(folder, 'routes.yaml');
  writeFileSync(file, 'one');
  let calls = 0;
  const watch = watchFile(file, () => (calls += 1), { lastRead: digestOf('one') });
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  return { folder, file, calls: () => calls };
}

const edits: Record<string, (file: string, folder: string) => void> = {
  'a write in place': (file) => writeFileSync(file, 'two'),
  'a rename over it, as editors save': (file) => {
    writeFileSync(`${file}.new`, 'two');
    renameSync(`${file}.new`, file);
  },
  'a removal and a new file': (file) => {
    unlinkSync(file);
    writeFileSync(file, 'two');
  },
};

it.each(Object.entries(edits))('%s is noticed, once', async (_name, edit) => {
  const { folder, file, calls } = watched();
  edit(file, folder);
  await eventually(() => expect(calls()).toBe(1));
  await sleep(300);
  expect(calls()).toBe(1);
});

it('a symbolic link that is swapped, as Kubernetes does it, is noticed', async () => {
  const { folder } = watched();
  for (const [name, text] of [
    ['a', 'one'],
    ['b', 'two'],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'mounted.yaml'), text);
  }
  symlinkSync('a', join(folder, '..data'));
  symlinkSync('..data/mounted.yaml', join(folder, 'mounted.yaml'));
  let calls = 0;
  const watch = watchFile(join(folder, 'mounted.yaml'), () => (calls += 1), { lastRead: digestOf('one') });
  onTestFinished(() => watch.close());
  symlinkSync('b', join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  await eventually(() => expect(calls).toBe(1));
});

/** Calls `step` every few milliseconds until the test is over or `stop` is called. */
function keepOn(step: (count: number) => void, ms: number): { readonly stop: () => void } {
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    step(count);
  }, ms);
  const stop = (): void => clearInterval(timer);
  onTestFinished(stop);
  return { stop };
}

it('what other files of the folder do delays nothing', async () => {
  const { folder, file, calls } = watched();
  keepOn((count) => writeFileSync(join(folder, 'access.log'), `${count}\n`, { flag: 'a' }), 5);
  writeFileSync(file, 'two');
  await eventually(() => expect(calls()).toBe(1), 10_000);
  renameSync(join(folder, 'access.log'), join(folder, 'access.log.1'));
  writeFileSync(`${file}.new`, 'three');
  renameSync(`${file}.new`, file);
  await eventually(() => expect(calls()).toBe(2), 10_000);
});

it('two edits that leave the same size and the same times are two edits', async () => {
  const { file, calls } = watched();
  const { mtime } = statSync(file);
  for (const [index, text] of ['two', 'six', 'ten'].entries()) {
    writeFileSync(file, text);
    utimesSync(file, mtime, mtime);
    await eventually(() => expect(calls()).toBe(index + 1), 10_000);
  }
});

it('a pipe in the place of the file is an edit, once, and so is its end', async () => {
  const { file, calls } = watched();
  unlinkSync(file);
  execFileSync('mkfifo', [file]);
  await eventually(() => expect(calls()).toBe(1), 10_000);
  unlinkSync(file);
  writeFileSync(file, 'two');
  await eventually(() => expect(calls()).toBe(2), 10_000);
});

it('an edit that is reverted while it is being loaded is loaded after it', { timeout: 30_000 }, async () => {
  const file = join(temporaryFolder(), 'routes.yaml');
  writeFileSync(file, 'one');
  let lastRead = digestOf('one');
  const contents: string[] = [];
  const onChange = (content?: Uint8Array): void => void contents.push(Buffer.from(content ?? []).toString());
  const watch = watchFile(file, onChange, { lastRead: () => lastRead, takesContent: true });
  onTestFinished(() => watch.close());
  writeFileSync(file, 'two');
  await eventually(() => expect(contents).toEqual(['two']), 10_000);
  writeFileSync(file, 'one');
  await sleep(3_500);
  lastRead = digestOf('two');
  await eventually(() => expect(contents).toEqual(['two', 'one']), 10_000);
});

describe('a file that never rests', () => {
  const whole = (count: number): string => `edit: ${count}\nlong: ${'x'.repeat(50)}\nend: ${count}\n`;
  const isWhole = (text: string): boolean => /^edit: (\d+)\nlong: x{50}\nend: \1\n$/.test(text);

  /** The contents that the watch has called with. */
  function reported(restMs: number): { file: string; contents: string[] } {
    const file = join(temporaryFolder(), 'routes.yaml');
    writeFileSync(file, whole(0));
    const contents: string[] = [];
    const onChange = (content?: Uint8Array): void => void (content && contents.push(Buffer.from(content).toString()));
    const watch = watchFile(file, onChange, { lastRead: digestOf(whole(0)), takesContent: true, restMs });
    onTestFinished(() => watch.close());
    return { file, contents };
  }

  it.each<[string, (file: string, text: string) => void]>([
    ['in place', (file, text) => writeFileSync(file, text)],
    [
      'by a rename',
      (file, text) => {
        writeFileSync(`${file}.new`, text);
        renameSync(`${file}.new`, file);
      },
    ],
  ])(
    'is reported again and again when it is edited sixteen times a second %s',
    { timeout: 40_000 },
    async (_how, edit) => {
      const { file, contents } = reported(150);
      keepOn((count) => edit(file, whole(count)), 60);
      await eventually(() => expect(contents.length).toBeGreaterThanOrEqual(3), 30_000);
      expect(contents.filter((text) => !isWhole(text))).toEqual([]);
      expect(new Set(contents).size).toBe(contents.length);
    },
  );

  it('is not reported when it is written in pieces', { timeout: 40_000 }, async () => {
    // So long that no pause of the machine is a rest.
    const { file, contents } = reported(5_000);
    const pieces = 6;
    let rounds = 0;
    const { stop } = keepOn((count) => {
      rounds = Math.floor(count / pieces);
      const text = whole(rounds);
      const piece = text.slice(0, Math.ceil((text.length * ((count % pieces) + 1)) / pieces));
      // As a program does that has opened it once, and writes to it now and then.
      writeFileSync(file, count % pieces === 0 ? piece : piece.slice(statSync(file).size), {
        flag: count % pieces === 0 ? 'w' : 'a',
      });
    }, 50);
    await eventually(() => expect(rounds).toBeGreaterThan(12), 30_000);
    stop();
    expect(contents.filter((text) => !isWhole(text))).toEqual([]);
  });
});

it('a file that is written piece by piece is reported when it is whole', async () => {
  const { file, calls } = watched();
  let longest = 0;
  for (const text of ['t', 'tw', 'two', 'two and', 'two and a half']) {
    const since = performance.now();
    writeFileSync(file, text);
    await sleep(60);
    longest = Math.max(longest, performance.now() - since);
    // On a busy machine the file may rest between two pieces.
    if (longest < 100) expect(calls()).toBe(0);
  }
  await eventually(() => expect(calls()).toBeGreaterThanOrEqual(1), 10_000);
});

it.each<[string, (file: string, folder: string) => void]>([
  ['the same content again', (file) => writeFileSync(file, 'one')],
  ['another file beside it', (_file, folder) => writeFileSync(join(folder, 'other.yaml'), 'two')],
  ['a removal', (file) => unlinkSync(file)],
])('%s is no edit', async (_name, edit) => {
  const { folder, file, calls } = watched();
  edit(file, folder);
  await sleep(400);
  expect(calls()).toBe(0);
});
