import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../shared/fileSystem.ts';
import { type Fault, UnreadableFileError } from './fault.ts';

// A longer chain is a circle.
const mostLinks = 40;
// No path is longer.
const longestLink = 4096;

/**
 * The file that `path` leads to. Relative paths in it begin at its folder. Links of the file itself are followed, and
 * so is a text file that holds a path, which git writes in place of a link where it cannot make links (Windows,
 * `core.symlinks=false`). Folders that are links keep their names, and so does the `..data` of a Kubernetes ConfigMap:
 * such links are switched to other folders while the gateway runs.
 */
export function realPathOf(path: string): string {
  let at = path;
  for (let links = 0; links < mostLinks; links += 1) {
    const target = linkTargetOf(at);
    if (target === undefined) return at;
    at = resolve(dirname(at), target);
  }
  return path;
}

function linkTargetOf(path: string): string | undefined {
  const stats = lookAt(path);
  try {
    if (stats?.isSymbolicLink()) {
      const target = readlinkSync(path);
      return /(?:^|\/)\.\.[^/.]/.test(target) ? undefined : target;
    }
    if (!stats?.isFile() || stats.size > longestLink) return undefined;
    return /^([^\s:#"'[\]{}]+\.ya?ml)\n?$/.exec(readFileSync(path, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * The warning for a `routes.yaml` that is a file of its own beside `config/routes.yaml`. It was most likely the link to
 * that file: `sed -i`, `perl -i` and `mv` replace a link by a regular file, and a container that mounts `config` never
 * sees the edit. `file` names the routes.yaml in the warning; `path` is the same file, absolute.
 */
export function replacedLink(file: string, path: string): Fault | undefined {
  const isTarget = basename(dirname(path)) === 'config';
  const [root, at] = isTarget ? [dirname(dirname(path)), join(dirname(file), '..')] : [dirname(path), dirname(file)];
  if (basename(path) !== 'routes.yaml') return undefined;
  const edited = isOwnFile(join(root, 'routes.yaml'));
  const original = isOwnFile(join(root, 'config', 'routes.yaml'));
  if (!edited || !original) return undefined;
  const [link, target] = [join(at, 'routes.yaml'), join(at, 'config', 'routes.yaml')];
  const command = `mv ${quoted(link)} ${quoted(target)} && ln -s config/routes.yaml ${quoted(link)}`;
  const isNewer = original.mtimeMs > edited.mtimeMs;
  const first = isNewer
    ? `${target} was edited later: copy what must stay from there into ${link}, and then run`
    : 'Run';
  return {
    file: link,
    line: undefined,
    column: undefined,
    path: '',
    value: undefined,
    message: `This file has replaced the link to ${target}, and the gateway in a container reads only ${target}.`,
    remedy: `${first}: ${command}`,
  };
}

function isOwnFile(path: string): Stats | undefined {
  const stats = lookAt(path);
  return stats?.isFile() && linkTargetOf(path) === undefined ? stats : undefined;
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The content of a routes.yaml, or of the file that it links to. @throws UnreadableFileError, which names it as `file` */
export function readRoutes(file: string, cwd = '.'): Uint8Array {
  try {
    return readRegularFile(realPathOf(resolve(cwd, file)));
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** @throws UnreadableFileError */
export function readText(file: string): Uint8Array {
  try {
    return readRegularFile(file);
  } catch (error) {
    throw new UnreadableFileError(file, error);
  }
}

/** Decodes UTF-8 and removes a byte order mark; undefined if the text is not UTF-8. */
export function decode(text: string | Uint8Array): string | undefined {
  if (typeof text === 'string') return text.replace(/^\uFEFF/, '');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text);
  } catch {
    return undefined;
  }
}
