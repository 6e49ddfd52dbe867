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
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSnapshot } from '../../gateway/config/load.ts';
import { digestOf } from '../../gateway/config/referencedFiles.ts';
import { type WatchOptions, watchFile } from '../../gateway/config/watch.ts';
import { WatchedFiles } from '../../gateway/config/watchedFiles.ts';
import { eventually } from '../support/eventually.ts';
import { folderOfSeveralFiles, severalFiles } from '../support/severalFiles.ts';
import { temporaryFolder } from './temporary.ts';

/** A folder with a routes.yaml, and how often its watch has called. */
function watched(options: Pick<WatchOptions, 'isRejected'> = {}): {
  folder: string;
  file: string;
  calls: () => number;
} {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'));
  const file = join(folder, 'routes.yaml');
  writeFileSync(file, 'one');
  let calls = 0;
  const watch = watchFile(file, () => (calls += 1), { ...options, lastReadDigest: digestOf('one') });
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

it.each(Object.entries(edits))('%s is reported once', async (_name, edit) => {
  const { folder, file, calls } = watched();
  edit(file, folder);
  await eventually(() => expect(calls()).toBe(1));
  // A second report of the same edit would come before that of the next one.
  writeFileSync(file, 'three');
  await eventually(() => expect(calls()).toBeGreaterThan(1));
  expect(calls()).toBe(2);
});

describe('a rejected content that is saved again', () => {
  const saves: typeof edits = { ...edits, touch: (file) => void execFileSync('touch', [file]) };

  it.each(Object.entries(saves))('by %s is reported again', async (_name, save) => {
    const { folder, file, calls } = watched({ isRejected: () => true });
    writeFileSync(file, 'two');
    await eventually(() => expect(calls()).toBe(1));
    save(file, folder);
    await eventually(() => expect(calls()).toBe(2));
  });

  it('is not reported for another mode or owner, nor if it was accepted', async () => {
    for (const isRejected of [true, false]) {
      const { file, calls } = watched({ isRejected: () => isRejected });
      writeFileSync(file, 'two');
      await eventually(() => expect(calls()).toBe(1));
      execFileSync(isRejected ? 'chmod' : 'touch', isRejected ? ['600', file] : [file]);
      // A report of this change would come before that of the next edit.
      await new Promise((done) => setTimeout(done, 400));
      writeFileSync(file, 'three');
      await eventually(() => expect(calls()).toBeGreaterThan(1));
      expect(calls()).toBe(2);
    }
  });
});

it('a symbolic link that is replaced, as in a Kubernetes ConfigMap, is reported', async () => {
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
  const watch = watchFile(join(folder, 'mounted.yaml'), () => (calls += 1), { lastReadDigest: digestOf('one') });
  onTestFinished(() => watch.close());
  symlinkSync('b', join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  await eventually(() => expect(calls).toBe(1));
});

/** Calls `step` every `ms` until the test ends or `stop` is called. */
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

it('writes to other files of the folder delay no report', async () => {
  const { folder, file, calls } = watched();
  keepOn((count) => writeFileSync(join(folder, 'access.log'), `${count}\n`, { flag: 'a' }), 5);
  writeFileSync(file, 'two');
  await eventually(() => expect(calls()).toBe(1));
  renameSync(join(folder, 'access.log'), join(folder, 'access.log.1'));
  writeFileSync(`${file}.new`, 'three');
  renameSync(`${file}.new`, file);
  await eventually(() => expect(calls()).toBe(2));
});

it('edits that keep the size and the times of the file are reported', async () => {
  const { file, calls } = watched();
  const { mtime } = statSync(file);
  for (const [index, text] of ['two', 'six', 'ten'].entries()) {
    writeFileSync(file, text);
    utimesSync(file, mtime, mtime);
    await eventually(() => expect(calls()).toBe(index + 1));
  }
});

it('a pipe that replaces the file is reported once, and so is the file that replaces the pipe', async () => {
  const { file, calls } = watched();
  unlinkSync(file);
  execFileSync('mkfifo', [file]);
  await eventually(() => expect(calls()).toBe(1));
  unlinkSync(file);
  writeFileSync(file, 'two');
  await eventually(() => expect(calls()).toBe(2));
});

it('an edit that is reverted while it is loaded is reported afterwards', async () => {
  const file = join(temporaryFolder(), 'routes.yaml');
  writeFileSync(file, 'one');
  let lastReadDigest = digestOf('one');
  let checks = 0;
  const contents: string[] = [];
  const onChange = (content?: Uint8Array): void => void contents.push(Buffer.from(content ?? []).toString());
  const onCheck = (): string => {
    checks += 1;
    return lastReadDigest;
  };
  const watch = watchFile(file, onChange, { lastReadDigest: onCheck, takesContent: true });
  onTestFinished(() => watch.close());
  writeFileSync(file, 'two');
  await eventually(() => expect(contents).toEqual(['two']));
  writeFileSync(file, 'one');
  const before = checks;
  await eventually(() => expect(checks).toBeGreaterThan(before + 1));
  expect(contents).toEqual(['two']);
  lastReadDigest = digestOf('two');
  await eventually(() => expect(contents).toEqual(['two', 'one']));
});

describe('a file that keeps changing', () => {
  const whole = (count: number): string => `edit: ${count}\nlong: ${'x'.repeat(50)}\nend: ${count}\n`;
  const isWhole = (text: string): boolean => /^edit: (\d+)\nlong: x{50}\nend: \1\n$/.test(text);

  /** The contents that the watch has called with. */
  function reported(restMs: number): { file: string; contents: string[] } {
    const file = join(temporaryFolder(), 'routes.yaml');
    writeFileSync(file, whole(0));
    const contents: string[] = [];
    const onChange = (content?: Uint8Array): void => void (content && contents.push(Buffer.from(content).toString()));
    const watch = watchFile(file, onChange, { lastReadDigest: digestOf(whole(0)), takesContent: true, restMs });
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
  ])('is reported several times if it is edited sixteen times a second %s', async (_how, edit) => {
    const { file, contents } = reported(150);
    keepOn((count) => edit(file, whole(count)), 60);
    await eventually(() => expect(contents.length).toBeGreaterThanOrEqual(3));
    expect(contents.filter((text) => !isWhole(text))).toEqual([]);
    expect(new Set(contents).size).toBe(contents.length);
  });

  it('is not reported while it is written in pieces, and is reported when it is complete', async () => {
    // Longer than any pause of a busy machine.
    const { file, contents } = reported(5_000);
    const pieces = 6;
    let rounds = 0;
    const { stop } = keepOn((count) => {
      rounds = Math.floor(count / pieces);
      const text = whole(rounds);
      const piece = text.slice(0, Math.ceil((text.length * ((count % pieces) + 1)) / pieces));
      // Appends, like a program that keeps the file open.
      writeFileSync(file, count % pieces === 0 ? piece : piece.slice(statSync(file).size), {
        flag: count % pieces === 0 ? 'w' : 'a',
      });
    }, 50);
    await eventually(() => expect(rounds).toBeGreaterThan(12));
    stop();
    expect(contents.filter((text) => !isWhole(text))).toEqual([]);
    writeFileSync(file, whole(1_000));
    await eventually(() => expect(contents.at(-1)).toBe(whole(1_000)));
    expect(contents.filter((text) => !isWhole(text))).toEqual([]);
  });
});

it.each<[string, (file: string, folder: string) => void]>([
  ['a write of the same content', (file) => writeFileSync(file, 'one')],
  ['a new file in the folder', (_file, folder) => writeFileSync(join(folder, 'other.yaml'), 'two')],
  [
    'a removal until the file is there again',
    (file) => {
      unlinkSync(file);
      writeFileSync(file, 'one');
    },
  ],
])('%s is not reported', async (_name, edit) => {
  const folder = temporaryFolder();
  const file = join(folder, 'routes.yaml');
  writeFileSync(file, 'one');
  const contents: string[] = [];
  let checks = 0;
  const lastReadDigest = (): string => {
    checks += 1;
    return digestOf('one');
  };
  const onChange = (content?: Uint8Array): void => void contents.push(Buffer.from(content ?? []).toString());
  const watch = watchFile(file, onChange, { lastReadDigest, takesContent: true });
  onTestFinished(() => watch.close());
  await eventually(() => expect(checks).toBeGreaterThan(0));
  edit(file, folder);
  const before = checks;
  await eventually(() => expect(checks).toBeGreaterThan(before + 1));
  // A report of that would come before this one.
  writeFileSync(file, 'two');
  await eventually(() => expect(contents).not.toEqual([]));
  expect(contents).toEqual(['two']);
});

it('notices an edit of each file of a contract', async () => {
  const folder = folderOfSeveralFiles({
    ...severalFiles,
    'routes.yaml': 'routes: { /v1: { upstream: "http://127.0.0.1:1", contract: api.yaml } }',
  });
  const routes = join(folder, 'routes.yaml');
  let edits = 0;
  const watched = new WatchedFiles(() => (edits += 1), { lastReadDigest: () => undefined, isRejected: () => false });
  onTestFinished(() => watched.close());
  const snapshot = () => loadSnapshot(routes);
  watched.setFiles(routes, snapshot());
  for (const name of Object.keys(severalFiles)) {
    const before = edits;
    writeFileSync(join(folder, name), `${severalFiles[name]}\n`);
    await eventually(() => expect(edits, name).toBeGreaterThan(before));
    watched.setFiles(routes, snapshot());
  }
});
