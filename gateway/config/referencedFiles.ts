import { createHash } from 'node:crypto';
import { largestFileBytes, readRegularFile, reasonOf, UnsuitableFileError } from '../shared/fileSystem.ts';
import { messageOf } from '../shared/text.ts';

/** The content of a file, or why it cannot be read. */
export type Content =
  | { readonly bytes: Uint8Array; readonly text: () => string; readonly digest: string }
  | { readonly reason: string; readonly remedy: string };

/** The files that a routes.yaml refers to. Each is read once, so that the rules and the snapshot use the same bytes. */
export class ReferencedFiles {
  readonly #contents = new Map<string, Content>();

  read(file: string, maxBytes = largestFileBytes): Content {
    const cached = this.#contents.get(file);
    if (cached) return cached;
    const content = readContent(file, maxBytes);
    this.#contents.set(file, content);
    return content;
  }

  /** Path and SHA-256 of every file that was read. */
  digests(): readonly (readonly [file: string, digest: string])[] {
    return [...this.#contents].map(([file, content]) => [file, 'digest' in content ? content.digest : '']);
  }
}

function readContent(file: string, maxBytes: number): Content {
  try {
    const bytes = readRegularFile(file, maxBytes);
    const digest = digestOf(bytes);
    // Decoded on demand: most callers do not need the text, and a contract may be long.
    return { bytes, digest, text: () => bytes.toString('utf8') };
  } catch (error) {
    const remedy = error instanceof UnsuitableFileError ? error.remedy : 'Correct the path.';
    return { reason: reasonOf(error), remedy };
  }
}

/** SHA-256 of a file's content. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** What a watch compares if a file cannot be read. Equal failures give equal texts. Undefined: the file does not exist. */
export function digestOfFailure(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  return `unreadable: ${messageOf(error)}`;
}
