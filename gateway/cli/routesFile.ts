import { resolve } from 'node:path';
import { ConfigError, formatFault } from '../config/fault.ts';
import { explain, readText } from '../config/load.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Verdict } from '../config/validate.ts';
import { digestOf } from '../config/watch.ts';
import type { Io } from './io.ts';

/** Which file to serve, and what counts over it. */
export interface StartOptions {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}

/** The routes.yaml of a gateway, read again and again. */
export class RoutesFile {
  readonly path: string;
  /** Of what was read last, sound or not. */
  lastRead: string | undefined;
  readonly #options: StartOptions;
  readonly #io: Io;

  constructor(options: StartOptions, io: Io) {
    this.path = resolve(io.cwd, options.config);
    this.#options = options;
    this.#io = io;
  }

  /** For the start: warnings and faults go to stderr. @throws UnreadableFileError */
  read(): Snapshot | undefined {
    const { snapshot, faults, warnings } = this.#verdict();
    for (const warning of warnings) this.#io.stderr.write(`warning: ${formatFault(warning)}\n`);
    for (const fault of faults) this.#io.stderr.write(`${formatFault(fault)}\n`);
    return snapshot;
  }

  /** The file as it is now, to be served. @throws ConfigError, UnreadableFileError */
  load(): Snapshot {
    return sound(this.#verdict());
  }

  /** The file as it is now, or `text` in its place, to be looked at only. @throws ConfigError, UnreadableFileError */
  peek(text?: string): Snapshot {
    return sound(this.#explain(text ?? readText(this.path)));
  }

  #verdict(): Verdict {
    this.lastRead = undefined;
    const bytes = readText(this.path);
    this.lastRead = digestOf(bytes);
    return this.#explain(bytes);
  }

  #explain(text: string | Uint8Array): Verdict {
    const { config, listen, admin } = this.#options;
    const { env, cwd } = this.#io;
    return explain(text, config, { env, cwd, overrides: { listen, admin } });
  }
}

function sound({ snapshot, faults }: Verdict): Snapshot {
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}
