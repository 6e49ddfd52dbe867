import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { type Fault, UnreadableFileError } from '../fault.ts';
import { decode, readText } from '../location.ts';
import { faultIn } from './finding.ts';
import type { Variables } from './interpolate.ts';
import { type ComposeNode, entriesOf, type FilePosition, type MapNode, mapOf, normaliseService } from './node.ts';
import { parseCompose } from './parse.ts';

// Much larger than any file written by hand.
const largestText = 4 * 1024 * 1024;
const mostFiles = 100;

/** One file of a project, with normalised services. */
export interface ComposeFile {
  readonly root: MapNode;
  /** Absolute; relative paths in the file are resolved from here. */
  readonly folder: string;
  readonly variables: Variables;
}

/** Reads the files of a project and collects their faults. */
export class ComposeReader {
  readonly faults: Fault[] = [];
  /** Required variables that are not set. */
  readonly missing: Fault[] = [];
  /** By the name of the file in faults. */
  readonly texts = new Map<string, string>();
  /** The folder that relative paths are resolved from, by the same name. */
  readonly folders = new Map<string, string>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** @throws UnreadableFileError */
  read(file: string, folder: string, variables: Variables): ComposeFile | undefined {
    const text = this.#text(file);
    if (text === undefined) return undefined;
    this.folders.set(file, folder);
    const { root, faults, missing } = parseCompose(text, file, variables);
    // The faults of a file that is included or extended twice are reported once.
    if (!this.texts.has(file)) {
      this.faults.push(...faults);
      this.missing.push(...missing);
    }
    this.texts.set(file, text);
    if (faults.length > 0 && !root) return undefined;
    const at = { file, line: 1, column: 1 };
    if (root?.kind !== 'map' || !isCompose(root)) {
      const remedy = 'Name a file with `services:` at its top level.';
      this.faults.push(faultIn(root?.at ?? at, [], 'This is not a Compose file.', remedy));
      return undefined;
    }
    return { root: this.#checked(root), folder, variables };
  }

  /** Reads a file that another file refers to. An unreadable path is a fault of the referring file, at `at`. */
  readFrom(from: ComposeFile, path: string, at: FilePosition, variables?: Variables): ComposeFile | undefined {
    const file = path.startsWith('/') ? path : join(dirname(at.file), path);
    const absolute = resolve(from.folder, path);
    if (this.folders.size >= mostFiles && !this.folders.has(file)) {
      this.faults.push(faultIn(at, [], `The project has more than ${mostFiles} files.`, 'Name fewer.'));
      return undefined;
    }
    try {
      return this.read(file, dirname(absolute), variables ?? from.variables);
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      this.faults.push(faultIn(at, [], `${error.message}.`, 'Correct the path.', path));
      return undefined;
    }
  }

  #text(file: string): string | undefined {
    let bytes: Uint8Array;
    try {
      bytes = readText(resolve(this.#cwd, file));
    } catch (error) {
      throw error instanceof UnreadableFileError ? new UnreadableFileError(file, error.cause) : error;
    }
    const text = bytes.length > largestText ? undefined : decode(bytes);
    const [message, remedy] =
      bytes.length > largestText
        ? ['The file is larger than 4 MiB.', 'Split it.']
        : ['The file is not UTF-8.', 'Save it as UTF-8.'];
    if (text === undefined) this.faults.push(faultIn({ file, line: 1, column: 1 }, [], message, remedy));
    return text;
  }

  #checked(root: MapNode): MapNode {
    const services = entriesOf(root.entries.get('services')?.value).flatMap(([name, entry]) => {
      if (entry.value.kind === 'map') return [[name, { ...entry, value: normaliseService(entry.value) }] as const];
      if (entry.value.tag === 'reset') return [[name, entry] as const];
      this.faults.push(
        faultIn(entry.key, ['services', name], 'A service must be a map.', 'Give it an image or a build.'),
      );
      return [];
    });
    const value: ComposeNode = mapOf(services, root.entries.get('services')?.value.at ?? root.at);
    const key = root.entries.get('services')?.key ?? root.at;
    return mapOf([...root.entries, ['services', { key, value }]], root.at);
  }
}

function isCompose(root: MapNode): boolean {
  const services = root.entries.get('services')?.value;
  return services === undefined ? root.entries.has('include') : services.kind === 'map';
}

/** The variables of an env file; undefined if it cannot be read. */
export function envFile(file: string): Variables | undefined {
  try {
    return parseEnv(decode(readText(file)) ?? '');
  } catch (error) {
    if (error instanceof UnreadableFileError) return undefined;
    throw error;
  }
}

/** The variables of Compose in a folder: `.env`, overridden by the environment. */
export function variablesIn(folder: string, env: Variables): Variables {
  return { ...envFile(resolve(folder, '.env')), ...env };
}

/** The name of the project as in the labels of its containers. `given`: the `name` in the file. */
export function projectName(given: string | undefined, folder: string, variables: Variables): string {
  const name = variables['COMPOSE_PROJECT_NAME'] || given || folder.split('/').at(-1) || '';
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
}
