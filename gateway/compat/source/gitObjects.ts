import { tooLarge } from './disk.ts';
import { git } from './gitCommand.ts';
import { NotThere, Refusal } from './refusal.ts';

interface Entry {
  /** `blob`, `tree`; `missing`, or why a symbolic link leads nowhere in the tree. */
  readonly kind: string;
  readonly size: number;
  /** Empty unless they were asked for. */
  readonly bytes: Uint8Array;
}

const newline = 0x0a;

/** The id of what a name such as `HEAD^{tree}` means; undefined if there is nothing. */
export function idOf(name: string, cwd: string): string | undefined {
  if (/[\n\0]/.test(name)) return undefined;
  const { out } = git(['cat-file', '--batch-check'], cwd, `${name}\n`);
  return /^([0-9a-f]{40,64}) \S+ \d+\n$/.exec(out.toString('latin1'))?.[1];
}

/** Reads files of a tree, all of them in two calls of git: no content is asked for before its size is known. */
export function readBlobs(
  tree: string,
  paths: readonly string[],
  cwd: string,
  maxBytes: number,
): Map<string, Uint8Array | Refusal> {
  const found = new Map<string, Uint8Array | Refusal>();
  for (const path of paths) found.set(path, refusalOf('missing'));
  const askable = paths.filter((path) => path !== '' && !/[\n\0]/.test(path));
  const sized = ask('--batch-check', tree, askable, cwd, 1000 + 300 * askable.length);
  let total = 0;
  const readable = askable.filter((path, index) => {
    const { kind, size } = sized[index] ?? { kind: 'missing', size: 0 };
    if (kind === 'blob' && size <= maxBytes) {
      total += size + 300;
      return true;
    }
    found.set(path, kind === 'blob' ? tooLarge(size, maxBytes) : refusalOf(kind));
    return false;
  });
  const contents = ask('--batch', tree, readable, cwd, total);
  for (const [index, path] of readable.entries()) found.set(path, contents[index]?.bytes ?? refusalOf('missing'));
  return found;
}

function ask(
  what: '--batch-check' | '--batch',
  tree: string,
  paths: readonly string[],
  cwd: string,
  maxBuffer: number,
): Entry[] {
  if (paths.length === 0) return [];
  const names = paths.map((path) => `${tree}:${path}\n`);
  const longest = names.reduce((sum, name) => sum + Buffer.byteLength(name), maxBuffer);
  const { out, complaint } = git(['cat-file', what, '--follow-symlinks'], cwd, names.join(''), longest);
  if (complaint !== undefined) throw new Refusal(`cannot be read from git: ${complaint}`, 'Check the repository.');
  return entriesOf(out, what === '--batch');
}

/** `<id> blob <size>`, and on the next lines the content; a missing one is one line, a broken link has a size too. */
function entriesOf(out: Buffer, withBytes: boolean): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < out.length; ) {
    const end = out.indexOf(newline, at);
    const head = out.toString('utf8', at, end);
    at = end + 1;
    const [, id = '', kind = 'missing', size = '0'] = / (?:missing|ambiguous)$/.test(head)
      ? []
      : (headLine.exec(head) ?? []);
    const isLink = linkKinds.has(id);
    const length = isLink ? Number(kind) : Number(size);
    const hasBytes = isLink || (withBytes && kind !== 'missing');
    entries.push({ kind: isLink ? id : kind, size: length, bytes: out.subarray(at, hasBytes ? at + length : at) });
    if (hasBytes) at += length + 1;
  }
  return entries;
}

const headLine = /^(\S+) (\S+)(?: (\d+))?$/;
const linkKinds = new Set(['symlink', 'dangling', 'loop', 'notdir']);

function refusalOf(kind: string): Refusal {
  if (kind === 'symlink') {
    return new Refusal('is a link that leads out of the repository', "Keep the contract's files in the repository.");
  }
  if (kind === 'tree') return new Refusal('is a folder, not a file', 'Name a file.');
  if (kind === 'dangling' || kind === 'loop') return new Refusal('is a link that leads nowhere', 'Correct the link.');
  return new NotThere('does not exist in that commit', 'Correct the path, or the commit.');
}
