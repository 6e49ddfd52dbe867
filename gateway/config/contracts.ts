import { realpathSync } from 'node:fs';
import type { Documents } from '../contract/document/documents.ts';
import { below, entriesOf, itemsOf, type Located, refOf } from '../contract/document/located.ts';
import { type LocalContract, localContract } from '../contract/document/open.ts';
import { CompareError } from '../contract/failure.ts';
import { SourceError } from '../contract/source/source.ts';
import { largestContractBytes, reasonOf } from '../shared/fileSystem.ts';
import { isMap } from '../shared/json.ts';
import { PathTable, withoutVersion } from '../shared/pathTable.ts';
import { parseYaml, YamlError } from '../shared/yaml/yamlValue.ts';
import { segmentOf } from './api.ts';
import { digestOf, type ReferencedFiles } from './referencedFiles.ts';
import { instant } from './schema/units.ts';
import {
  type Contract,
  type ContractEnd,
  contractMethods,
  endDateKeys,
  isUnusable,
  type Snapshot,
  type UnusableContract,
} from './snapshot.ts';

const maxParsedContracts = 32;

type FileContent = Extract<ReturnType<ReferencedFiles['read']>, { readonly digest: string }>;

/** The parts of a contract that a snapshot contains, and the files that they come from. */
type ParsedContract = Pick<Contract, 'files' | 'paths' | 'isSwagger' | 'headers' | 'ends'>;

/** Contracts by their content, so that an unchanged contract is not parsed again. */
export class ParsedContracts {
  readonly #onParse: (file: string) => void;
  /** The version, the real path of the main document and its digest → the contract. */
  readonly #byContent = new Map<string, ParsedContract | UnusableContract>();

  /** `onParse` is called with each file before it is parsed. */
  constructor(onParse: (file: string) => void = () => {}) {
    this.#onParse = onParse;
  }

  /** Adds the contracts of a snapshot. */
  add({ sortedVersions }: Snapshot): void {
    for (const { name, contract } of sortedVersions)
      if (contract) this.#keep(keyOf(segmentOf(name), contract.file, contract.files[0]?.[1]), contract);
  }

