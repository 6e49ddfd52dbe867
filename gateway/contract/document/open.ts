import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { largestContractBytes } from '../../shared/fileSystem.ts';
import { isMap, type JsonMap } from '../../shared/json.ts';
import { CompareError } from '../failure.ts';
import { GitSource, parseGitReference } from '../source/git.ts';
import {
  DiskSource,
  decodeUtf8,
  type FileSource,
  isWebUrl,
  readDisk,
  SourceError,
  type SourceFile,
  tooLarge,
  withPlaceInErrors,
  withRealFolder,
} from '../source/source.ts';
import { defaultWebLimits, type WebLimits } from '../source/web.ts';
import { bundled } from './bundle.ts';
import { ContractFiles, parseFile } from './contractFiles.ts';
import { Documents } from './documents.ts';
import { type ContractFile, isList } from './located.ts';

export interface OpenOptions {
  readonly cwd: string;
  readonly stdin: () => Promise<string> | string;
  /** Whether `$ref`s to `http:` and `https:` URLs are followed. */
  readonly allowRemote: boolean;
  /** The limit of one file. */
  readonly maxBytes?: number;
  /** Replaces some of the default limits of web documents. */
  readonly remote?: Partial<WebLimits>;
}

/** The main document of a contract, and the source of its other files. */
interface MainDocument {
  readonly source: FileSource;
  readonly file: SourceFile;
  readonly text: string;
}

/**
 * Opens a contract. `reference` is a file, `-` for standard input, or `REVISION:path`. A `$ref` in a commit may lead to any
 * file of that commit. Any other local `$ref` may lead to any file of the git working tree that contains the contract, or of
 * the contract's folder if there is no working tree.
 * @throws CompareError
 */
export async function openContract(reference: string, options: OpenOptions): Promise<Documents> {
  const { maxBytes = largestContractBytes, allowRemote, cwd } = options;
  const name = reference === '-' ? 'standard input' : reference;
  const input = reference === '-' ? await options.stdin() : undefined;
  const main = withPlaceInErrors(name, () =>
    input === undefined ? readMain(reference, cwd, maxBytes) : mainFromInput(input, cwd, maxBytes),
  );
  const webLimits = allowRemote ? { ...defaultWebLimits(maxBytes), ...options.remote } : undefined;
  const files = new ContractFiles(main.source, webLimits);
  const file = files.add(main.file, parseFile(name, main.text));
  assertOpenApi(file);
  await files.fetchFrom(file);
  return new Documents(file, (ref, from, place) => files.open(ref, from, place));
}

/** A contract on disk with all its local files, as the text of one document. @throws CompareError */
export function bundledText(path: string, format: 'json' | 'yaml'): string {
  const main = withPlaceInErrors(path, () => readMain(path, dirname(path), largestContractBytes));
  const files = new ContractFiles(main.source, undefined);
  const document = bundled(files.add(main.file, parseFile(path, main.text)), files);
  return format === 'json' ? `${JSON.stringify(document, null, 2)}\n` : stringify(document, { lineWidth: 0 });
}

/** The files of a contract, and the values that its `$ref`s lead to. */
export interface LocalContract {
  readonly documents: Documents;
  /** The main document first. */
  readonly files: readonly SourceFile[];
  /** Where files would be that a `$ref` leads to. */
  readonly missing: readonly string[];
}

/**
 * The same contract for a caller that has read and parsed the main document. `read` gets the real path of another file, and throws a
 * SourceError if it cannot be read.
 */
export function localContract(path: string, root: unknown, read: (path: string) => Uint8Array): LocalContract {
  const main: ContractFile = { name: path, root };
  const place = { key: realpathSync(path), path: withRealFolder(path) };
  const folder = dirname(place.path);
  const disk = new DiskSource({ folder, cwd: folder, maxBytes: largestContractBytes });
  const source = { locate: disk.locate.bind(disk), nameOf: disk.nameOf.bind(disk), read };
  const files = new ContractFiles(source, undefined);
  files.add(place, main);
  const documents = new Documents(main, (ref, from, at) => files.open(ref, from, at));
  const { found, missing } = files.localFilesFrom(main);
  return { documents, files: [...found.values()], missing };
}

