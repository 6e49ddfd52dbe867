import { posix } from 'node:path';
import type { Site } from '../finding.ts';

const drive = /^[a-z]:[\\/]/i;
const commit = /^(?![a-z]:[\\/])(?:[^:./\\\s][^:\s]*)?:(?!\/\/)/i;

/** Whether anything stands at a side of a finding; one that is gone has a place all the same. */
export function isThere(site: Site | undefined): site is Site {
  return site?.value !== undefined;
}

/** How the names of contracts become paths within a working tree. Both are absolute. */
export interface Base {
  readonly root: string;
  /** In which relative names begin; without it, the root. */
  readonly folder?: string;
}

/** The path of a contract in the tree. A commit is left out: `origin/main:api.yaml` stands in the tree as `api.yaml`. */
export function pathOf(name: string, { root, folder = root }: Base): string {
  if (isUrl(name)) return name;
  const path = name.replace(commit, '').replaceAll('\\', '/');
  // In a commit, a path begins at the root unless it says otherwise.
  const isFromRoot = commit.test(name) && !path.startsWith('.');
  const [tree, start] = [root, folder].map((one) => one.replaceAll('\\', '/').replace(/\/$/, ''));
  const isAbsolute = path.startsWith('/') || drive.test(path);
  const full = isAbsolute ? path : posix.join(`${isFromRoot ? tree : start}/`, path);
  return full.startsWith(`${tree}/`) ? full.slice(`${tree}/`.length) : full;
}

/** The same as a URI reference (RFC 3986), relative where the path is. */
export function uriOf(name: string, base: Base): string {
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
