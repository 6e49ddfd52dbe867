import { dirname, resolve } from 'node:path';
import { type Clock, systemClock } from '../shared/clock.ts';
import { isMap } from '../shared/json.ts';
import type { ParsedContracts } from './contracts.ts';
import { ConfigError } from './fault.ts';
import { decodeIfUtf8, readRoutes, realPathOf } from './location.ts';
import { type Reading, readObject, readYaml, wholeFileFault } from './readDocument.ts';
import { hostPort } from './schema/network.ts';
import type { Snapshot } from './snapshot.ts';
import { placeKey } from './source.ts';
import { type ConfigResult, validate } from './validate.ts';

/**
 * Reads a routes.yaml. `needsUpstreams`: false for an application that answers the requests itself, so that versions need no upstream.
 * @throws ConfigError with every fault of the file
 * @throws UnreadableFileError if the file is missing or cannot be read
 */
export function loadSnapshot(file: string, env: NodeJS.ProcessEnv = process.env, needsUpstreams = true): Snapshot {
  return orThrow(parseConfig(readRoutes(file), file, { env, needsUpstreams }));
}

/**
 * Checks an object with the structure of a routes.yaml. Relative paths are resolved from `folder`, by default the working
 * directory. Variables in strings are expanded. Faults have no line. `needsUpstreams`: false if versions need no upstream.
 * @throws ConfigError with every fault of the object
 */
export function snapshotFrom(
  document: unknown,
  folder = '.',
  env: NodeJS.ProcessEnv = process.env,
  needsUpstreams = true,
): Snapshot {
  return orThrow(validate(readObject(document, resolve(folder), env), systemClock.now(), { needsUpstreams }));
}

export interface ParseOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly clock?: Clock;
  /** The folder that a relative `file` is resolved from; by default the working directory. */
  readonly cwd?: string;
  readonly overrides?: Overrides;
  /** False if versions may be without an upstream, such as in an application that answers the requests itself. */
  readonly needsUpstreams?: boolean;
  /** Contracts that were parsed before; new ones are added. */
  readonly parsed?: ParsedContracts;
}

/** Checks the text of a routes.yaml. `file` names it in faults; relative paths are resolved from its folder. */
export function parseConfig(text: string | Uint8Array, file: string, options: ParseOptions = {}): ConfigResult {
  const { env = process.env, clock = systemClock, cwd = '.', overrides = {}, needsUpstreams, parsed } = options;
  const path = realPathOf(resolve(cwd, file));
  const decoded = decodeIfUtf8(text);
  if (decoded !== undefined) {
    const reading = applyOverrides(readYaml(decoded, file, dirname(path), env), overrides);
    return validate(reading, clock.now(), { needsUpstreams, parsed, file: path });
  }
  return { snapshot: undefined, faults: [wholeFileFault(file, 'encoding')], warnings: [] };
}

function orThrow({ snapshot, faults }: ConfigResult): Snapshot {
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}

/** Values of command-line options that replace those of the file, in the syntax of the file: `host:port`. */
export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
}

/** Replaces values before the check, so that the same rules apply to them. A fault names the option, not the file. */
function applyOverrides(reading: Reading, overrides: Overrides): Reading {
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
  /** The host of `gateway.admin`; empty: every interface. */
  readonly host: string;
  readonly port: number;
  /** '' if the file has no token, or if its token is a variable that is not set here. */
  readonly token: string;
}

/**
 * The address of the admin listener in a routes.yaml. Ignores other faults of the file: a command that calls the gateway
 * may run without the gateway's environment variables. Undefined: the file has no address; `broken`: it is not YAML;
 * `unusable`: the value is not an address that can be called.
 */
export function adminAddressIn(text: string, env: NodeJS.ProcessEnv): AdminAddress | 'broken' | 'unusable' | undefined {
  const { source, isBroken } = readYaml(text, '', '', env);
  if (isBroken) return 'broken';
  const gateway = isMap(source.tree) ? source.tree['gateway'] : undefined;
  if (!isMap(gateway) || gateway['admin'] === undefined) return undefined;
  const { success, data } = hostPort.safeParse(gateway['admin']);
  if (!success || data.port === 0) return 'unusable';
  const token = textOf(gateway['admin_token']);
  return { host: data.host, port: data.port, token };
}

/** The text of a scalar. A value with variables is an `ExpandedText`, whose text has the values of the variables. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isMap(value) && typeof value['text'] === 'string' ? value['text'] : '';
}
