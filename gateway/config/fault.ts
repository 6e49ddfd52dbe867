import { UnsuitableFileError } from '../shared/fileSystem.ts';
import { Expanded } from './expand.ts';

/** Something in a routes.yaml that has to be changed before the file can be served, or, as a warning, that ought to be. */
export interface Fault {
  /** The file as its reader named it; undefined for a document given as an object. */
  readonly file: string | undefined;
  /** From 1; undefined where there is no text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** `routes./v1.sunset`; empty for the document as a whole. */
  readonly path: string;
  /** What stands there, with secrets masked; undefined for a map, a list or a missing key. */
  readonly value: string | undefined;
  readonly message: string;
  readonly remedy: string;
}

/** A file that cannot be served. It holds every fault of the file, in the order of the lines. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
  }
}

/** The file is missing or cannot be read: nothing can be said about what is in it. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
  readonly file: string;

  constructor(file: string, cause: unknown) {
    const remedy = cause instanceof UnsuitableFileError ? `.  ${cause.remedy.replace(/\.$/, '')}` : '';
    super(`${file} cannot be read: ${reasonOf(cause)}${remedy}`, { cause });
    this.file = file;
  }
}

/** `routes.yaml:7:13  routes./v1.sunset`, and what is wrong on a second line. */
export function formatFault(fault: Fault): string {
  const place = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  const head = [place, fault.path].filter((part) => part !== '').join('  ');
  return `${head === '' ? 'configuration' : head}\n  ${fault.message}  ${fault.remedy}`;
}

/** The order of the lines; faults without a place keep their order, behind the others. */
export function byPlace(a: Fault, b: Fault): number {
  if (a.line === undefined || b.line === undefined) return Number(a.line === undefined) - Number(b.line === undefined);
  return a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'the permissions do not allow it',
  EPERM: 'the permissions do not allow it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'it is a link to itself',
};

/** Why a file cannot be read or written, in words. */
export function reasonOf(error: unknown): string {
  if (error instanceof UnsuitableFileError) return `it ${error.message}`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
  return reasons[code] ?? code;
}

export type Path = readonly (string | number)[];

// Misspelt keys too: `admin_tokn: …` is a fault whose line is shown.
const secretKey = /t[a-z]{0,2}k[a-z]{0,2}n|secr|passw|pwd|credent|admin_?t/i;
const userinfo = /\/\/[^\s"']*@|[^\s"'/:]+:(?!\/\/)[^\s"']*@/g;

/** Text fit for a log: whatever stands before the `@` of a URL is hidden. */
export function mask(text: string): string {
  return text.replace(userinfo, (hit) => (hit.startsWith('//') ? '//***@' : '***@'));
}

export function isSecret(path: Path): boolean {
  return path.some((key) => typeof key === 'string' && !key.includes('/') && secretKey.test(key));
}

/** A line of a file fit for a terminal: what follows a key such as `admin_token:` is hidden, as are the users in URLs. */
export function maskLine(line: string): string {
  const quotedMasked = line.replace(/"[^"]*"|'[^']*'/g, (quoted) => quoted.replace(/\/\/.*@/, '//***@'));
  const masked = mask(quotedMasked);
  const keys = [...masked.matchAll(/(?<![\w/-])([\w-]+)["']?\s*:\s*(?=\S)/g)];
  const secret = keys.find(([, key]) => isSecret([key ?? '']));
  return secret ? `${masked.slice(0, secret.index + secret[0].length)}***` : masked;
}

/** A value as a fault quotes it; undefined for maps, lists and nothing. */
export function show(value: unknown, path: Path): string | undefined {
  const plain = value instanceof Expanded ? value.text : value;
  if (plain === undefined || plain === null || typeof plain === 'object') return undefined;
  if (isSecret(path)) return '***';
  const text = String(plain);
  const shown = /^[^\s"\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
  // A password may hold any character, a blank too, so a whole value is cut at its last @.
  const masked = printable(mask(shown.replace(/\/\/.*@/, '//***@')));
  return masked.length > 80 ? `${masked.slice(0, 79)}…` : masked;
}

/** Text without anything that could move a terminal's cursor. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