  /** The parsed contract, which is parsed now if its content is new. */
  findOrParse(file: string, version: string, { text, digest }: FileContent, files: ReferencedFiles) {
    const key = keyOf(version, file, digest);
    const cached = this.#byContent.get(key);
    const isCurrent =
      cached &&
      (isUnusable(cached) || cached.files.slice(1).every(([other, known]) => digestIn(files, other) === known));
    if (!isCurrent) this.#onParse(file);
    return this.#keep(key, isCurrent ? cached : parseContract(file, digest, text(), version, files));
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

/** References are relative to the real path. A link may lead elsewhere, with the same content. */
function keyOf(version: string, file: string, digest: string | undefined): string {
  return `${version} ${digest} ${realPathOrSelf(file)}`;
}

function realPathOrSelf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/**
 * Reads the path templates, the header parameters and the deprecated operations of an OpenAPI document, YAML or JSON, and of the local
 * files that it refers to.
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
  const contract = parsed.findOrParse(file, version, content, files);
  if (isUnusable(contract)) return contract;
  const { paths, isSwagger, headers, ends } = contract;
  // A contract that was kept may have been read by another name of the same file.
  const contractFiles = [[file, content.digest] as const, ...contract.files.slice(1)];
  const digests = contractFiles.map(([, digest]) => digest);
  const digest = digests.length === 1 ? content.digest : digestOf(digests.join(' '));
  return { file, publish, digest, files: contractFiles, paths, isSwagger, headers, ends };
}

/** The digest of a file; '' if it cannot be read. */
function digestIn(files: ReferencedFiles, file: string): string {
  const content = files.read(file, largestContractBytes);
  return 'digest' in content ? content.digest : '';
}

function parseContract(
  file: string,
  digest: string,
  text: string,
  version: string,
  files: ReferencedFiles,
): ParsedContract | UnusableContract {
  const document = parseJsonOrYaml(text);
  if (isUnusable(document)) return document;
  const problem = whyNotOpenApi(document);
  if (problem !== undefined) return problem;
  const read = (path: string): Uint8Array => {
    const content = files.read(path, largestContractBytes);
    if ('reason' in content) throw new SourceError(content.reason, content.remedy);
    return content.bytes;
  };
  let local: LocalContract;
  try {
    local = localContract(file, document, read);
  } catch (error) {
    // The file may have been removed since it was read.
    return { problem: `cannot be read: ${reasonOf(error)}`, remedy: 'Correct the path.' };
  }
  const { documents, files: places, missing } = local;
  const items = pathItemsOf(documents).map(([path, item]) => [withoutVersion(path, version), item] as const);
  return {
    files: [
      [file, digest],
      ...places.slice(1).map(({ path, key }) => [path, digestIn(files, key)] as const),
      ...missing.map((path) => [path, ''] as const),
    ],
    paths: new PathTable(items.map(([path, item]) => [path, methodsIn(item)] as const)),
    isSwagger: isMap(document) && document['openapi'] === undefined,
    headers: headersIn(
      documents,
      items.map(([, item]) => item),
    ),
    ends: items.flatMap(([path, item]) => endsIn(path, item)),
  };
}

/** The names of the header parameters of path items and their operations. */
function headersIn(documents: Documents, items: readonly PathItem[]): string[] {
  const owners = items.flatMap((item) => [
    ...item.parts,
    ...contractMethods.flatMap((name) => operationIn(item, name) ?? []),
  ]);
  const names = owners
    .flatMap((owner) => itemsOf(below(owner, 'parameters')))
    .flatMap((written) => {
      const parameter = targetOf(written, documents)?.value;
      if (!isMap(parameter) || parameter['in'] !== 'header' || typeof parameter['name'] !== 'string') return [];
      return [parameter['name'].toLowerCase()];
    });
  return [...new Set(names)];
}

/** A path item, and the one that its `$ref` leads to. Members of the first win. */
interface PathItem {
  readonly parts: readonly Located[];
}

function operationIn({ parts }: PathItem, method: string): Located | undefined {
  return parts.map((part) => below(part, method)).find(({ value }) => isMap(value));
}

/** What a `$ref` leads to; undefined if that cannot be read. */
function targetOf(located: Located, documents: Documents): Located | undefined {
  try {
    return documents.resolve(located);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}

/** The methods of a path item: `GET PUT`. Empty if they are unknown. */
function methodsIn(item: PathItem): string {
  const methods = contractMethods.filter((name) => operationIn(item, name));
  return methods.join(' ').toUpperCase();
}

/** Epoch ms, or what is wrong with the date; undefined: there is none. */
type ContractDate = number | string | undefined;

/** The operations with `deprecated: true` and a date. */
function endsIn(path: string, item: PathItem): ContractEnd[] {
  return contractMethods.flatMap((name) => {
    const operation = operationIn(item, name)?.value;
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

function whyNotOpenApi(document: unknown): UnusableContract | undefined {
  const remedy = 'Name an OpenAPI document, 3.x or 2.0.';
  if (!isMap(document) || (document['openapi'] === undefined && document['swagger'] === undefined))
    return { problem: 'is not an OpenAPI document', remedy };
  const paths = document['paths'];
  if (paths === undefined || paths === null || isMap(paths)) return undefined;
  return { problem: 'has `paths` that are not a map', remedy };
}

function pathItemsOf(documents: Documents): (readonly [path: string, PathItem])[] {
  // A template with a control character never matches: no path of a request contains one.
  const usable = entriesOf(below(documents.root, 'paths')).filter(
    ([path]) => path.startsWith('/') && !/\p{Cc}/u.test(path),
  );
  return usable.map(([path, item]) => {
    const target = refOf(item.value) === undefined ? undefined : targetOf(item, documents);
    return [path, { parts: target ? [item, target] : [item] }] as const;
  });
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
