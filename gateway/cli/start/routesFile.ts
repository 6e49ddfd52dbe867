import { resolve } from 'node:path';
import { formatFault } from '../../config/fault.ts';
import { parseConfig, readRoutes } from '../../config/load.ts';
import { LoadThread } from '../../config/loadThread.ts';
import { replacedLink } from '../../config/location.ts';
import { digestOf } from '../../config/namedFiles.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Io } from '../io.ts';

/** The file to serve, and addresses that override it. */
export interface StartOptions {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}

/** Reads the routes.yaml of a gateway, at the start and for each reload. */
export class RoutesFile {
  readonly path: string;
  readonly #options: StartOptions;
  readonly #io: Io;
  #thread: LoadThread | undefined;

  constructor(options: StartOptions, io: Io) {
    this.path = resolve(io.cwd, options.config);
    this.#options = options;
    this.#io = io;
  }

  /** For the start, on the main thread. Prints faults and warnings; undefined if there are faults. @throws UnreadableFileError */
  read(): Snapshot | undefined {
    const { config } = this.#options;
    const { env, cwd, stderr } = this.#io;
    const bytes = readRoutes(this.path);
    const { snapshot, faults, warnings } = parseConfig(bytes, config, { env, cwd, overrides: this.#overrides });
    const replaced = replacedLink(config, this.path);
    for (const warning of replaced ? [replaced, ...warnings] : warnings)
      stderr.write(`warning: ${formatFault(warning)}\n`);
    for (const fault of faults) stderr.write(`${formatFault(fault)}\n`);
    if (snapshot) {
      const options = { file: config, path: this.path, cwd, env, overrides: this.#overrides };
      this.#thread = new LoadThread(options, { snapshot, digest: digestOf(bytes) });
    }
    return snapshot;
  }

  /** The file as it is now, or `content` instead. @throws ConfigError, UnreadableFileError */
  async load(content?: Uint8Array): Promise<Snapshot> {
    return (await this.#loader.load(content)).snapshot();
  }

  /** Like `load`, for a preview: the digest and the cached contracts stay. */
  async peek(text?: string): Promise<Snapshot> {
    return (await this.#loader.load(text, true)).snapshot();
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  /** The digest of the content read last, valid or not. */
  get lastRead(): string | undefined {
    return this.#loader.lastRead;
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
