import { lstatSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../shared/fileSystem.ts';
import { type Fault, UnreadableFileError } from './fault.ts';

// A longer chain of links counts as a cycle.
const maxLinks = 40;
// No path is longer (PATH_MAX).
const longestLinkBytes = 4096;

/**
 * The file that `path` leads to; relative paths in the file are resolved from its folder. Follows symbolic links to files,
 * and text files that contain only a path: git writes those instead of links with `core.symlinks=false`, as on Windows. Does
 * not follow links to folders, such as `..data` of a Kubernetes ConfigMap, because their targets may change at any time.
 */
export function realPathOf(path: string): string {
  let at = path;
  for (let links = 0; links < maxLinks; links += 1) {
    const target = linkTargetOf(at);
    if (target === undefined) return at;
    at = resolve(dirname(at), target);
  }
  return path;
}

function linkTargetOf(path: string): string | undefined {
  const stats = statsOf(path);
  try {
    if (stats?.isSymbolicLink()) {
      const target = readlinkSync(path);
      // A segment such as `..data` or `..2027_03_02_14_00` is a folder of a ConfigMap.
      return /(?:^|\/)\.\.[^/.]/.test(target) ? undefined : target;
    }
    if (!stats?.isFile() || stats.size > longestLinkBytes) return undefined;
    return /^([^\s:#"'[\]{}]+\.ya?ml)\n?$/.exec(readFileSync(path, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * The warning for a `routes.yaml` that is a regular file, although `config/routes.yaml` exists. It was most likely a link
 * to that file: `sed -i`, `perl -i` and `mv` replace a link by a regular file. A container that mounts `config` does not
 * see such an edit. `file`: the name of the routes.yaml in the warning; `path`: the same file, absolute.
 */
export function replacedLinkFault(file: string, path: string): Fault | undefined {
  const isInConfigFolder = basename(dirname(path)) === 'config';
  const [root, shownRoot] = isInConfigFolder
    ? [dirname(dirname(path)), join(dirname(file), '..')]
    : [dirname(path), dirname(file)];
  if (basename(path) !== 'routes.yaml') return undefined;
  const replacement = statsOfRegularFile(join(root, 'routes.yaml'));
  const targetStats = statsOfRegularFile(join(root, 'config', 'routes.yaml'));
  if (!replacement || !targetStats) return undefined;
  const [link, target] = [join(shownRoot, 'routes.yaml'), join(shownRoot, 'config', 'routes.yaml')];
  const command = `mv ${shellQuoted(link)} ${shellQuoted(target)} && ln -s config/routes.yaml ${shellQuoted(link)}`;
  const isTargetNewer = targetStats.mtimeMs > replacement.mtimeMs;
  const remedyStart = isTargetNewer
    ? `${target} was edited later: copy the edits that you want to keep into ${link}, and then run`
    : 'Run';
  return {
    file: link,
    line: undefined,
    column: undefined,
    path: '',
    value: undefined,
    message: `This file has replaced the link to ${target}, and the gateway in a container reads only ${target}.`,
    remedy: `${remedyStart}: ${command}`,
  };
}

/** Undefined for a link, a text file that stands for a link, and a missing file. */
function statsOfRegularFile(path: string): Stats | undefined {
  const stats = statsOf(path);
  return stats?.isFile() && linkTargetOf(path) === undefined ? stats : undefined;
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/**
 * When a file was last changed, epoch ms; undefined if there is no file. `ctime` also changes when an older file is moved or
 * copied to this path, and programs cannot set it.
 */
export function lastChangeOf(file: string): number | undefined {
  try {
    return Math.floor(statSync(file).ctimeMs);
  } catch {
    return undefined;
  }
}

function shellQuoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The content of a routes.yaml, or of the file that it links to. @throws UnreadableFileError with the name `file` */
export function readRoutes(file: string, cwd = '.'): Uint8Array {
  try {
    return readRegularFile(realPathOf(resolve(cwd, file)));
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** @throws UnreadableFileError */
export function readBytes(file: string): Uint8Array {
  try {
    return readRegularFile(file);
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** Decodes UTF-8 and removes a byte order mark; undefined if the text is not UTF-8. */
export function decodeIfUtf8(text: string | Uint8Array): string | undefined {
  if (typeof text === 'string') return text.replace(/^\uFEFF/, '');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text);
  } catch {
    return undefined;
  }
}
