import { largestContractBytes } from '../shared/fileSystem.ts';
import { isMap, memberName } from '../shared/json.ts';
import { PathTable, withoutVersion } from '../shared/pathTable.ts';
import { parseYaml, YamlError } from '../shared/yaml/yamlValue.ts';
import type { ReferencedFiles } from './referencedFiles.ts';
import { instant } from './schema/units.ts';
import type { Contract, ContractEnd, Snapshot } from './snapshot.ts';

const maxParsedContracts = 32;

/** Why a file cannot be used as a contract. */
export interface UnusableContract {
  readonly problem: string;
  readonly remedy: string;
}

/** The parts of a contract that a snapshot contains. */
type ParsedContract = Pick<Contract, 'paths' | 'isSwagger' | 'headers' | 'ends'>;

/** Contracts by their content, so that an unchanged contract is not parsed again. */
export class ParsedContracts {
  readonly #onParse: (file: string) => void;
  /** The version and the digest of the content → the contract. */
  readonly #byContent = new Map<string, ParsedContract | UnusableContract>();

  /** `onParse` is called with each file before it is parsed. */
  constructor(onParse: (file: string) => void = () => {}) {
    this.#onParse = onParse;
  }

  /** Adds the contracts of a snapshot. */
  add({ sortedVersions }: Snapshot): void {
    for (const { name, contract } of sortedVersions) if (contract) this.#keep(`${name} ${contract.digest}`, contract);
  }

  /** The parsed contract, which is parsed now if its content is new. */
  findOrParse(file: string, version: string, { text, digest }: { text: () => string; digest: string }) {
    const key = `${version} ${digest}`;
    const cached = this.#byContent.get(key);
    if (!cached) this.#onParse(file);
    return this.#keep(key, cached ?? parseContract(text(), version));
  }

  /** Stores a contract as the newest one, and removes the oldest ones above `maxParsedContracts`. */
  #keep(key: string, contract: ParsedContract | UnusableContract): ParsedContract | UnusableContract {
    this.#byContent.delete(key);
    this.#byContent.set(key, contract);
    for (const oldest of this.#byContent.keys()) {
      if (this.#byContent.size <= maxParsedContracts) break;
      this.#byContent.delete(oldest);
    }
    return contract;
  }
}

/**
 * Reads the path templates, the header parameters and the deprecated operations of an OpenAPI document, YAML or JSON.
 * The prefix of the version is removed: `/v1/drinks` in the contract of `v1` is `/drinks`.
 */
export function readContract(
  file: string,
  publish: boolean,
  version: string,
  files: ReferencedFiles,
  parsed = new ParsedContracts(),
): Contract | UnusableContract {
  const content = files.read(file, largestContractBytes);
  if ('reason' in content) return { problem: `cannot be read: ${content.reason}`, remedy: content.remedy };
  const contract = parsed.findOrParse(file, version, content);
  if (isUnusable(contract)) return contract;
  const { paths, isSwagger, headers, ends } = contract;
  return { file, publish, digest: content.digest, paths, isSwagger, headers, ends };
}

function parseContract(text: string, version: string): ParsedContract | UnusableContract {
  const document = parseJsonOrYaml(text);
  if (isUnusable(document)) return document;
  const items = pathItemsOf(document);
  if (isUnusable(items)) return items;
  const itemsByPath = Object.entries(items).map(([path, item]) => [withoutVersion(path, version), item] as const);
  return {
    paths: new PathTable(itemsByPath.map(([path, item]) => [path, isMap(item) ? methodsIn(item) : ''] as const)),
    isSwagger: isMap(document) && document['openapi'] === undefined,
    headers: headersIn(document, Object.values(items)),
    ends: itemsByPath.flatMap(([path, item]) => (isMap(item) ? endsIn(path, item) : [])),
  };
}

