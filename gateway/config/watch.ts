import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

// An editor may take a moment between emptying a file and filling it.
const settleMs = 150;
// Where the system reports nothing (network file systems, bind mounts) a look now and then has to do.
const lookMs = 3000;

export interface Watch {
  close(): void;
}

/**
 * Calls `onChange` when the content of `file` is another one and has come to rest: another than `lastRead` says (a
 * `digestOf`), for whoever reads it at other times, too; else than at the last call. It watches the folder: a file that is
 * replaced by a rename, as editors do it, or through a symbolic link, as Kubernetes does it, is another file by then.
 */
export function watchFile(file: string, onChange: () => void, lastRead?: () => string | undefined): Watch {
  let reported = contentOf(file);
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    const seen = contentOf(file);
    if (seen === (lastRead ? lastRead() : reported)) return;
    timer = setTimeout(() => {
      // Still moving: wait for another moment of rest.
      if (contentOf(file) !== seen) return settle();
      reported = seen;
      // A file that is gone for a moment is no edit.
      if (seen !== undefined) onChange();
    }, settleMs);
  };
  const watcher = watchFolder(dirname(file), settle);
  let missing = 0;
  const look = setInterval(() => {
    missing = contentOf(file) === undefined ? missing + 1 : 0;
    // Gone for good, as it seems: whoever reads it will say so.
    if (missing === 2) onChange();
    else settle();
  }, lookMs).unref();
  // It may have changed since it was read.
  settle();
  return {
    close: () => {
      watcher?.close();
      clearInterval(look);
      clearTimeout(timer);
    },
  };
}

function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    // Without `error` listener a folder that goes away would end the process; then the regular look remains.
    return watch(folder, { persistent: false }, onEvent).on('error', () => {});
  } catch {
    return undefined;
  }
}

export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64');
}

/** A digest of what is there to read; undefined where there is nothing. */
function contentOf(file: string): string | undefined {
  try {
    return digestOf(readFileSync(file));
  } catch {
    return undefined;
  }
}
