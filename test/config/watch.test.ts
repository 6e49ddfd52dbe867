import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf } from '../../gateway/config/contentDigest.ts';
import { watchFile } from '../../gateway/config/watch.ts';
import { eventually } from '../support/eventually.ts';

/** A folder with a routes.yaml, and how often its watch has called. */
function watched(): { folder: string; file: string; calls: () => number } {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'));
  const file = join(folder, 'routes.yaml');
  writeFileSync(file, 'one');
  let calls = 0;
  const watch = watchFile(file, () => (calls += 1), { lastRead: digestOf('one') });
  onTestFinished(() => {
    watch.close();
    rmSync(folder, { recursive: true });
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

it('a file that is written piece by piece is read when it is whole', async () => {
  const { file, calls } = watched();
  for (const text of ['t', 'tw', 'two', 'two and', 'two and a half']) {
    writeFileSync(file, text);
    await sleep(60);
    expect(calls()).toBe(0);
  }
  await eventually(() => expect(calls()).toBe(1));
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
