import { fileURLToPath } from 'node:url';
import { HttpClient, httpUses } from '../../shared/httpClient.ts';
import { isMap } from '../../shared/json.ts';
import { maskUserinfo } from '../../shared/text.ts';
import { parseYaml, YamlError } from '../../shared/yaml/yamlValue.ts';
import { CompareError } from '../failure.ts';
import {
  decodeUtf8,
  type FileSource,
  isWebUrl,
  MissingFileError,
  SourceError,
  type SourceFile,
  schemeOf,
} from '../source/source.ts';
import { fetchDocument, type WebLimits } from '../source/web.ts';
import { findJsonError } from './jsonSyntax.ts';
import {
  addressOf,
  type ContractFile,
  type ContractPlace,
  discriminatorMapping,
  isList,
  isMappedReference,
  ownValue,
  refOf,
} from './located.ts';
import { textPositionAt } from './positions.ts';

/** The files of one contract. Each is read and parsed once. Local files are read when they are first needed. */
export class ContractFiles {
  readonly #source: FileSource;
  readonly #web: WebDocuments;
  /** `SourceFile.key` → local file. */
  readonly #byKey = new Map<string, ContractFile>();
  readonly #places = new Map<ContractFile, SourceFile>();

  /** Without `webLimits`, nothing is fetched from the web. */
  constructor(source: FileSource, webLimits: WebLimits | undefined) {
    this.#source = source;
    this.#web = new WebDocuments(webLimits);
  }

  /** Adds a file that has been read already. */
  add(place: SourceFile, file: ContractFile): ContractFile {
    this.#byKey.set(place.key, file);
    this.#places.set(file, place);
    return file;
  }

  /**
   * Opens the file that a `$ref` refers to. `reference` is the part before its `#`; the `$ref` is in the file `from`, at
   * `place`. @throws CompareError
   */
  open(reference: string, from: ContractFile, place?: ContractPlace): ContractFile {
    try {
      const url = this.#urlOf(reference, from);
      return url === undefined ? this.#openLocal(reference, from) : this.#web.get(url);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      const message = `refers to ${maskUserinfo(JSON.stringify(reference))}, which ${error.message}`;
      throw new CompareError(place ? addressOf(place) : from.name, message, error.remedy, error);
    }
  }

