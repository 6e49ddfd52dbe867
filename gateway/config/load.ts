import { dirname, resolve } from 'node:path';
import { type Clock, systemClock } from '../shared/clock.ts';
import { readRegularFile } from '../shared/fileSystem.ts';
import type { ParsedContracts } from './contracts.ts';
import { ConfigError, UnreadableFileError } from './fault.ts';
import { realPathOf } from './location.ts';
import { type Overrides, override } from './overrides.ts';
import { readObject } from './readObject.ts';
import { readYaml } from './readYaml.ts';
import type { Snapshot } from './snapshot.ts';
import { type Verdict, validate } from './validate.ts';
import { documentFault } from './yamlFaults.ts';

/**
 * Reads a routes.yaml.
 * @throws ConfigError with every fault of the file
 * @throws UnreadableFileError when there is no file to find faults in
 */
export function loadSnapshot(file: string, env: NodeJS.ProcessEnv = process.env, forwards = true): Snapshot {
  return orThrow(explain(readRoutes(file), file, { env, forwards }));
}

/**
 * Takes an object of the shape of a routes.yaml. Relative paths resolve from `folder`, by default the working
 * directory; strings are expanded as those of a file are. Its faults have no line.
 * @throws ConfigError with every fault of the object
 */
export function snapshotFrom(
  document: unknown,
  folder = '.',
  env: NodeJS.ProcessEnv = process.env,
  forwards = true,
): Snapshot {
  return orThrow(validate(readObject(document, resolve(folder), env), systemClock.now(), { forwards }));
}

export interface Circumstances {
  readonly env?: NodeJS.ProcessEnv;
  readonly clock?: Clock;
  /** Where a relative `file` begins; by default the working directory. */
  readonly cwd?: string;
  readonly overrides?: Overrides;
  /** False for an application that answers the requests itself: its versions need no upstream. */
  readonly forwards?: boolean;
  /** Contracts that need not be parsed again; new ones are added. */
  readonly parsed?: ParsedContracts;
}

/** What there is to say about the text of a routes.yaml; `file` names it in faults, and its folder is where paths begin. */
export function explain(text: string | Uint8Array, file: string, around: Circumstances = {}): Verdict {
  const { env = process.env, clock = systemClock, cwd = '.', overrides = {}, forwards, parsed } = around;
  const folder = dirname(realPathOf(resolve(cwd, file)));
  const decoded = decode(text);
  if (decoded !== undefined) {
    const reading = override(readYaml(decoded, file, folder, env), overrides);
    return validate(reading, clock.now(), { forwards, parsed });
  }
  const source = { file, folder, tree: null, places: new Map() };
  return { snapshot: undefined, faults: [documentFault(source, 'bytes')], warnings: [] };
}

/** The content of a routes.yaml, wherever it really is. @throws UnreadableFileError, which names it as `file` */
export function readRoutes(file: string, cwd = '.'): Uint8Array {
  try {
    return readRegularFile(realPathOf(resolve(cwd, file)));
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** @throws UnreadableFileError */
export function readText(file: string): Uint8Array {
  try {
    return readRegularFile(file);
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** Without a byte order mark; undefined for what is not UTF-8. */
export function decode(text: string | Uint8Array): string | undefined {
  if (typeof text === 'string') return text.replace(/^\uFEFF/, '');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text);
  } catch {
    return undefined;
  }
}

function orThrow({ snapshot, faults }: Verdict): Snapshot {
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}
