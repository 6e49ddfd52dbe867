import { maskUserinfo, printable } from '../shared/text.ts';
import type { Position } from '../shared/yaml/yamlText.ts';
import { ExpandedText } from './expand.ts';
import { type Fault, type Path, quotedValue } from './fault.ts';

/** A parsed document before any check, with the position of each part. */
export interface Source {
  /** The name in faults; undefined for a document given as an object. */
  readonly file: string | undefined;
  /** Absolute; relative paths in the document are resolved from here. */
  readonly folder: string;
  /** Maps (without a prototype), lists, scalars and `ExpandedText`. */
  readonly tree: unknown;
  /** The `placeKey` of a path → the positions of the value at this path and of its key. */
  readonly places: ReadonlyMap<string, Place>;
  /** The `placeKey` of a value that a command-line option replaced → the name of the option. */
  readonly options?: ReadonlyMap<string, string>;
  /** The `placeKey` of each value with variables that is written in quotes. In `tree`, such a value is a string, no `ExpandedText`. */
  readonly quotedVariables?: ReadonlySet<string>;
  /** The environment variables that the document may refer to. */
  readonly env: NodeJS.ProcessEnv;
  /** Set if the document is an API below `apis`: `tree` also has what it inherits, and this `tree` only has what is written there. */
  readonly api?: { readonly base: string; readonly tree: unknown };
}

/** The positions of a value and of its key. */
export interface Place {
  readonly key: Position | undefined;
  readonly value: Position;
}

/** The sections of a file that an API does not have. */
export const gatewaySections: ReadonlySet<string> = new Set(['gateway', 'usage', 'fleet', 'log', 'telemetry', 'apis']);

export function placeKey(path: Path): string {
  return JSON.stringify(path);
}

/** The raw value at `path`, or undefined. */
export function valueAt(tree: unknown, path: Path): unknown {
  let value = tree;
  for (const key of path) {
    const isMapOrList = typeof value === 'object' && value !== null && !(value instanceof ExpandedText);
    if (!isMapOrList || !Object.hasOwn(value as object, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** Whether the document has a value at `path`, of whatever type. */
export function hasValue(source: Source, path: Path): boolean {
  return valueAt(source.tree, path) !== undefined;
}

/** Where the value at `path` of a document is in its file: below `apis./orders`, unless the API inherits it. */
export function pathInFile({ api, tree }: Source, path: Path): Path {
  if (!api) return path;
  const [section] = path;
  const isOwn = section === undefined || section === 'routes' || section === 'notify';
  const isInherited = !isOwn && valueAt(api.tree, path.slice(0, 2)) === undefined && valueAt(tree, path) !== undefined;
  const isOfGateway = typeof section === 'string' && gatewaySections.has(section);
  return isInherited || isOfGateway ? path : ['apis', api.base, ...path];
}

/** A fault at the value of `path`. If its key is missing, the fault is at the map that lacks it. */
export function faultAt(source: Source, path: Path, message: string, remedy: string): Fault {
  return faultAtPart(source, path, 'value', message, remedy);
}

/** A fault at the key of `path`, without its value. */
export function faultAtKey(source: Source, path: Path, message: string, remedy: string): Fault {
  return faultAtPart(source, path, 'key', message, remedy);
}

function faultAtPart(source: Source, path: Path, part: keyof Place, message: string, remedy: string): Fault {
  const place = pathInFile(source, path);
  const option = source.options?.get(placeKey(place));
  const position = option === undefined ? positionOf(source, place, part) : undefined;
  return {
    file: option === undefined ? source.file : undefined,
    line: position?.line,
    column: position?.column,
    path: option ?? printable(formatPath(place)),
    value: part === 'key' ? undefined : quotedValue(valueAt(source.tree, path), path),
    message: printable(maskUserinfo(message)),
    remedy: printable(maskUserinfo(remedy)),
  };
}

function positionOf(source: Source, path: Path, part: keyof Place): Position | undefined {
  const place = source.places.get(placeKey(path));
  if (place) return part === 'key' ? (place.key ?? place.value) : place.value;
  return path.length === 0 ? undefined : positionOf(source, path.slice(0, -1), 'key');
}

/** `routes./v1.upstream[0]` */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}
