import { largestContract } from '../shared/fileSystem.ts';
import { PathTable } from '../shared/pathTable.ts';
import { withoutVersion } from '../shared/pathTemplate.ts';
import { parseYaml, YamlError } from '../shared/yaml/yamlValue.ts';
import type { ReferencedFiles } from './referencedFiles.ts';
import type { Contract, Snapshot } from './snapshot.ts';

const maxParsed = 32;

/** Why a file cannot be used as a contract. */
export interface UnusableContract {
  readonly problem: string;
  readonly remedy: string;
}

/** Path tables by the content of their contracts, so that an unchanged contract is not parsed again. */
export class ParsedContracts {
  readonly #onParse: (file: string) => void;
  readonly #byContent = new Map<string, PathTable<true> | UnusableContract>();

  /** `onParse` is called with each file before it is parsed. */
  constructor(onParse: (file: string) => void = () => {}) {
    this.#onParse = onParse;
  }

  /** Adds the contracts of a snapshot. */
  add({ byMajor }: Snapshot): void {
    for (const { name, contract } of byMajor) if (contract) this.#keep(`${name} ${contract.digest}`, contract.paths);
  }

  pathsIn(file: string, version: string, { text, digest }: { text: () => string; digest: string }) {
    const key = `${version} ${digest}`;
    const known = this.#byContent.get(key);
    if (!known) this.#onParse(file);
    return this.#keep(key, known ?? parsePaths(text(), version));
  }

  #keep(key: string, paths: PathTable<true> | UnusableContract): PathTable<true> | UnusableContract {
    this.#byContent.delete(key);
    this.#byContent.set(key, paths);
    for (const oldest of this.#byContent.keys()) {
      if (this.#byContent.size <= maxParsed) break;
      this.#byContent.delete(oldest);
    }
    return paths;
  }
}

/**
 * Reads the path templates of an OpenAPI document, YAML or JSON.
 * The prefix of the version is removed: `/v1/drinks` in the contract of `v1` is `/drinks`.
 */
export function readContract(
  file: string,
  publish: boolean,
  version: string,
  files: ReferencedFiles,
  parsed = new ParsedContracts(),
): Contract | UnusableContract {
  const content = files.read(file, largestContract);
  if ('reason' in content) return { problem: `cannot be read: ${content.reason}`, remedy: content.remedy };
  const paths = parsed.pathsIn(file, version, content);
  return isUnusable(paths) ? paths : { file, publish, digest: content.digest, paths };
}

function parsePaths(text: string, version: string): PathTable<true> | UnusableContract {
  const document = parseJsonOrYaml(text);
  if (isUnusable(document)) return document;
  const paths = pathsOf(document);
  return Array.isArray(paths)
    ? new PathTable(paths.map((path) => [withoutVersion(path, version), true] as const))
    : paths;
}

export function isUnusable(value: unknown): value is UnusableContract {
  return typeof value === 'object' && value !== null && 'problem' in value && 'remedy' in value;
}

function pathsOf(document: unknown): string[] | UnusableContract {
  const remedy = 'Name an OpenAPI document, 3.x or 2.0.';
  if (!isMap(document) || (document['openapi'] === undefined && document['swagger'] === undefined)) {
    return { problem: 'is not an OpenAPI document', remedy };
  }
  const paths = document['paths'];
  if (paths === undefined || paths === null) return [];
  if (!isMap(paths)) return { problem: 'has `paths` that are not a map', remedy };
  // A template with a control character never matches: no path of a request contains one.
  return Object.keys(paths).filter((path) => path.startsWith('/') && !/\p{Cc}/u.test(path));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Text that begins with a brace is read as JSON first, because the JSON parser is much faster.
function parseJsonOrYaml(text: string): unknown {
  if (!/^\s*\{/.test(text)) return valueOfYaml(text);
  try {
    return JSON.parse(text);
  } catch {
    return valueOfYaml(text);
  }
}

function valueOfYaml(text: string): unknown {
  try {
    return parseYaml(text).root;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { line, column } = error.position;
    return { problem: `${error.message} (line ${line}, column ${column})`, remedy: error.remedy };
  }
}
