import { printableExcerpt } from '../shared/text.ts';
import type { Io } from './io.ts';

/** One line that says what is being done, for whoever waits at a terminal. */
export interface Progress {
  tell(what: string): void;
  /** Takes the line away. */
  done(): void;
}

const clearLine = '\r\u001b[K';
// Nobody has to be told of what is done by then.
const patienceMs = 500;
// A line that is broken into two could not be taken away.
const widest = 70;

export function progressOn({ stderr, env }: Pick<Io, 'stderr' | 'env'>): Progress {
  if (stderr.isTTY !== true || env['TERM'] === 'dumb') return { tell: () => {}, done: () => {} };
  const began = performance.now();
  let isShown = false;
  return {
    tell: (what) => {
      if (performance.now() - began < patienceMs) return;
      stderr.write(`${clearLine}${printableExcerpt(what, widest)}…`);
      isShown = true;
    },
    done: () => {
      if (isShown) stderr.write(clearLine);
      isShown = false;
    },
  };
}
