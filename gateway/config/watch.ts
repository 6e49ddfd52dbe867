import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { largestFileBytes, piecesOfRegularFile } from '../shared/fileSystem.ts';
import { digestOfFailure } from './referencedFiles.ts';

// A file counts as complete when it has not changed for this long. An editor may empty a file before it writes it.
const defaultRestMs = 150;
// The shortest time between two checks, however many events the folder has.
const minCheckIntervalMs = 40;
// Network file systems and bind mounts report no events.
const pollMs = 1000;
// A second change within one tick of the file system's clock may not change mtime, so the file is read once more after this time.
const fileClockTickMs = 2100;
// A file that is missing for this long is reported. A shorter absence may be a part of a save.
const goneAfterMs = 5000;
// While a file keeps changing, an earlier content is reported at intervals longer than this.
const unsettledReportMs = 1000;
// A file that keeps changing is not read before this time: most edits are complete by then.
const firstReadAfterMs = 300;
// An earlier content is reported only after this many changes in a row have replaced the content. A program that writes a file in
// pieces appends to it instead.
const requiredReplacements = 12;
// After a large file was read, the next read waits ten times as long as that read took, but at most this long.
const longestPauseMs = 1500;
const largeFileBytes = 256 * 1024;

export interface Watch {
  close(): void;
}

export interface WatchOptions {
  /** The digest of the content that the caller read last. A function if the caller may read the file at any time. */
  readonly lastReadDigest?: string | undefined | (() => string | undefined);
  /** Whether the caller has rejected the content. If the file is then saved again with the same content, it is reported again. */
  readonly isRejected?: () => boolean;
  /** Whether `onChange` gets the content. For a file that keeps changing, it gets an earlier content. */
  readonly takesContent?: boolean;
  /** How long a file must stay unchanged to count as complete. */
  readonly restMs?: number;
  /** Resolves links of `file` at each check. The folder of the result is also watched. By default no link is resolved. */
  readonly realPathOf?: (file: string) => string;
  /** A larger file counts as unreadable. */
  readonly maxBytes?: number;
}

interface Content {
  readonly digest: string | undefined;
  readonly size: number;
  /** Undefined if the watch does not take contents, or the file cannot be read. */
  readonly bytes: Buffer | undefined;
}

/**
 * Calls `onChange` when the content of `file` has changed and the file has not been written to for a moment. Other files of
 * the folder do not delay the call. The folder is watched: a file that is replaced by a rename, or through a symbolic link as in
 * a Kubernetes ConfigMap, is a different file afterwards. docs/decisions/0016 describes files that keep changing.
 */
export function watchFile(file: string, onChange: (content?: Uint8Array) => void, options: WatchOptions = {}): Watch {
  const watching = new FileWatch(file, onChange, options);
  watching.begin();
  return watching;
}

class FileWatch implements Watch {
  readonly #file: string;
  readonly #onChange: (content?: Uint8Array) => void;
  readonly #lastReadDigest: () => string | undefined;
  readonly #isRejected: () => boolean;
  readonly #takesContent: boolean;
  readonly #restMs: number;
  readonly #maxBytes: number;
  readonly #realPathOf: (file: string) => string;
  /** Where `file` led at the last check. */
  #path = '';
  readonly #folders = new Map<string, FSWatcher | undefined>();
  /** The digest of the content that was reported last. */
  #reportedDigest: string | undefined;
  /** `lastReadDigest` at the time of that report. */
  #lastReadDigestAtReport: string | undefined;
  /** The save whose content was compared last. */
  #comparedSave: string | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #nextCheckAt = Number.POSITIVE_INFINITY;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isChecking = false;
  #isClosed = false;
  /** From the last `stat`; undefined: there is no file. */
  #signature: string | undefined;
  /** When this signature was first seen. */
  #unchangedSince = performance.now();
  /** When the content with this signature was read. */
  #readAt: number | undefined;
  /** The digest of that content. */
  #readDigest: string | undefined;
  /** The earliest time of the next read; in the future only after a large file was read. */
  #mayReadAt = 0;
  /** While the file keeps changing: when it began to change, or was last reported if that is later. Undefined: the file is at rest. */
  #unsettledSince: number | undefined;
  /** The content that was read before, while the file keeps changing. */
  #earlier: (Content & { readonly signature: string }) | undefined;
  /** How many changes in a row have replaced the content. */
  #replacements = 0;