function readMain(reference: string, cwd: string, maxBytes: number): MainDocument {
  const path = resolve(cwd, reference);
  const isOnDisk = existsSync(path);
  if (!isOnDisk && isWebUrl(reference)) {
    throw new SourceError('is on the web', 'Download it first, or pipe it to standard input and give - as its name.');
  }
  const gitReference = isOnDisk ? undefined : parseGitReference(reference);
  if (gitReference) {
    const source = new GitSource(gitReference.revision, cwd, maxBytes);
    const file = source.entry(gitReference.path);
    return { source, file, text: decodeUtf8(source.read(file.key)) };
  }
  const text = decodeUtf8(readDisk(path, maxBytes));
  // If `path` is a link, relative `$ref`s are resolved against the folder of the link.
  const file = { key: realpathSync(path), path: withRealFolder(path) };
  const source = new DiskSource({ folder: dirname(file.path), cwd, maxBytes });
  return { source, file, text };
}

/** The relative `$ref`s of standard input are resolved against the current folder. */
function mainFromInput(input: string, cwd: string, maxBytes: number): MainDocument {
  const bytes = Buffer.byteLength(input);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
  // UTF-16 that was decoded as UTF-8 contains NUL characters.
  if (input.includes('\0')) throw new SourceError('is not UTF-8', 'Convert it to UTF-8.');
  const path = join(realpathSync(cwd), '-');
  const source = new DiskSource({ folder: cwd, cwd, maxBytes });
  return { source, file: { key: '-', path }, text: input.replace(/^\uFEFF/, '') };
}

const documentRemedy = 'Name an OpenAPI document of version 3.0, 3.1 or 3.2.';

/** Other kinds of document, and a key that only they have. */
const otherKinds: readonly (readonly [key: string, kind: string])[] = [
  ['asyncapi', 'an AsyncAPI document'],
  ['arazzo', 'an Arazzo document'],
  ['overlay', 'an OpenAPI overlay'],
  ['$schema', 'a JSON Schema'],
];

/** @throws CompareError unless the file is a complete OpenAPI 3 document */
function assertOpenApi(file: ContractFile): void {
  const { root, name, text = '' } = file;
  if (!isMap(root))
    throw new CompareError(name, `${describeNonMap(root, text)}, not an OpenAPI document`, documentRemedy);
  const { openapi, swagger } = root as { openapi?: unknown; swagger?: unknown };
  if (openapi === undefined && swagger !== undefined) {
    const remedy = 'Convert it to OpenAPI 3 first.';
    throw new CompareError(name, `is Swagger ${versionText(swagger)}, not OpenAPI 3`, remedy);
  }
  if (openapi === undefined)
    throw new CompareError(name, `${describeMap(root)}, not an OpenAPI document`, documentRemedy);
  // YAML reads an unquoted 3.0 as the number 3.
  if (!/^3(?:\.[012](?:\.|$)|$)/.test(String(openapi))) {
    const message = `is OpenAPI ${versionText(openapi)}, which is not supported`;
    throw new CompareError(`${name}#/openapi`, message, documentRemedy);
  }
}

function describeNonMap(root: unknown, text: string): string {
  if (text.trim() === '') return 'is empty';
  if (/^\s*<(?:!doctype\s+html|html)\b/i.test(text)) return 'is an HTML page';
  if (root === null || root === undefined) return 'contains only comments';
  return isList(root) ? 'is a list' : 'is a single value';
}

function describeMap(root: JsonMap): string {
  const otherKind = otherKinds.find(([key]) => root[key] !== undefined);
  if (otherKind) return `is ${otherKind[1]}`;
  const { info } = root as { info?: unknown };
  if (isMap(info) && info['_postman_id'] !== undefined) return 'is a Postman collection';
  const isFragment = ['paths', 'components', 'webhooks'].some((key) => root[key] !== undefined);
  return isFragment
    ? 'has no `openapi` key: it is a part of a contract'
    : 'has no `openapi` key: it is another kind of document';
}

function versionText(version: unknown): string {
  return typeof version === 'string' || typeof version === 'number'
    ? String(version).slice(0, 20)
    : 'without a version';
}
