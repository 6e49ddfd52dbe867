import { reasonOf, UnsuitableFileError } from '../shared/fileSystem.ts';
import { maskUserinfo, printable, shortened } from '../shared/text.ts';
import { ExpandedText } from './expand.ts';

/** A fault or a warning about a routes.yaml. A file with a fault is not used; a file that only has warnings is used. */
export interface Fault {
  /** As the caller named the file; undefined for a document given as an object. */
  readonly file: string | undefined;
  /** From 1; undefined where there is no text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** `routes./v1.sunset`; empty for the document as a whole. */
  readonly path: string;
  /** The value at the path, with secrets masked; undefined for a map, a list or a missing key. */
  readonly value: string | undefined;
  readonly message: string;
  readonly remedy: string;
}

/** A file cannot be used. `faults`: every fault of the file, in the order of the lines. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
  }
}

/** A file is missing or cannot be read. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
  readonly file: string;

  constructor(file: string, cause: unknown) {
    const remedy = cause instanceof UnsuitableFileError ? `.  ${cause.remedy.replace(/\.$/, '')}` : '';
    super(`${file} cannot be read: ${reasonOf(cause)}${remedy}`, { cause });
    this.file = file;
  }
}

/** `routes.yaml:7:13  routes./v1.sunset`, with message and remedy on a second line. */
export function formatFault(fault: Fault): string {
  const place = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  const head = [place, fault.path].filter((part) => part !== '').join('  ');
  return `${head === '' ? 'configuration' : head}\n  ${fault.message}  ${fault.remedy}`;
}

/** Orders faults by line. Faults without a line follow in their original order. */
export function byPlace(a: Fault, b: Fault): number {
  if (a.line === undefined || b.line === undefined) return Number(a.line === undefined) - Number(b.line === undefined);
  return a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
}

export type Path = readonly (string | number)[];

/** The path of a value within its API, which is the path in a file of its own. */
export function pathInApi(path: Path): Path {
  return path[0] === 'apis' ? path.slice(2) : path;
}

// Also matches misspelt keys, because the fault for `admin_tokn: …` shows the line.
const secretKeyPattern = /t[a-z]{0,2}k[a-z]{0,2}n|secr|passw|pwd|credent|admin_?t|tag_?k/i;

const plainWebhookKeys: ReadonlySet<unknown> = new Set(['format', 'events', 'digest']);

export function isSecret(path: Path): boolean {
  // The path in the URL of a webhook is often a secret. An unknown key may be a misspelt `url`.
  const [section, , key] = pathInApi(path);
  if (section === 'notify' && typeof key === 'string') return !plainWebhookKeys.has(key);
  return path.some((key) => typeof key === 'string' && !key.includes('/') && secretKeyPattern.test(key));
}

/**
 * Hides the secrets in one line of a file: the value of a key such as `admin_token:`, and user and password of URLs. `isNotify`:
 * the line belongs to `notify`, so the whole value of `url` is hidden, even if the key is misspelt or the value is no valid URL.
 */
export function maskLine(line: string, isNotify = false): string {
  const quotedMasked = line.replace(/"[^"]*"|'[^']*'/g, (quoted) => quoted.replace(/\/\/.*@/, '//***@'));
  // If the URL is that of a webhook, its path is often a secret. The URL of a target has no path.
  const hasUrlKey = /\burl["']?\s*:/.test(line);
  const masked = maskUserinfo(
    hasUrlKey ? quotedMasked.replace(/(https?:\/\/[^\s/"',}]+\/)[^\s"',}]+/g, '$1***') : quotedMasked,
  );
  const keyMatches = [...masked.matchAll(/(?<![\w/-])([\w-]+)["']?\s*:\s*(?=\S)/g)];
  const secretKey = keyMatches.find(([, key]) =>
    isSecret(isNotify && key !== 'notify' ? ['notify', 0, key ?? ''] : [key ?? '']),
  );
  return secretKey ? `${masked.slice(0, secretKey.index + secretKey[0].length)}***` : masked;
}

/** A value as a fault quotes it; undefined for a map, a list, null and a missing value. */
export function quotedValue(value: unknown, path: Path): string | undefined {
  const plain = value instanceof ExpandedText ? value.text : value;
  if (plain === undefined || plain === null || typeof plain === 'object') return undefined;
  if (isSecret(path)) return '***';
  const text = String(plain);
  const shown = /^[^\s"\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
  // A password may contain any character, spaces included, so everything up to the last @ is masked.
  const masked = printable(maskUserinfo(shown.replace(/\/\/.*@/, '//***@')));
  return shortened(masked);
}
