import { posix } from 'node:path';

// `C:\`
const drivePrefix = /^[a-z]:[\\/]/i;
// `origin/main:` in front of a path, or `:` for the index of Git; neither a drive nor the scheme of a URL.
const commitPrefix = /^(?![a-z]:[\\/])(?:[^:./\\\s][^:\s]*)?:(?!\/\/)/i;

/** Absolute paths in the working tree of Git. */
export interface WorkingTree {
  readonly root: string;
  /** Relative paths of contracts are relative to this folder; default: the root. */
  readonly folder?: string;
}

/** The path of a contract in the working tree, without the commit: `api.yaml` for `origin/main:api.yaml`. */
export function pathOf(name: string, { root, folder = root }: WorkingTree): string {
  if (isUrl(name)) return name;
  const path = name.replace(commitPrefix, '').replaceAll('\\', '/');
  // Git resolves `main:api.yaml` from the root, and `main:./api.yaml` from the folder.
  const isFromRoot = commitPrefix.test(name) && !path.startsWith('.');
  const [tree, start] = [root, folder].map((one) => one.replaceAll('\\', '/').replace(/\/$/, ''));
  const isAbsolute = path.startsWith('/') || drivePrefix.test(path);
  const full = isAbsolute ? path : posix.join(`${isFromRoot ? tree : start}/`, path);
  return full.startsWith(`${tree}/`) ? full.slice(`${tree}/`.length) : full;
}

/** The path as a URI reference (RFC 3986); relative if the path is. */
export function uriOf(name: string, base: WorkingTree): string {
  const path = pathOf(name, base);
  if (isUrl(path)) return URL.parse(path)?.href ?? encoded(path);
  if (drivePrefix.test(path)) return `file:///${encoded(path).replace('%3A', ':')}`;
  return path.startsWith('/') ? `file://${encoded(path)}` : encoded(path);
}

function encoded(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join('/');
}

function isUrl(name: string): boolean {
  return /^[a-z][a-z\d+.-]+:\/\//i.test(name);
}
