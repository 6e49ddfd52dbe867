import { printable } from '../shared/text.ts';
import { ExpandedText } from './expand.ts';
import { type Path, pathInApi, quotedValue } from './fault.ts';
import { formatPath, placeKey, type Source } from './source.ts';

/** The values of a routes.yaml as they are written there, to compare two files line by line. */
export interface WrittenValues {
  /** As `Fault.file`. */
  readonly file: string | undefined;
  /**
   * One line for each scalar, and for each empty map or list: its line number in the file, its path and its value, as JSON. One text,
   * because cloning it to another thread is much faster than cloning thousands of objects. It contains secrets.
   */
  readonly lines: string;
}

/** A difference between two files, with secrets masked. Safe to print. */
export interface EditedValue {
  /** `/v2`, if the value belongs to a version. */
  readonly version: string | undefined;
  /** The base of the API whose section has the value; undefined: the value is in no section of `apis`. */
  readonly api: string | undefined;
  /** The key of the API or of the file, such as `routes` or `gateway`. `apis`: the whole API. */
  readonly section: string;
  /** `routes./v2.upstream` */
  readonly key: string;
  /** In the edited file; undefined: the value was removed, or the document is an object. */
  readonly line: number | undefined;
  /** The value before the edit; undefined: there was none, or it was a map or a list. */
  readonly before: string | undefined;
  /** The value after the edit; undefined: there is none, or it is a map or a list. */
  readonly after: string | undefined;
  /** How to undo it, with the place: `routes.yaml:7  routes./v2.upstream: write http://a instead of http://b`. */
  readonly undo: string;
}

export function writtenValues({ file, tree, places }: Source): WrittenValues {
  const lines: string[] = [];
  const add = (value: unknown, path: Path): void => {
    const members = membersOf(value);
    for (const [key, member] of members) add(member, [...path, key]);
    if (members.length > 0) return;
    const text =
      value instanceof ExpandedText ? value.written : typeof value === 'object' ? JSON.stringify(value) : value;
    lines.push(JSON.stringify([places.get(placeKey(path))?.value.line ?? null, path, text]));
  };
  add(tree, []);
  return { file, lines: lines.join('\n') };
}

function membersOf(value: unknown): [string | number, unknown][] {
  if (typeof value !== 'object' || value === null || value instanceof ExpandedText) return [];
  return Array.isArray(value) ? [...value.entries()] : Object.entries(value);
}

interface Leaf {
  readonly path: Path;
  readonly line: number | undefined;
  readonly value: unknown;
}

/** The values that an edit has changed, in the order of the files: first the changed and the added ones, then the removed ones. */
export function editedValues(before: WrittenValues, after: WrittenValues): EditedValue[] {
  if (before.lines === after.lines) return [];
  const [former, current] = [documentOf(before), documentOf(after)];
  const edited = new Map<string, EditedValue>();
  const note = (path: Path, leaf: Leaf | undefined): void => {
    const key = placeKey(path);
    if (edited.has(key)) return;
    edited.set(key, editedValue(after.file, path, leaf?.line, former.get(key), current.get(key)));
  };
  for (const [key, leaf] of current) {
    if (leaf === 'map') continue;
    const old = former.get(key);
    if (old === undefined) note(firstDifferent(leaf.path, former), leaf);
    else if (old === 'map' || old.value !== leaf.value) note(leaf.path, leaf);
  }
  for (const [key, leaf] of former)
    if (leaf !== 'map' && !current.has(key)) note(firstDifferent(leaf.path, current), undefined);
  return [...edited.values()];
}

/** Every path of a document → its scalar, or `map` for a map or a list with members. */
function documentOf({ lines }: WrittenValues): Map<string, Leaf | 'map'> {
  const document = new Map<string, Leaf | 'map'>();
  for (const text of lines.split('\n')) {
    const [line, path, value] = JSON.parse(text) as [number | null, Path, unknown];
    for (let length = 0; length < path.length; length += 1) document.set(placeKey(path.slice(0, length)), 'map');
    document.set(placeKey(path), { path, line: line ?? undefined, value });
  }
  return document;
}

/** The shortest beginning of the path that the document does not have, or at which it has a scalar. */
function firstDifferent(path: Path, document: ReadonlyMap<string, Leaf | 'map'>): Path {
  const length = path.findIndex((_, at) => document.get(placeKey(path.slice(0, at + 1))) !== 'map');
  return path.slice(0, length + 1);
}

function editedValue(
  file: string | undefined,
  path: Path,
  line: number | undefined,
  old: Leaf | 'map' | undefined,
  current: Leaf | 'map' | undefined,
): EditedValue {
  const [section, owner] = pathInApi(path);
  const [before, after] = [old, current].map((one) => (one === 'map' ? undefined : shown(one, path)));
  const key = printable(formatPath(path));
  const place = [file === undefined ? undefined : printable(file), line].filter((part) => part !== undefined).join(':');
  const api = path[0] === 'apis' && typeof path[1] === 'string' ? path[1] : undefined;
  return {
    version: section === 'routes' && typeof owner === 'string' ? `${api ?? ''}${owner}` : undefined,
    api,
    section: String(section ?? path[0]),
    key,
    line,
    before,
    after,
    undo: `${place === '' ? '' : `${place}  `}${key}: ${undoInWords({ old, current, before, after })}`,
  };
}

function undoInWords({
  old,
  current,
  before = 'its former entries',
  after = 'its entries',
}: {
  readonly old: Leaf | 'map' | undefined;
  readonly current: Leaf | 'map' | undefined;
  readonly before: string | undefined;
  readonly after: string | undefined;
}): string {
  if (old === undefined) return `remove it (${after})`;
  return current === undefined ? `write it again (${before})` : `write ${before} instead of ${after}`;
}

/** Undefined: there is no value. */
function shown(leaf: Leaf | undefined, path: Path): string | undefined {
  return leaf && (quotedValue(leaf.value, path) ?? 'null');
}
