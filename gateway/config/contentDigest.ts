import { createHash } from 'node:crypto';

/** SHA-256 of a file's content. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** What counts as the content of a file that cannot be read, so that a lasting failure is no change; undefined: no file. */
export function digestOfFailure(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  return `unreadable: ${error instanceof Error ? error.message : String(error)}`;
}
