import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { largestFile, piecesOfRegularFile } from '../shared/fileSystem.ts';
import { digestOfFailure } from './namedFiles.ts';

// A file at rest for this long is complete: an editor may take a moment between emptying a file and filling it.
const defaultRestMs = 150;
// The shortest time between two looks, however many events the folder has.
const lookEveryMs = 40;
// Network file systems and bind mounts report no events.
const pollMs = 1000;
// Two changes within one tick of the file system's clock may leave the same times: a content is read once more after this.
const tickMs = 2100;
const goneMs = 5000;
// How long a file may change without rest before contents of it are reported that have been replaced since.
const restlessMs = 1000;
// Before that, it is not read on every change: most edits are over by then.
const earliestMs = 300;
// How often in a row a content must have been replaced, rather than added to as by a program that writes in pieces.
const replacements = 12;
// After the read of a large file, the next one waits ten times as long as that took, up to this.
const longestPauseMs = 1500;
const largeBytes = 256 * 1024;

export interface Watch {
  close(): void;
}

export interface WatchOptions {
  /** The digest of what was read last: at the start, or, for a file that is read at other times too, at any time. */
  readonly lastRead?: string | undefined | (() => string | undefined);
  /** Whether `onChange` gets the content, which is a former one where the file never comes to rest. */
  readonly takesContent?: boolean;
  /** How long a file is at rest before it counts as complete. */
  readonly restMs?: number;
  /** The file that `file` leads to, looked up each time: its folder is watched as well. By default `file` itself. */
  readonly realPathOf?: (file: string) => string;
  /** A larger file counts as unreadable. */
  readonly mostBytes?: number;
}

interface Content {
  readonly digest: string | undefined;
  readonly size: number;
  /** Undefined unless the watch takes it, and for a file that cannot be read. */
  readonly bytes: Buffer | undefined;
}

/**
 * Calls `onChange` when the content of `file` has changed and the file has not been written to for a moment. Other files of
 * the folder do not delay that. The folder is watched, since a file that is replaced by a rename, or through a symbolic link
 * as in a Kubernetes ConfigMap, is another file afterwards. docs/decisions/0016 says what happens to a file that never rests.
 */
export function watchFile(file: string, onChange: (content?: Uint8Array) => void, options: WatchOptions = {}): Watch {
  const watching = new FileWatch(file, onChange, options);
  watching.begin();
  return watching;
}

class FileWatch implements Watch {
  readonly #file: string;
  readonly #onChange: (content?: Uint8Array) => void;
  readonly #lastRead: () => string | undefined;
  readonly #takesContent: boolean;
  readonly #restMs: number;
  readonly #mostBytes: number;
  readonly #realPathOf: (file: string) => string;
  /** Where `file` led when it was last looked at. */
  #path = '';
  readonly #folders = new Map<string, FSWatcher | undefined>();
  #reported: string | undefined;
  /** What had been read last when that was reported. */
  #reportedAfter: string | undefined;
  #poll: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  #isClosed = false;
  /** Of what `stat` last said; undefined: there is no file. */
  #signature: string | undefined;
  #since = performance.now();
  /** When the content of this signature was read. */
  #readAt: number | undefined;
  #digest: string | undefined;
  #mayReadAt = 0;
  #restlessSince: number | undefined;
  #former: (Content & { readonly signature: string }) | undefined;
  #replacements = 0;

  constructor(file: string, onChange: (content?: Uint8Array) => void, options: WatchOptions) {
    const { lastRead, takesContent = false, restMs = defaultRestMs, mostBytes = largestFile } = options;
    this.#realPathOf = options.realPathOf ?? ((path) => path);
    this.#file = file;
    this.#onChange = onChange;
    this.#reported = typeof lastRead === 'function' ? undefined : lastRead;
    this.#lastRead = typeof lastRead === 'function' ? lastRead : () => this.#reported;
    this.#takesContent = takesContent;
    this.#restMs = restMs;
    this.#mostBytes = mostBytes;
  }

  begin(): void {
    this.#follow();
    this.#poll = setInterval(() => this.#lookIn(0), pollMs).unref();
    // The file may have changed since it was read.
    this.#lookIn(0);
  }

