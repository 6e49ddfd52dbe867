import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { shortened } from '../../shared/text.ts';
import {
  type KeyAndValue,
  pairsOf,
  positionOf,
  readYamlText,
  startOfNode,
  writtenText,
  type YamlText,
} from '../../shared/yaml/yamlText.ts';
import { isMergeKey } from '../../shared/yaml/yamlValue.ts';
import { type Fault, UnreadableFileError } from '../fault.ts';
import { decodeIfUtf8, readBytes } from '../location.ts';
import { yamlFault, yamlFaults } from '../readDocument.ts';
import { interpolate, type Variables } from './interpolate.ts';
import {
  type ComposeEntry,
  type ComposeNode,
  type FilePosition,
  faultIn,
  type MapNode,
  mapEntries,
  mapOf,
  normaliseService,
} from './node.ts';

// Much larger than any file written by hand.
const largestFileBytes = 4 * 1024 * 1024;
const maxFiles = 100;

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
  readonly missingVariables: Fault[] = [];
  /** `Fault.file` → the text of the file. */
  readonly texts = new Map<string, string>();
  /** `Fault.file` → the folder that relative paths in the file are resolved from. */
  readonly folders = new Map<string, string>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Undefined: the file is not used, and `faults` has the reason. @throws UnreadableFileError */
  read(file: string, folder: string, variables: Variables): ComposeFile | undefined {
    const text = this.#text(file);
    if (text === undefined) return undefined;
    this.folders.set(file, folder);
    const { root, faults, missingVariables } = parseCompose(text, file, variables);
    // The faults of a file that is included or extended twice are reported once.
    if (!this.texts.has(file)) {
      this.faults.push(...faults);
      this.missingVariables.push(...missingVariables);
    }
    this.texts.set(file, text);
    if (faults.length > 0 && !root) return undefined;
    const at = { file, line: 1, column: 1 };
    if (root?.kind !== 'map' || !isCompose(root)) {
      const remedy = 'Name a file with `services:` at its top level.';
      this.faults.push(faultIn(root?.at ?? at, [], 'This is not a Compose file.', remedy));
      return undefined;
    }
    return { root: this.#withNormalisedServices(root), folder, variables };
  }

  /** Reads a file that another file refers to. An unreadable path is a fault of the referring file, at `at`. */
  readFrom(from: ComposeFile, path: string, at: FilePosition, variables?: Variables): ComposeFile | undefined {
    const file = path.startsWith('/') ? path : join(dirname(at.file), path);
    const absolute = resolve(from.folder, path);
    if (this.folders.size >= maxFiles && !this.folders.has(file)) {
      this.faults.push(faultIn(at, [], `The project has more than ${maxFiles} files.`, 'Name fewer.'));
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
      bytes = readBytes(resolve(this.#cwd, file));
    } catch (error) {
      throw error instanceof UnreadableFileError ? new UnreadableFileError(file, error.cause) : error;
    }
    const text = bytes.length > largestFileBytes ? undefined : decodeIfUtf8(bytes);
    const [message, remedy] =
      bytes.length > largestFileBytes
        ? ['The file is larger than 4 MiB.', 'Split it.']
        : ['The file is not UTF-8.', 'Save it as UTF-8.'];
    if (text === undefined) this.faults.push(faultIn({ file, line: 1, column: 1 }, [], message, remedy));
    return text;
  }

  #withNormalisedServices(root: MapNode): MapNode {
    const services = mapEntries(root.entries.get('services')?.value).flatMap(([name, entry]) => {
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
export function readEnvFile(file: string): Variables | undefined {
  try {
    return parseEnv(decodeIfUtf8(readBytes(file)) ?? '');
  } catch (error) {
    if (error instanceof UnreadableFileError) return undefined;
    throw error;
  }
}

/** The variables of Compose in a folder: `.env`, overridden by the environment. */
export function variablesIn(folder: string, env: Variables): Variables {
  return { ...readEnvFile(resolve(folder, '.env')), ...env };
}

/** The name of the project as in the labels of its containers. `given`: the `name` in the file. */
export function projectName(given: string | undefined, folder: string, variables: Variables): string {
  const name = variables['COMPOSE_PROJECT_NAME'] || given || folder.split('/').at(-1) || '';
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
}

// Limits the text of `${NAME:?text}` in a message. The text often contains a command that generates the value, and a part of a
// command is useless.
const longestReason = 400;

interface Walker {
  readonly file: string;
  readonly yaml: YamlText;
  readonly variables: Variables;
  readonly faults: Fault[];
  readonly missingVariables: Fault[];
}

/** Reads one Compose file, replaces its variables and follows aliases and merge keys; no root for an empty file. */
function parseCompose(text: string, file: string, variables: Variables) {
  const yaml = readYamlText(text);
  if (!yaml.isReadable) return { root: undefined, faults: yamlFaults(yaml, text, file), missingVariables: [] };
  // Unknown tags are ignored: Compose has tags of its own, and other tags do not matter here.
  const problems = yaml.problems.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  const faults = problems.map((problem) => yamlFault(file, yaml, problem));
  const missingVariables: Fault[] = [];
  if (!yaml.root) return { root: undefined, faults, missingVariables };
  const walker: Walker = { file, yaml, variables, faults, missingVariables };
  const root = walk(walker, yaml.root, positionIn(walker, yaml.root, { file, line: 1, column: 1 }));
  return { root, faults, missingVariables };
}

function walk(walker: Walker, node: Node | null, at: FilePosition): ComposeNode {
  const target = isAlias(node) ? walker.yaml.aliases.get(node) : node;
  const tag = tagOf(target);
  if (isMap(target)) return walkMap(walker, pairsOf(target), at, tag);
  if (isSeq(target)) {
    const items = target.items.map((item) => walk(walker, item as Node, positionIn(walker, item as Node, at)));
    return { kind: 'list', items, at, tag };
  }
  if (!isScalar(target) || target.value === null) return { kind: 'scalar', text: undefined, unset: [], at, tag };
  // Uses the text in the file: 0x10, 1_000 and 3001 are not numbers here.
  const { text, unset, requiredButUnset, problems } = interpolate(writtenText(target), walker.variables);
  const remedy = 'Set it in the environment of Compose or in .env; a plain dollar sign is written $$.';
  for (const problem of problems) walker.faults.push(faultIn(at, [], problem, remedy));
  for (const { name, reason } of requiredButUnset) {
    const message = `The variable ${name} is required here, and it is not set.`;
    const remedyOrReason = reason === '' ? remedy : `Text in the Compose file: ${shortened(reason, longestReason)}`;
    walker.missingVariables.push(faultIn(at, [], message, remedyOrReason));
  }
  return { kind: 'scalar', text, unset, at, tag };
}

/** The keys of a map override those that `<<` merges into it. If several merged maps have a key, the first map is used. */
function walkMap(
  walker: Walker,
  pairs: readonly KeyAndValue[],
  at: FilePosition,
  tag: ComposeNode['tag'],
): ComposeNode {
  const merged = new Map<string, ComposeEntry>();
  const own = new Map<string, ComposeEntry>();
  for (const { key, value } of pairs) {
    const keyPosition = positionIn(walker, key, at);
    const valuePosition = positionOf(walker.yaml.lines, value, key);
    const node = walk(walker, value, valuePosition ? { file: walker.file, ...valuePosition } : keyPosition);
    if (!isMergeKey(key)) own.set(isScalar(key) ? String(key.value) : '', { key: keyPosition, value: node });
    else {
      const maps = node.kind === 'list' ? node.items : [node];
      for (const [mergedKey, entry] of maps.flatMap(mapEntries))
        if (!merged.has(mergedKey)) merged.set(mergedKey, entry);
    }
  }
  return mapOf([...merged, ...own], at, tag);
}

function positionIn({ file, yaml }: Walker, node: Node | null, fallback: FilePosition): FilePosition {
  const position = startOfNode(yaml.lines, node);
  return position ? { file, ...position } : fallback;
}

function tagOf(node: Node | null | undefined): ComposeNode['tag'] {
  if (node?.tag === '!reset') return 'reset';
  return node?.tag === '!override' ? 'override' : undefined;
}
