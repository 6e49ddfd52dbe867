import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largestFileBytes, makeFolder, piecesOfRegularFile, readRegularFile } from '../../gateway/shared/fileSystem.ts';
import { temporaryFolder } from '../config/temporary.ts';

const folder = mkdtempSync(join(tmpdir(), 'regular-file-'));
const socket = createServer();

beforeAll(async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'small'), 'content');
  writeFileSync(join(folder, 'large'), 'x'.repeat(700_000));
  writeFileSync(join(folder, 'huge'), '');
  truncateSync(join(folder, 'huge'), largestFileBytes + 1);
  for (const name of ['small', 'pipe']) symlinkSync(name, join(folder, `link-to-${name}`));
  socket.listen(join(folder, 'socket'));
  await once(socket, 'listening');
});

afterAll(() => {
  socket.close();
  rmSync(folder, { recursive: true, maxRetries: 10 });
});

async function inPieces(path: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of piecesOfRegularFile(path)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

const readers = { 'at once': async (path: string) => readRegularFile(path), 'in pieces': inPieces };

describe.each(Object.entries(readers))('a file that is read %s', (_name, read) => {
  it.each([
    ['small', 7],
    ['link-to-small', 7],
    ['large', 700_000],
  ])('%s has %i bytes', async (name, bytes) => {
    expect((await read(join(folder, name))).length).toBe(bytes);
  });

  it.each([
    ['pipe', 'is a pipe, not a file'],
    ['link-to-pipe', 'is a pipe, not a file'],
    ['folder', 'is a folder, not a file'],
    ['socket', 'is a socket, not a file'],
    ['huge', 'is 8.0 MiB long, but at most 8.0 MiB are read'],
    ['/dev/zero', 'is a device, not a file'],
    ['missing', 'ENOENT'],
  ])('%s is refused', async (name, message) => {
    await expect(read(name.startsWith('/') ? name : join(folder, name))).rejects.toThrow(message);
  });

  it.runIf(process.platform === 'linux')('a file of /proc, whose size is 0, is read to its end', async () => {
    expect((await read('/proc/self/status')).toString()).toContain('Pid:');
  });
});

it('creates all missing folders, and can be called again', () => {
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
])('throws the reason: %s', (path, code) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  expect(() => makeFolder(join(folder, path))).toThrow(code);
});

it.runIf(process.platform === 'linux')('ends if a file system refuses to create folders', () => {
  expect(() => makeFolder('/proc/nope/below')).toThrow('ENOENT');
});