  /**
   * Fetches every web document that can be reached from `entry`. An error is reported only when the comparison follows the
   * `$ref` to the document, because a `$ref` inside an example is plain data.
   */
  async fetchFrom(entry: ContractFile): Promise<void> {
    const { limits } = this.#web;
    if (!limits) return;
    const client = new HttpClient({ ...httpUses.contracts, networks: limits.networks });
    const deadline = AbortSignal.timeout(limits.totalMs);
    const files = new Set([entry]);
    try {
      // The set grows during the loop.
      for (const file of files) {
        const references = [...fileReferencesIn(file)];
        const urls = references.map((reference) => undefinedOnError(() => this.#urlOf(reference, file)));
        const fetched = urls.map((url) => url !== undefined && this.#web.fetch(url, limits, deadline, client));
        await Promise.all(fetched);
        for (const reference of references) {
          const referenced = undefinedOnError(() => this.open(reference, file));
          if (referenced) files.add(referenced);
        }
      }
    } finally {
      await client.close();
    }
  }

  /**
   * All local files that can be reached from `entry`, which is the first of them. A file that cannot be read is left out: the
   * caller that follows a `$ref` to it gets the reason. `missing`: the paths at which there is no file.
   */
  localFilesFrom(entry: ContractFile): {
    readonly found: ReadonlyMap<ContractFile, SourceFile>;
    readonly missing: readonly string[];
  } {
    const found = new Map<ContractFile, SourceFile>();
    const missing = new Set<string>();
    const waiting = new Set([entry]);
    // The set grows during the loop.
    for (const file of waiting) {
      const place = this.#places.get(file);
      if (place === undefined) continue;
      found.set(file, place);
      for (const reference of fileReferencesIn(file)) {
        if (isWebUrl(reference)) continue;
        try {
          waiting.add(this.open(reference, file));
        } catch (error) {
          if (
            error instanceof CompareError &&
            error.cause instanceof MissingFileError &&
            error.cause.path !== undefined
          )
            missing.add(error.cause.path);
        }
      }
    }
    return { found, missing: [...missing] };
  }

  /** Undefined for a local file. @throws SourceError */
  #urlOf(reference: string, from: ContractFile): string | undefined {
    const base = this.#web.urlOf(from);
    if (base === undefined && !isWebUrl(reference)) return undefined;
    const url = URL.parse(reference, base);
    if (url === null) throw new SourceError('is not a URL', 'Correct the $ref.');
    if (!isWebUrl(url.href)) {
      throw new SourceError(
        // `open` puts "refers to …, which" before it.
        'a web document must not refer to',
        'Refer to a web document, or keep local copies of both.',
      );
    }
    return url.href;
  }

  #openLocal(reference: string, from: ContractFile): ContractFile {
    const path = this.#places.get(from)?.path;
    if (path === undefined) throw new SourceError('is relative to an unknown folder', 'Read the contract from a file.');
    const target = this.#source.locate(pathOf(reference), path);
    const known = this.#byKey.get(target.key);
    if (known) return known;
    this.#prefetch(from, path);
    const text = decodeUtf8(this.#source.read(target.key));
    return this.add(target, parseFile(this.#source.nameOf(target.path), text));
  }

  /** Reads all files that `from` refers to: if one of them is needed, the others are probably needed too. */
  #prefetch(from: ContractFile, path: string): void {
    if (!this.#source.prefetch) return;
    const keys = [...fileReferencesIn(from)].flatMap((reference) => {
      try {
        return isWebUrl(reference) ? [] : [this.#source.locate(pathOf(reference), path).key];
      } catch (error) {
        if (error instanceof SourceError) return [];
        throw error;
      }
    });
    this.#source.prefetch(keys.filter((key) => !this.#byKey.has(key)));
  }
}

/** The web documents of one contract. All are fetched before the comparison, because the comparison is synchronous. */
class WebDocuments {
  readonly limits: WebLimits | undefined;
  /** URL → the document, or why it could not be fetched. */
  readonly #results = new Map<string, ContractFile | Error>();
  /** Document → the URL it was fetched from, after redirects. */
  readonly #urls = new Map<ContractFile, string>();
  #remainingDocuments: number;
  #remainingBytes: number;

  constructor(limits: WebLimits | undefined) {
    this.limits = limits;
    this.#remainingDocuments = limits?.documents ?? 0;
    this.#remainingBytes = limits?.totalBytes ?? 0;
  }

  /** Where a file was fetched from; undefined for a local file. */
  urlOf(file: ContractFile): string | undefined {
    return this.#urls.get(file);
  }

  /** @throws SourceError, CompareError */
  get(url: string): ContractFile {
    const result = this.#results.get(url);
    if (result instanceof Error) throw result;
    if (result) return result;
    const remedy = 'Allow it with --allow-remote, or keep a local copy beside the contract.';
    throw new SourceError('is on the web, and is not fetched', remedy);
  }

  async fetch(url: string, limits: WebLimits, deadline: AbortSignal, client: HttpClient): Promise<void> {
    if (this.#results.has(url)) return;
    this.#results.set(url, new SourceError('has not been fetched yet', 'Try again.'));
    try {
      this.#remainingDocuments -= 1;
      if (this.#remainingDocuments < 0) {
        throw new SourceError(`exceeds the limit of ${limits.documents} web documents`, 'Keep local copies.');
      }
      const { bytes, url: finalUrl } = await fetchDocument(url, limits, deadline, client);
      this.#remainingBytes -= bytes.length;
      if (this.#remainingBytes < 0)
        throw new SourceError('exceeds the total size of web documents', 'Keep local copies.');
      this.#results.set(url, this.#parseOnce(finalUrl, bytes));
    } catch (error) {
      const failure = new SourceError(`cannot be fetched: ${maskUserinfo(url)}`, 'Try again.');
      this.#results.set(url, error instanceof Error ? error : failure);
    }
  }

  /** Two URLs that redirect to the same document share one file. */
  #parseOnce(url: string, bytes: Uint8Array): ContractFile {
    const known = this.#results.get(url);
    if (known && !(known instanceof Error)) return known;
    const file = parseFile(maskUserinfo(url), decodeUtf8(bytes));
    this.#results.set(url, file);
    this.#urls.set(file, url);
    return file;
  }
}

/** The parts before the `#` of all `$ref`s and mapped references in a file, except absolute URIs that are an `$id` in the same file. */
function fileReferencesIn(file: ContractFile): Set<string> {
  const references = new Set<string>();
  const ids = new Set<unknown>();
  const seen = new Set<unknown>();
  const waiting: unknown[] = [file.root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if ((!isMap(value) && !isList(value)) || seen.has(value)) continue;
    seen.add(value);
    for (const one of [refOf(value), ...mappedReferences(value)]) {
      const reference = one?.split('#', 1)[0];
      if (reference) references.add(reference);
    }
    if (isMap(value)) ids.add(ownValue(value, '$id'));
    for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) waiting.push(inner);
  }
  return new Set([...references].filter((one) => schemeOf(one) === undefined || !ids.has(one)));
}

/** The references in the mapping of a discriminator. Its other values are names of schemas. */
function mappedReferences(value: unknown): string[] {
  const mapping = isMap(value) ? discriminatorMapping(value) : undefined;
  return Object.values(mapping ?? {}).filter((target): target is string => isMappedReference(target));
}

/** The local path in a `$ref`. @throws SourceError */
function pathOf(reference: string): string {
  const scheme = schemeOf(reference);
  try {
    const path = scheme === 'file' ? fileURLToPath(reference) : decodeURIComponent(reference);
    if (path.includes('\0')) throw new URIError('NUL');
    if (scheme === undefined || scheme === 'file') return path;
  } catch {
    throw new SourceError('is not a valid path', 'Correct the $ref.');
  }
  throw new SourceError(`has the scheme ${scheme}:, which is not supported`, 'Name a file.');
}

function undefinedOnError<T>(compute: () => T): T | undefined {
  try {
    return compute();
  } catch {
    return undefined;
  }
}

// The JSON parser has no limit of its own, but the recursive functions that read its result would overflow the stack.
const maxDepth = 1000;
// A longer text that begins like JSON is not tried as YAML: the YAML parser would take seconds to reject it.
const maxAmbiguousLength = 2_000_000;

type ParsedText = Pick<ContractFile, 'root' | 'yaml'>;

interface ParseProblem {
  readonly offset: number;
  /** A predicate: "is not JSON: …". */
  readonly message: string;
  readonly remedy: string;
}

const tooDeep: ParseProblem = {
  offset: 0,
  message: 'is nested too deeply to be read',
  remedy: `Use at most ${maxDepth} levels of maps and lists.`,
};

/** Parses JSON or YAML, whatever the extension of the file. @throws CompareError with line and column */
export function parseFile(name: string, text: string): ContractFile {
  let parsed = /^\s*\{/.test(text) ? parseBraces(text) : tryYaml(text);
  if ('root' in parsed && depthOf(parsed.root, 1) > maxDepth) parsed = tooDeep;
  if ('root' in parsed) return { name, text, ...parsed };
  const { line, column } = textPositionAt(text, parsed.offset);
  throw new CompareError(`${name}:${line}:${column}`, parsed.message, parsed.remedy);
}

/** Parses JSON, or YAML in flow style. If the text is neither, the problem that occurs later in the text is reported. */
function parseBraces(text: string): ParsedText | ParseProblem {
  try {
    return { root: JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep;
  }
  const { offset, message } = findJsonError(text) ?? { offset: 0, message: 'it cannot be parsed' };
  const jsonProblem = { offset, message: `is not JSON: ${message}`, remedy: 'Correct the syntax.' };
  if (text.length > maxAmbiguousLength) return jsonProblem;
  const yamlResult = tryYaml(text);
  return 'root' in yamlResult || yamlResult.offset > offset ? yamlResult : jsonProblem;
}

function tryYaml(text: string): ParsedText | ParseProblem {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError) return error;
    throw error;
  }
}

/** How deeply maps and lists are nested. Stops counting above the limit. */
function depthOf(value: unknown, level: number): number {
  if (level > maxDepth || typeof value !== 'object' || value === null) return level;
  let deepest = level;
  for (const key in value) {
    const inner: unknown = value[key as keyof typeof value];
    if (typeof inner !== 'object' || inner === null) continue;
    const depth = depthOf(inner, level + 1);
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}
