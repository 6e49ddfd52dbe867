import type { Writable } from 'node:stream';

/**
 * Who reads what is printed may have seen enough, as `head` has: what is left goes nowhere, and the command ends as it
 * would have, with its own exit code. Any other failure of the stream is one.
 */
export function surviveClosedPipes(...outputs: readonly Writable[]): void {
  for (const output of outputs) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}
