import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from '../../gateway/shared/makeFolder.ts';
import { temporaryFolder } from '../config/temporary.ts';

it('makes all that is missing, and may be called again', () => {
  const folder = join(temporaryFolder(), 'a', 'b', 'c');
  makeFolder(folder);
  makeFolder(folder);
  expect(statSync(folder).isDirectory()).toBe(true);
});

it('follows a link to a folder', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  makeFolder(join(folder, 'link', 'below'));
  expect(statSync(join(folder, 'real', 'below')).isDirectory()).toBe(true);
});

it.each([
  ['file', 'EEXIST'],
  ['file/below', 'EEXIST'],
  ['dangling', 'EEXIST'],
])('says what is in the way: %s', (path, code) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  expect(() => makeFolder(join(folder, path))).toThrow(code);
});

it.runIf(process.platform === 'linux')('comes to an end where a file system lets nobody make folders', () => {
  expect(() => makeFolder('/proc/nope/below')).toThrow('ENOENT');
});
