import { Worker } from 'node:worker_threads';
import { ConfigError, type Fault } from '../config/fault.ts';
import type { Overrides } from '../config/load.ts';
import { realPathOf, replacedLinkFault } from '../config/location.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { fromPlainInSlices, type PlainSnapshot, toPlain } from '../config/transfer.ts';
import { threadFile } from '../shared/packageFiles.ts';

export interface LoadThreadOptions {
  /** As `Fault.file`; relative to `cwd`. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly overrides?: Overrides;
  /** False for an application that answers the requests itself: versions need no upstream. Default: true. */
  readonly needsUpstreams?: boolean;
  /** True for an embedded gateway: its adapters and `grease` are neither checked nor prepared. */
  readonly ignoresAdapters?: boolean;
}

export interface LoadLimits {
  /** The longest time to parse one contract. */
  readonly timeoutMs: number;
  readonly heapMiB: number;
  /** An idle thread ends after this time. Node 26 frees its memory at a later garbage collection, not at once. */
  readonly idleMs: number;
}

// The longest time for the start of a thread and for routes.yaml itself.
const startTimeoutMs = 30_000;
// A contract of 8 MiB of YAML takes about 5 s and 600 MiB.
const defaultLimits: LoadLimits = { timeoutMs: 60_000, heapMiB: 1024, idleMs: 10_000 };

export interface Loaded {
  /** The files of the contracts that were parsed. */
  readonly parsed: readonly string[];
  /** @throws ConfigError, or an Error with the reason why the file cannot be read */
  readonly snapshot: () => Snapshot;
}

/** A message to the thread. */
export interface LoadRequest {
  readonly options: LoadThreadOptions;
  /** Replaces the content of the file. */
  readonly text: string | Uint8Array | undefined;
  /** For a new thread: the snapshot that was loaded last. The thread does not parse its contracts again if they have not changed. */
  readonly before: PlainSnapshot | undefined;
}

/** A message from the thread. */
export type LoadReply =
  | { readonly kind: 'parsing'; readonly file: string }
  | {
      readonly kind: 'done';
      readonly digest: string | undefined;
      readonly snapshot: PlainSnapshot | undefined;
      readonly faults: readonly Fault[];
      /** Why routes.yaml cannot be read; undefined: it was read. */
      readonly unreadable: string | undefined;
    };

type Done = Extract<LoadReply, { kind: 'done' }>;

interface Pending {
  readonly thread: Worker;
  /** The files of the contracts whose parsing has begun. Only the last one may be unfinished. */
  readonly parsed: string[];
  timer: NodeJS.Timeout;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: Error) => void;
}

/** The snapshot that was loaded at the start, without the thread, and the digest of its file. */
export interface StartSnapshot {
  readonly snapshot: Snapshot;
  readonly digest: string | undefined;
}

/**
 * Loads a routes.yaml and its contracts in a thread, so that requests are served meanwhile: a contract of a few MiB takes
 * seconds to parse. The thread sends back what requests need of a contract, such as its path templates,
 * and not the parsed document.
 */
export class LoadThread {
  readonly #options: LoadThreadOptions;
  readonly #limits: LoadLimits;
  /** The digest of the file as it was last read, valid or not. */
  lastReadDigest: string | undefined;
  /** Whether routes.yaml was a link at the start. An editor may have replaced it since. */
  readonly #isLink: boolean;
  /** The snapshot that was loaded last, previews excluded. */
  #before: Snapshot;
  #thread: Worker | undefined;
  #pending: Pending | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Loads run one after another. */
  #lastLoad: Promise<unknown> = Promise.resolve();