/** The names of the header parameters of path items and their operations. A reference to another file is not followed. */
function headersIn(document: unknown, items: readonly unknown[]): string[] {
  const parameterOwners = items.filter(isMap).flatMap((item) => [item, ...contractMethods.map((name) => item[name])]);
  const parameterLists = parameterOwners.map((owner) => (isMap(owner) ? owner['parameters'] : undefined));
  const names = parameterLists
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((written: unknown) => {
      const ref = isMap(written) ? written['$ref'] : undefined;
      const parameter = typeof ref === 'string' ? valueAt(document, ref) : written;
      if (!isMap(parameter) || parameter['in'] !== 'header' || typeof parameter['name'] !== 'string') return [];
      return [parameter['name'].toLowerCase()];
    });
  return [...new Set(names)];
}

/** The value that a reference within the document leads to, such as `#/components/parameters/Tenant`. */
function valueAt(document: unknown, ref: string): unknown {
  const keys = ref.startsWith('#/') ? ref.slice(2).split('/') : [];
  const names = keys.map((key) => memberName(key));
  return names.reduce<unknown>(
    (value, key) => (isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document,
  );
}

/** The methods of a path item in OpenAPI. */
export const contractMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

/** The methods of a path item: `GET PUT`. Empty if they are unknown. */
function methodsIn(item: Readonly<Record<string, unknown>>): string {
  const methods = contractMethods.filter((name) => isMap(item[name]));
  return methods.join(' ').toUpperCase();
}

/** The keys of an operation that say when it is deprecated and when it ends. */
export const endDateKeys = ['x-deprecated-since', 'x-sunset'] as const;

/** Epoch ms, or what is wrong with the date; undefined: there is none. */
type ContractDate = number | string | undefined;

/** The operations with `deprecated: true` and a date. */
function endsIn(path: string, item: Readonly<Record<string, unknown>>): ContractEnd[] {
  return contractMethods.flatMap((name) => {
    const operation = item[name];
    if (!isMap(operation) || operation['deprecated'] !== true) return [];
    const [deprecation, sunset] = endDateKeys.map((key) => dateIn(operation, key)) as [ContractDate, ContractDate];
    if (deprecation === undefined && sunset === undefined) return [];
    const [problem] = [deprecation, sunset].filter((date) => typeof date === 'string');
    return [{ method: name.toUpperCase(), path, deprecation: timeOf(deprecation), sunset: timeOf(sunset), problem }];
  });
}

function dateIn(operation: Readonly<Record<string, unknown>>, key: string): ContractDate {
  if (operation[key] === undefined) return undefined;
  const { data, error } = instant.safeParse(operation[key]);
  return data ?? `${key} ${error?.issues[0]?.message}`;
}

function timeOf(date: ContractDate): number | undefined {
  return typeof date === 'number' ? date : undefined;
}

export function isUnusable(value: unknown): value is UnusableContract {
  return typeof value === 'object' && value !== null && 'problem' in value && 'remedy' in value;
}

function pathItemsOf(document: unknown): Readonly<Record<string, unknown>> | UnusableContract {
  const remedy = 'Name an OpenAPI document, 3.x or 2.0.';
  if (!isMap(document) || (document['openapi'] === undefined && document['swagger'] === undefined)) {
    return { problem: 'is not an OpenAPI document', remedy };
  }
  const paths = document['paths'];
  if (paths === undefined || paths === null) return {};
  if (!isMap(paths)) return { problem: 'has `paths` that are not a map', remedy };
  // A template with a control character never matches: no path of a request contains one.
  const usable = Object.entries(paths).filter(([path]) => path.startsWith('/') && !/\p{Cc}/u.test(path));
  return Object.fromEntries(usable.map(([path, item]) => [path, withTarget(item, document)]));
}

/** A path item with the operations that its `$ref` leads to. A reference to another file is not followed: its methods are unknown. */
function withTarget(item: unknown, document: unknown): unknown {
  const ref = isMap(item) ? item['$ref'] : undefined;
  const target = typeof ref === 'string' ? valueAt(document, ref) : undefined;
  return isMap(item) && isMap(target) ? { ...target, ...item } : item;
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
