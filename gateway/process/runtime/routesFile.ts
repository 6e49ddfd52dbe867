import { resolve } from 'node:path';
import { formatFault } from '../../config/fault.ts';
import { parseConfig } from '../../config/load.ts';
import { readRoutes, replacedLinkFault } from '../../config/location.ts';
import { digestOf } from '../../config/referencedFiles.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { WatchedFiles } from '../../config/watchedFiles.ts';
import type { Trigger } from '../../usage/observability/report.ts';
import { prepareAdaptersAndGrease } from './adapterCheck.ts';
import type { RunningGateway } from './gateway.ts';
import { LoadThread } from './loadThread.ts';
import { outcomeLines } from './outcomeLines.ts';

/** The file to serve, and addresses that override it. */
export interface StartOptions {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}

/** The environment of the process, and where it prints. Relative paths are resolved from `cwd`. */
interface ProcessIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Reads the routes.yaml of a gateway, at the start and for each reload. */
export class RoutesFile {
  readonly path: string;
  readonly #options: StartOptions;
  readonly #io: ProcessIo;
  #thread: LoadThread | undefined;

  constructor(options: StartOptions, io: ProcessIo) {
    this.path = resolve(io.cwd, options.config);
    this.#options = options;
    this.#io = io;
  }

  /** For the start, on the main thread. Prints faults and warnings; undefined if there are faults. @throws UnreadableFileError */
  async read(): Promise<Snapshot | undefined> {
    const { config } = this.#options;
    const { env, cwd, stderr } = this.#io;
    const bytes = readRoutes(config, cwd);
    const parsed = parseConfig(bytes, config, { env, cwd, overrides: this.#overrides });
    const { snapshot, faults, warnings } = await prepareAdaptersAndGrease(parsed);
    const linkWarning = replacedLinkFault(config, this.path);
    for (const warning of linkWarning ? [linkWarning, ...warnings] : warnings)
      stderr.write(`warning: ${formatFault(warning)}\n`);
    for (const fault of faults) stderr.write(`${formatFault(fault)}\n`);
    if (snapshot) {
      const options = { file: config, path: this.path, cwd, env, overrides: this.#overrides };
      this.#thread = new LoadThread(options, { snapshot, digest: digestOf(bytes) });
    }
    return snapshot;
  }

  /** Loads the file as it is now, or `content` instead. @throws ConfigError, UnreadableFileError */
  async load(content?: Uint8Array): Promise<Snapshot> {
    return (await this.#loader.load(content)).snapshot();
  }

  /** Like `load`, for a preview: `lastReadDigest` does not change. */
  async loadPreview(text?: string): Promise<Snapshot> {
    return (await this.#loader.load(text, { isPreview: true })).snapshot();
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  /** The digest of the content read last, valid or not. */
  get lastReadDigest(): string | undefined {
    return this.#loader.lastReadDigest;
  }

  get #overrides() {
    const { listen, admin } = this.#options;
    return { listen, admin };
  }

  get #loader(): LoadThread {
    if (!this.#thread) throw new Error('read() has to be called before load()');
    return this.#thread;
  }
}

/** Reloads on SIGHUP, and when routes.yaml or one of its contracts changes. */
export class ReloadOnEdits {
  readonly #file: RoutesFile;
  readonly #io: ProcessIo;
  readonly #watched = new WatchedFiles((content) => void this.#reload('file', content), {
    lastReadDigest: () => this.#file.lastReadDigest,
    isRejected: () => this.#running?.config.lastFailure !== undefined,
  });
  #running: RunningGateway | undefined;

  constructor(file: RoutesFile, io: ProcessIo) {
    this.#file = file;
    this.#io = io;
  }

  /** Starts to watch the files, until `close` is called. */
  begin(running: RunningGateway, snapshot: Snapshot): void {
    this.#running = running;
    process.on('SIGHUP', this.#onSignal);
    this.watchFilesOf(snapshot);
  }

  /** Watches the contracts of this snapshot instead of the previous ones. */
  watchFilesOf(snapshot: Snapshot): void {
    if (this.#running === undefined) return;
    this.#watched.setFiles(this.#file.path, snapshot);
  }

  close(): void {
    this.#watched.close();
    process.off('SIGHUP', this.#onSignal);
  }

  readonly #onSignal = (): void => {
    void this.#reload('signal');
    void this.#running?.reopenLogs();
  };

  async #reload(trigger: Trigger, content?: Uint8Array): Promise<void> {
    const outcome = await this.#running?.reload(trigger, content);
    // A file with the same content needs no line, unless a rejected edit was undone (`reverted`).
    if (outcome === undefined || (outcome.kind === 'unchanged' && !outcome.reverted && trigger === 'file')) return;
    const output = outcome.kind === 'reloaded' || outcome.kind === 'unchanged' ? this.#io.stdout : this.#io.stderr;
    for (const line of outcomeLines(outcome)) output.write(`reload (${trigger}): ${line}\n`);
  }
}