  constructor(options: LoadThreadOptions, { snapshot, digest }: StartSnapshot, limits: Partial<LoadLimits> = {}) {
    this.#options = options;
    this.#isLink = realPathOf(options.path) !== options.path;
    this.#before = snapshot;
    this.lastReadDigest = digest;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Absolute. Symbolic links in it are not resolved. */
  get path(): string {
    return this.#options.path;
  }

  /** Loads the file, or `text` as its content. `isPreview`: the result will not become active, and `text` does not come from the file. */
  load(text?: string | Uint8Array, { isPreview } = { isPreview: false }): Promise<Loaded> {
    const loaded = this.#lastLoad.then(() => this.#load(text, isPreview));
    this.#lastLoad = loaded.catch(() => {});
    return loaded;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    await this.#thread?.terminate();
  }

  async #load(text: string | Uint8Array | undefined, isPreview: boolean): Promise<Loaded> {
    const { file, path } = this.#options;
    const isFromFile = text === undefined || !isPreview;
    const linkFault = this.#isLink && isFromFile ? replacedLinkFault(file, path) : undefined;
    if (linkFault) {
      return {
        parsed: [],
        snapshot: () => {
          throw new ConfigError([linkFault]);
        },
      };
    }
    const parsed: string[] = [];
    const { digest, snapshot: plain, faults, unreadable } = await this.#request(text, parsed);
    // If the link now leads to an older file, the time of the last change stays, because it must not decrease.
    const filesChangedAt = Math.max(plain?.filesChangedAt ?? 0, this.#before.filesChangedAt);
    const snapshot = plain && (await fromPlainInSlices({ ...plain, filesChangedAt }, this.#before));
    if (!isPreview) {
      this.lastReadDigest = digest;
      this.#before = snapshot ?? this.#before;
    }
    return {
      parsed,
      snapshot: () => {
        if (unreadable !== undefined) throw new Error(unreadable);
        if (!snapshot) throw new ConfigError(faults);
        return snapshot;
      },
    };
  }

  #request(text: string | Uint8Array | undefined, parsed: string[]): Promise<Done> {
    clearTimeout(this.#idleTimer);
    const before = this.#thread ? undefined : toPlain(this.#before);
    const thread = this.#startedThread();
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    const pending = { thread, parsed, timer: this.#limitTime(thread, startTimeoutMs), resolve, reject };
    this.#pending = pending;
    const request: LoadRequest = { options: { ...this.#options, env: { ...this.#options.env } }, text, before };
    thread.postMessage(request);
    return promise.finally(() => {
      clearTimeout(pending.timer);
      this.#pending = undefined;
      this.#idleTimer = setTimeout(() => void this.#thread?.terminate(), this.#limits.idleMs).unref();
    });
  }

  #startedThread(): Worker {
    if (this.#thread) return this.#thread;
    const { heapMiB } = this.#limits;
    const resourceLimits = { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 64 };
    const thread = new Worker(threadFile('runtime/loadWorker'), { execArgv: [], resourceLimits });
    this.#thread = thread;
    thread.on('message', (message: LoadReply) => {
      const pending = this.#pending;
      if (pending?.thread !== thread) return;
      if (message.kind === 'done') return pending.resolve(message);
      pending.parsed.push(message.file);
      clearTimeout(pending.timer);
      pending.timer = this.#limitTime(thread, this.#limits.timeoutMs);
    });
    thread.on('error', (error: NodeJS.ErrnoException) => {
      const isOutOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#end(
        thread,
        isOutOfMemory ? `takes more than ${heapMiB} MiB of memory to parse` : `fails: ${error.message}`,
      );
    });
    thread.on('exit', () => this.#end(thread, 'cannot be loaded: the thread ended'));
    thread.unref();
    return thread;
  }

  #limitTime(thread: Worker, ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#end(thread, `takes longer than ${ms / 1000} s to parse`);
      void thread.terminate();
    }, ms).unref();
  }

  /**
   * Forgets the thread and rejects its load. The next load starts another thread. The error is a file name and `predicate`, such as
   * `takes longer than 60 s to parse`.
   */
  #end(thread: Worker, predicate: string): void {
    if (this.#thread === thread) this.#thread = undefined;
    if (this.#pending?.thread !== thread) return;
    const { parsed, reject } = this.#pending;
    const file = parsed.at(-1);
    reject(
      new Error(file ? `${file} ${predicate}.  Split it, or write it as JSON.` : `${this.#options.file} ${predicate}.`),
    );
  }
}