  close(): void {
    this.#isClosed = true;
    for (const events of this.#folders.values()) events?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
  }

  /** Watches the folder of `file` and that of the file it leads to. */
  #follow(): void {
    const path = this.#realPathOf(this.#file);
    if (path === this.#path) return;
    this.#path = path;
    // What was rejected at another place may be accepted at this one.
    this.#reportedAfter = '';
    const folders = new Set([dirname(this.#file), dirname(path)]);
    for (const [folder, events] of this.#folders) {
      if (folders.has(folder)) continue;
      events?.close();
      this.#folders.delete(folder);
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#folders.set(folder, this.#eventsIn(folder));
  }

  /** Undefined where the folder cannot be watched: then only polling is left. */
  #eventsIn(folder: string): FSWatcher | undefined {
    try {
      // Without an `error` listener a folder that disappears would end the process.
      return watch(folder, { persistent: false }, () => this.#lookIn(0)).on('error', () => {});
    } catch {
      return undefined;
    }
  }

  /** Looks at the file in `ms` at the latest, and never more often than every `lookEveryMs`. */
  #lookIn(ms: number): void {
    const dueAt = Math.max(performance.now() + ms, this.#lookedAt + lookEveryMs);
    if (this.#isClosed || dueAt >= this.#dueAt) return;
    this.#dueAt = dueAt;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, dueAt - performance.now())).unref();
  }

  async #look(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isLooking) return this.#lookIn(lookEveryMs);
    this.#isLooking = true;
    this.#lookedAt = performance.now();
    try {
      this.#follow();
      await this.#compare(await signatureOf(this.#path));
    } finally {
      this.#isLooking = false;
    }
  }

  async #compare(signature: string | undefined): Promise<void> {
    const now = performance.now();
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#since = now;
      this.#readAt = undefined;
      this.#restlessSince ??= now;
    }
    const rest = now - this.#since;
    if (rest < this.#restMs) {
      this.#lookIn(this.#restMs - rest);
      if (this.#takesContent && signature !== undefined) await this.#compareRestless(signature, now);
      return;
    }
    this.#restlessSince = this.#former = undefined;
    this.#replacements = 0;
    if (signature === undefined) {
      if (rest >= goneMs && this.#readAt === undefined) this.#report(undefined, now);
      return;
    }
    // What was read last may be another content by now, without a change of the file.
    if (this.#readAt !== undefined && !this.#isNews(this.#digest)) {
      if (this.#readAt - this.#since >= tickMs) return;
      if (rest < tickMs) return this.#lookIn(tickMs - rest);
    }
    if (now < this.#mayReadAt) return this.#lookIn(this.#mayReadAt - now);
    const content = await this.#read(signature);
    if (content) this.#report(content.digest, now, content.bytes);
    this.#lookIn(content ? tickMs : 0);
  }

  /** For a file that does not come to rest: what it held is complete if it was replaced, and not if it was added to. */
  async #compareRestless(signature: string, now: number): Promise<void> {
    const since = this.#restlessSince ?? now;
    if (now - since < earliestMs || now < this.#mayReadAt || this.#former?.signature === signature) return;
    const content = await this.#read(signature);
    // A file may be emptied before it is written.
    if (!content?.bytes?.length) return;
    const former = this.#former;
    this.#former = { ...content, signature };
    if (!former || former.digest === content.digest) return;
    const isSameFile = inodeIn(former.signature) === inodeIn(signature);
    const isAddition = isSameFile && beginsWith(content.bytes, former.bytes);
    this.#replacements = isAddition ? 0 : this.#replacements + 1;
    if (this.#replacements < replacements || now - since <= restlessMs) return;
    this.#restlessSince = now;
    this.#report(former.digest, undefined, former.bytes);
  }

  /** Undefined if the file has changed meanwhile. */
  async #read(signature: string): Promise<Content | undefined> {
    const startedAt = performance.now();
    const path = this.#path;
    const content = await contentOf(path, this.#mostBytes, this.#takesContent);
    const endedAt = performance.now();
    if (content.size > largeBytes) this.#mayReadAt = endedAt + Math.min(longestPauseMs, 10 * (endedAt - startedAt));
    return (await signatureOf(path)) === signature ? content : undefined;
  }

  /** `readAt`: for a file at rest. */
  #report(digest: string | undefined, readAt: number | undefined, content?: Uint8Array): void {
    if (this.#isClosed) return;
    if (readAt !== undefined) {
      this.#readAt = readAt;
      this.#digest = digest;
    }
    if (!this.#isNews(digest)) return;
    this.#reportedAfter = this.#lastRead();
    this.#reported = digest;
    this.#onChange(content);
  }

  /** What was reported may still be on its way to being read. */
  #isNews(digest: string | undefined): boolean {
    const lastRead = this.#lastRead();
    return digest !== lastRead && !(digest === this.#reported && lastRead === this.#reportedAfter);
  }
}

async function contentOf(file: string, mostBytes: number, withBytes: boolean): Promise<Content> {
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of piecesOfRegularFile(file, mostBytes)) {
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

/** Changes with the content of a file, except for two changes within one tick of the file system's clock. */
async function signatureOf(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mode, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${dev}:${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined;
  }
}
