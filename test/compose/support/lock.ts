import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** Creates a folder that only this user can open. */
export function createPrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder: remove it`);
  if (found.uid !== process.getuid?.()) throw new Error(`${folder} belongs to user ${found.uid}: remove it`);
  if ((found.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

/**
 * Locks a folder for this run. Returns a function that releases it. The lock is an abstract Unix socket, which the kernel
 * removes when its process ends for any reason.
 */
export async function lock(folder: string): Promise<() => void> {
  const name = `\0${folder}`;
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  const isLocked = await new Promise<boolean>((done) => {
    server.once('error', () => done(false)).listen(name, () => done(true));
  });
  if (!isLocked)
    throw new Error(`another run (process ${await ownerOf(name)}) uses ${folder}: wait until it has ended`);
  server.unref();
  return () => void server.close();
}

/** The process ID that the owner of the lock sends. */
async function ownerOf(name: string): Promise<string> {
  return text(connect(name)).catch(() => 'unknown');
}