  constructor(file: string, onChange: (content?: Uint8Array) => void, options: WatchOptions) {
    const { lastReadDigest, takesContent = false, restMs = defaultRestMs, maxBytes = largestFileBytes } = options;
    this.#isRejected = options.isRejected ?? (() => false);
    this.#realPathOf = options.realPathOf ?? ((path) => path);
    this.#file = file;
    this.#onChange = onChange;
    this.#reportedDigest = typeof lastReadDigest === 'function' ? undefined : lastReadDigest;
    this.#lastReadDigest = typeof lastReadDigest === 'function' ? lastReadDigest : () => this.#reportedDigest;
    this.#takesContent = takesContent;
    this.#restMs = restMs;
    this.#maxBytes = maxBytes;
  }

  begin(): void {
    this.#watchFolders();
    this.#pollTimer = setInterval(() => this.#checkIn(0), pollMs).unref();
    // The file may have changed since it was read.
    this.#checkIn(0);
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#folders.values()) watcher?.close();
    clearInterval(this.#pollTimer);
    clearTimeout(this.#checkTimer);
  }

  /** Watches the folder of `file`, and the folder of the file that `file` leads to. */
  #watchFolders(): void {
    const path = this.#realPathOf(this.#file);
    if (path === this.#path) return;
    this.#path = path;
    // The content that was reported last is reported again, because it may be accepted at this path, although it was rejected at the
    // former one: no digest equals ''.
    this.#lastReadDigestAtReport = '';
    const folders = new Set([dirname(this.#file), dirname(path)]);
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue;
      watcher?.close();
      this.#folders.delete(folder);
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#folders.set(folder, this.#watcherOf(folder));
  }

  /** Undefined if the folder cannot be watched: then changes are found only by polling. */
  #watcherOf(folder: string): FSWatcher | undefined {
    try {
      // Without an `error` listener a folder that disappears would end the process.
      return watch(folder, { persistent: false }, () => this.#checkIn(0)).on('error', () => {});
    } catch {
      return undefined;
    }
  }

  /** Schedules a check of the file in `ms`, but not less than `minCheckIntervalMs` after the last check. */
  #checkIn(ms: number): void {
    const dueAt = Math.max(performance.now() + ms, this.#checkedAt + minCheckIntervalMs);
    if (this.#isClosed || dueAt >= this.#nextCheckAt) return;
    this.#nextCheckAt = dueAt;
    clearTimeout(this.#checkTimer);
    this.#checkTimer = setTimeout(() => void this.#check(), Math.max(0, dueAt - performance.now())).unref();
  }

  async #check(): Promise<void> {
    this.#nextCheckAt = Number.POSITIVE_INFINITY;
    if (this.#isChecking) return this.#checkIn(minCheckIntervalMs);
    this.#isChecking = true;
    this.#checkedAt = performance.now();
    try {
      this.#watchFolders();
      await this.#compare(await signatureOf(this.#path));
    } finally {
      this.#isChecking = false;
    }
  }

  async #compare(signature: string | undefined): Promise<void> {
    const now = performance.now();
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#unchangedSince = now;
      this.#readAt = undefined;
      this.#unsettledSince ??= now;
    }
    const restedMs = now - this.#unchangedSince;
    if (restedMs < this.#restMs) {
      this.#checkIn(this.#restMs - restedMs);
      if (this.#takesContent && signature !== undefined) await this.#compareUnsettled(signature, now);
      return;
    }
    this.#unsettledSince = this.#earlier = undefined;
    this.#replacements = 0;
    if (signature === undefined) {
      if (restedMs >= goneAfterMs && this.#readAt === undefined) this.#reportSettled(undefined, now);
      return;
    }
    // A content that was read may be new again, because `lastReadDigest` may have changed without a change of the file.
    if (this.#readAt !== undefined && !this.#isNew(this.#readDigest)) {
      if (this.#readAt - this.#unchangedSince >= fileClockTickMs) return;
      if (restedMs < fileClockTickMs) return this.#checkIn(fileClockTickMs - restedMs);
    }
    if (now < this.#mayReadAt) return this.#checkIn(this.#mayReadAt - now);
    const content = await this.#read(signature);
    if (content) this.#reportSettled(content.digest, now, content.bytes);
    this.#checkIn(content ? fileClockTickMs : 0);
  }

  /** For a file that keeps changing: a content that was replaced is complete; one that was appended to is not. */
  async #compareUnsettled(signature: string, now: number): Promise<void> {
    const unsettledSince = this.#unsettledSince ?? now;
    if (now - unsettledSince < firstReadAfterMs || now < this.#mayReadAt || this.#earlier?.signature === signature)
      return;
    const content = await this.#read(signature);
    // An editor may empty a file before it writes it.
    if (!content?.bytes?.length) return;
    const earlier = this.#earlier;
    this.#earlier = { ...content, signature };
    if (!earlier || earlier.digest === content.digest) return;
    const isSameFile = inodeIn(earlier.signature) === inodeIn(signature);
    const isAddition = isSameFile && beginsWith(content.bytes, earlier.bytes);
    this.#replacements = isAddition ? 0 : this.#replacements + 1;
    if (this.#replacements < requiredReplacements || now - unsettledSince <= unsettledReportMs) return;
    this.#unsettledSince = now;
    this.#report(earlier.digest, earlier.bytes);
  }

  /** Undefined if the file changed during the read. */
  async #read(signature: string): Promise<Content | undefined> {
    const startedAt = performance.now();
    const path = this.#path;
    const content = await contentOf(path, this.#maxBytes, this.#takesContent);
    const endedAt = performance.now();
    if (content.size > largeFileBytes) this.#mayReadAt = endedAt + Math.min(longestPauseMs, 10 * (endedAt - startedAt));
    return (await signatureOf(path)) === signature ? content : undefined;
  }

  /** For a file that does not keep changing. */
  #reportSettled(digest: string | undefined, readAt: number, content?: Uint8Array): void {
    this.#readAt = readAt;
    this.#readDigest = digest;
    const save = this.#signature === undefined ? undefined : saveIn(this.#signature);
    const isSameContent = save !== undefined && digest === this.#lastReadDigest();
    const isSavedAgain = isSameContent && save !== this.#comparedSave && this.#isRejected();
    this.#comparedSave = save;
    this.#report(digest, content, isSavedAgain);
  }

  #report(digest: string | undefined, content?: Uint8Array, isSavedAgain = false): void {
    if (this.#isClosed || !(isSavedAgain || this.#isNew(digest))) return;
    this.#lastReadDigestAtReport = this.#lastReadDigest();
    this.#reportedDigest = digest;
    this.#onChange(content);
  }

  /** False for the content that the caller read last, and for a reported content that the caller has not read yet. */
  #isNew(digest: string | undefined): boolean {
    const lastReadDigest = this.#lastReadDigest();
    return (
      digest !== lastReadDigest && !(digest === this.#reportedDigest && lastReadDigest === this.#lastReadDigestAtReport)
    );
  }
}

async function contentOf(file: string, maxBytes: number, withBytes: boolean): Promise<Content> {
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of piecesOfRegularFile(file, maxBytes)) {
      hash.update(piece);
      size += piece.length;
      if (withBytes) pieces.push(Buffer.from(piece));
    }
  } catch (error) {
    return { digest: digestOfFailure(error), size, bytes: undefined };
  }
  return { digest: hash.digest('hex'), size, bytes: withBytes ? Buffer.concat(pieces) : undefined };
}

function beginsWith(bytes: Buffer, start: Buffer | undefined): boolean {
  return start !== undefined && bytes.length > start.length && bytes.subarray(0, start.length).equals(start);
}

function inodeIn(signature: string): string {
  return signature.slice(0, signature.indexOf(' '));
}

/** Changes when a file is written or replaced, and not when only its mode or owner changes: some programs set these after they write. */
function saveIn(signature: string): string {
  const [inode, , , modified] = signature.split(' ');
  return `${inode} ${modified}`;
}

/** A text that changes with the content of a file. It misses a second change within one tick of the file system's clock. */
async function signatureOf(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mode, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${dev}:${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined;
  }
}
