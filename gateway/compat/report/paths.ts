import { posix } from 'node:path';

const drive = /^[a-z]:[\\/]/i;
const commit = /^(?![a-z]:[\\/])(?:[^:./\\\s][^:\s]*)?:(?!\/\/)/i;

/** Where the working tree is. Both paths are absolute. */
export interface TreeBase {
  readonly root: string;
  /** Relative names of contracts start here; default: the root. */
  readonly folder?: string;
}

/** The path of a contract in the working tree, without the commit: `api.yaml` for `origin/main:api.yaml`. */
export function pathOf(name: string, { root, folder = root }: TreeBase): string {
  if (isUrl(name)) return name;
  const path = name.replace(commit, '').replaceAll('\\', '/');
  // Git resolves `main:api.yaml` from the root, and `main:./api.yaml` from the folder.
  const isFromRoot = commit.test(name) && !path.startsWith('.');
  const [tree, start] = [root, folder].map((one) => one.replaceAll('\\', '/').replace(/\/$/, ''));
  const isAbsolute = path.startsWith('/') || drive.test(path);
  const full = isAbsolute ? path : posix.join(`${isFromRoot ? tree : start}/`, path);
  return full.startsWith(`${tree}/`) ? full.slice(`${tree}/`.length) : full;
}

/** The path as a URI reference (RFC 3986); relative if the path is. */
export function uriOf(name: string, base: TreeBase): string {
  const path = pathOf(name, base);
  if (isUrl(path)) return URL.parse(path)?.href ?? encoded(path);
  if (drive.test(path)) return `file:///${encoded(path).replace('%3A', ':')}`;
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
