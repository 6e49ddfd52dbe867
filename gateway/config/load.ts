import { dirname, resolve } from 'node:path';
import { type Clock, systemClock } from '../shared/clock.ts';
import { readRegularFile } from '../shared/fileSystem.ts';
import type { ParsedContracts } from './contracts.ts';
import { ConfigError, UnreadableFileError } from './fault.ts';
import { realPathOf } from './location.ts';
import { type Reading, readObject, readYaml, wholeFileFault } from './readDocument.ts';
import { hostPort } from './schema/network.ts';
import type { Snapshot } from './snapshot.ts';
import { placeKey } from './source.ts';
import { type ConfigResult, validate } from './validate.ts';

/**
 * Reads a routes.yaml.
 * @throws ConfigError with every fault of the file
 * @throws UnreadableFileError when there is no file to find faults in
 */
export function loadSnapshot(file: string, env: NodeJS.ProcessEnv = process.env, forwards = true): Snapshot {
  return orThrow(parseConfig(readRoutes(file), file, { env, forwards }));
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

export interface ParseOptions {
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
export function parseConfig(text: string | Uint8Array, file: string, around: ParseOptions = {}): ConfigResult {
  const { env = process.env, clock = systemClock, cwd = '.', overrides = {}, forwards, parsed } = around;
  const folder = dirname(realPathOf(resolve(cwd, file)));
  const decoded = decode(text);
  if (decoded !== undefined) {
    const reading = override(readYaml(decoded, file, folder, env), overrides);
    return validate(reading, clock.now(), { forwards, parsed });
  }
  return { snapshot: undefined, faults: [wholeFileFault(file, 'encoding')], warnings: [] };
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

function orThrow({ snapshot, faults }: ConfigResult): Snapshot {
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}

/** Values of command-line options that replace those of the file: `host:port`, as in the file. */
export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
}

/** Replaces values before anything is checked, so that the same rules hold for them. A fault names the option, not the file. */
export function override(reading: Reading, overrides: Overrides): Reading {
  const { tree } = reading.source;
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  if (given.length === 0 || !isMap(tree)) return reading;
  const gateway = isMap(tree['gateway']) ? tree['gateway'] : {};
  const overridden = Object.assign(Object.create(null), tree, {
    gateway: Object.assign(Object.create(null), gateway, Object.fromEntries(given)),
  });
  const options = new Map(given.map(([key]) => [placeKey(['gateway', key]), `--${key}`]));
  return { ...reading, source: { ...reading.source, tree: overridden, options } };
}

export interface AdminAddress {
  /** As `gateway.admin` has it; empty: every interface. */
  readonly host: string;
  readonly port: number;
  /** '' where there is none, or where the environment does not have it. */
  readonly token: string;
}

/**
 * Where a routes.yaml has the gateway listen for its operators. Whatever else is wrong with the file is of no concern:
 * who asks the gateway need not have its environment. Undefined: it does not say; `broken`: nobody can tell what it says;
 * `unusable`: it says something that is no address.
 */
export function adminAddressIn(text: string, env: NodeJS.ProcessEnv): AdminAddress | 'broken' | 'unusable' | undefined {
  const { source, broken } = readYaml(text, '', '', env);
  if (broken) return 'broken';
  const gateway = isMap(source.tree) ? source.tree['gateway'] : undefined;
  if (!isMap(gateway) || gateway['admin'] === undefined) return undefined;
  const { success, data } = hostPort.safeParse(gateway['admin']);
  if (!success || data.port === 0) return 'unusable';
  const token = textOf(gateway['admin_token']);
  return { host: data.host, port: data.port, token };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isMap(value) && typeof value['text'] === 'string' ? value['text'] : '';
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
