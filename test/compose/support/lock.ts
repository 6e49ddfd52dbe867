import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** A folder that nobody else gets into. */
export function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory()) throw new Error(`${folder} is no folder: remove it`);
  if (found.uid !== process.getuid?.()) throw new Error(`${folder} belongs to user ${found.uid}: remove it`);
  if ((found.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

/**
 * Holds a folder for this run, and returns what lets go of it. The lock is a socket that is in no file system: it ends
 * with its process, however that ends.
 */
export async function lock(folder: string): Promise<() => void> {
  const name = `\0${folder}`;
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  const isHeld = await new Promise<boolean>((done) => {
    server.once('error', () => done(false)).listen(name, () => done(true));
  });
  if (!isHeld)
    throw new Error(`another run (process ${await holder(name)}) uses ${folder}: start this one when that has ended`);
  server.unref();
  return () => void server.close();
}

async function holder(name: string): Promise<string> {
  return text(connect(name)).catch(() => 'unknown');
}
