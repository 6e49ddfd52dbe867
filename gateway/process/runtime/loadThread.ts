import { ConfigError, type Fault } from '../../config/fault.ts';
import type { Overrides } from '../../config/load.ts';
import { realPathOf, replacedLinkFault } from '../../config/location.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { fromPlainInSlices, type PlainSnapshot, toPlain } from '../../config/transfer.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import { SupervisedThread, ThreadEnd } from '../../shared/supervisedThread.ts';

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
  readonly number: number;
  readonly options: LoadThreadOptions;
  /** Replaces the content of the file. */
  readonly text: string | Uint8Array | undefined;
}

/** What a new thread starts with: the snapshot that was loaded last. It does not parse its contracts again if they have not changed. */
export interface LoadStart {
  readonly before: PlainSnapshot;
}

/** A message from the thread. */
export type LoadReply =
  | { readonly kind: 'parsing'; readonly file: string }
  | {
      readonly kind: 'done';
      /** That of the request. */
      readonly number: number;
      readonly digest: string | undefined;
      readonly snapshot: PlainSnapshot | undefined;
      readonly faults: readonly Fault[];
      /** Why routes.yaml cannot be read; undefined: it was read. */
      readonly unreadable: string | undefined;
    };

type Done = Extract<LoadReply, { kind: 'done' }>;

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
  readonly #thread: SupervisedThread<LoadRequest, LoadReply>;
  /** The files of the contracts whose parsing has begun in the current load. Only the last one may be unfinished. */
  #parsed: string[] = [];
  /** Loads run one after another. */
  #lastLoad: Promise<unknown> = Promise.resolve();

  constructor(options: LoadThreadOptions, { snapshot, digest }: StartSnapshot, limits: Partial<LoadLimits> = {}) {
    this.#options = options;
    this.#isLink = realPathOf(options.path) !== options.path;
    this.#before = snapshot;
    this.lastReadDigest = digest;
    this.#limits = { ...defaultLimits, ...limits };
    const { timeoutMs, heapMiB, idleMs } = this.#limits;
    this.#thread = new SupervisedThread<LoadRequest, LoadReply>({
      file: threadFile('process/runtime/loadWorker'),
      task: 'loads the configuration',
      worker: {
        execArgv: [],
        // About the stack of the main thread: a start must accept the nested schemas that a reload has accepted.
        resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 64, stackSizeMb: 1 },
      },
      workerData: (): LoadStart => ({ before: toPlain(this.#before) }),
      answerMs: startTimeoutMs,
      idleMs,
      onReport: ({ file }) => {
        this.#parsed.push(file);
        this.#thread.extend(timeoutMs);
      },
    });
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
    await this.#thread.close();
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
    const { digest, snapshot: plain, faults, unreadable } = await this.#request(text);
    // If the link now leads to an older file, the time of the last change stays, because it must not decrease.
    const filesChangedAt = Math.max(plain?.filesChangedAt ?? 0, this.#before.filesChangedAt);
    const snapshot = plain && (await fromPlainInSlices({ ...plain, filesChangedAt }, this.#before));
    if (!isPreview) {
      this.lastReadDigest = digest;
      this.#before = snapshot ?? this.#before;
    }
    return {
      parsed: this.#parsed,
      snapshot: () => {
        if (unreadable !== undefined) throw new Error(unreadable);
        if (!snapshot) throw new ConfigError(faults);
        return snapshot;
      },
    };
  }

  async #request(text: string | Uint8Array | undefined): Promise<Done> {
    this.#parsed = [];
    try {
      return await this.#thread.ask(() => ({ options: { ...this.#options, env: { ...this.#options.env } }, text }));
    } catch (error) {
      if (!(error instanceof ThreadEnd)) throw error;
      const predicate = this.#predicateOf(error);
      const file = this.#parsed.at(-1);
      throw new Error(
        file ? `${file} ${predicate}.  Split it, or write it as JSON.` : `${this.#options.file} ${predicate}.`,
      );
    }
  }

  /** What the file does that was being parsed, such as `takes longer than 60 s to parse`. */
  #predicateOf({ code, reason }: ThreadEnd): string {
    if (code === 'ERR_WORKER_OUT_OF_MEMORY') return `takes more than ${this.#limits.heapMiB} MiB of memory to parse`;
    const limitMs = this.#parsed.length > 0 ? this.#limits.timeoutMs : startTimeoutMs;
    return code === 'NO_ANSWER' ? `takes longer than ${limitMs / 1000} s to parse` : `fails: ${reason}`;
  }
}
