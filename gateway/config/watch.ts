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
 * Calls `onChange` when the content of `file` is another one and has come to rest. It watches the folder: a file that is
 * replaced by a rename, as editors do it, or through a symbolic link, as Kubernetes does it, is another file by then.
 */
export function watchFile(file: string, onChange: () => void): Watch {
  let known = contentOf(file);
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    const seen = contentOf(file);
    if (seen === known) return;
    timer = setTimeout(() => {
      // Still moving: wait for another moment of rest.
      if (contentOf(file) !== seen) return settle();
      known = seen;
      // A file that is gone for a moment is no edit.
      if (seen !== undefined) onChange();
    }, settleMs);
  };
  const watcher = watchFolder(dirname(file), settle);
  const look = setInterval(settle, lookMs).unref();
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

/** A digest of what is there to read; undefined where there is nothing. */
function contentOf(file: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64');
  } catch {
    return undefined;
  }
}
