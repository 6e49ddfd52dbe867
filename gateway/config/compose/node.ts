import { firstOf, maskUserinfo, printable, shortened } from '../../shared/text.ts';
import { type Fault, quotedValue } from '../fault.ts';

/** A position with its file, because parts of one service may come from several files. */
export interface FilePosition {
  /** As `Fault.file`. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface Common {
  readonly at: FilePosition;
  /** The YAML tag: `!reset` removes the value of earlier files, `!override` replaces it without merging. */
  readonly tag: 'reset' | 'override' | undefined;
}

export interface ScalarNode extends Common {
  readonly kind: 'scalar';
  /** With variables replaced; undefined for a key without a value. */
  readonly text: string | undefined;
  /** Variables that are not set, which Compose replaces with nothing. */
  readonly unset: readonly string[];
}

export interface ListNode extends Common {
  readonly kind: 'list';
  readonly items: readonly ComposeNode[];
}

export interface MapNode extends Common {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, ComposeEntry>;
}

export interface ComposeEntry {
  /** The position of the key. */
  readonly key: FilePosition;
  readonly value: ComposeNode;
}

/** A part of a Compose file, with its position. */
export type ComposeNode = ScalarNode | ListNode | MapNode;

/** The value at a path of keys; undefined if there is none. */
export function child(node: ComposeNode | undefined, ...keys: readonly string[]): ComposeNode | undefined {
  return keys.reduce<ComposeNode | undefined>(
    (at, key) => (at?.kind === 'map' ? at.entries.get(key)?.value : undefined),
    node,
  );
}

/** The entries of a map; none for another node. */
export function mapEntries(node: ComposeNode | undefined): readonly (readonly [string, ComposeEntry])[] {
  return node?.kind === 'map' ? [...node.entries] : [];
}

/** The items of a list; a single value counts as a list of one, which many keys allow. */
export function listItems(node: ComposeNode | undefined): readonly ComposeNode[] {
  if (node?.kind === 'list') return node.items;
  return node?.kind === 'scalar' && node.text !== undefined ? [node] : [];
}

export function scalarText(node: ComposeNode | undefined): string | undefined {
  return node?.kind === 'scalar' ? node.text : undefined;
}

export function textsOf(node: ComposeNode | undefined): readonly string[] {
  return listItems(node).flatMap((item) => scalarText(item) ?? []);
}

/** Every text below the node, without keys. */
export function allTexts(node: ComposeNode | undefined): readonly string[] {
  if (node?.kind === 'map') return [...node.entries.values()].flatMap(({ value }) => allTexts(value));
  return node?.kind === 'list' ? node.items.flatMap(allTexts) : textsOf(node);
}

export function mapOf(
  entries: Iterable<readonly [string, ComposeEntry]>,
  at: FilePosition,
  tag?: Common['tag'],
): MapNode {
  return { kind: 'map', entries: new Map(entries), at, tag };
}

// A later file replaces the lists of these keys, and does not append to them.
const replacedLists = new Set(['command', 'entrypoint', 'test']);

/** Merges two Compose files, or two services. The values of `override` take precedence. */
export function mergeMaps(base: MapNode, override: MapNode): MapNode {
  const entries = new Map(base.entries);
  for (const [key, entry] of override.entries) {
    const earlier = base.entries.get(key);
    if (entry.value.tag === 'reset') entries.delete(key);
    else entries.set(key, earlier ? mergeEntries(earlier, entry, key) : entry);
  }
  return { ...base, entries };
}

/** A replaced value has the position of its replacement; a merged value keeps the position of `base`. */
function mergeEntries(base: ComposeEntry, override: ComposeEntry, key: string): ComposeEntry {
  const value = mergeNodes(base.value, override.value, key);
  return { key: value === override.value ? override.key : base.key, value };
}

function mergeNodes(base: ComposeNode, override: ComposeNode, key: string): ComposeNode {
  if (override.tag === 'override' || replacedLists.has(key)) return override;
  if (base.kind === 'map' && override.kind === 'map') return mergeMaps(base, override);
  if (base.kind === 'list' && override.kind === 'list') {
    const overriddenPaths = new Set(override.items.map(mountPoint));
    const kept = key === 'volumes' ? base.items.filter((item) => !overriddenPaths.has(mountPoint(item))) : base.items;
    return { ...base, items: [...kept, ...override.items] };
  }
  // A key without a value, as in `networks: { back: }`, keeps the value of the earlier file.
  return scalarText(override) === undefined && override.kind === 'scalar' ? base : override;
}

/** The path of a volume in the container. */
function mountPoint(volume: ComposeNode): string {
  const target = scalarText(child(volume, 'target'));
  if (target !== undefined) return target;
  const parts = (scalarText(volume) ?? '').split(':');
  return parts[1] ?? parts[0] ?? '';
}

/** Turns the values that may be a list or a map into maps. */
export function normaliseService(service: ComposeNode): ComposeNode {
  if (service.kind !== 'map') return service;
  const entries = [...service.entries].map(([key, entry]): [string, ComposeEntry] => {
    const toEntries = key === 'environment' || key === 'labels' ? entriesByAssignment : entriesByName;
    const mayBeList = ['environment', 'labels', 'networks', 'depends_on'].includes(key);
    return [key, mayBeList && entry.value.kind === 'list' ? { ...entry, value: asMap(entry.value, toEntries) } : entry];
  });
  return mapOf(entries, service.at, service.tag);
}

function asMap(
  list: ComposeNode,
  toEntries: (item: ComposeNode) => readonly (readonly [string, ComposeEntry])[],
): MapNode {
  return mapOf(listItems(list).flatMap(toEntries), list.at, list.tag);
}

/** `NAME=value`, or `NAME` alone. */
function entriesByAssignment(item: ComposeNode): readonly (readonly [string, ComposeEntry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return mapEntries(item);
  const equalsSign = item.text.indexOf('=');
  const name = equalsSign === -1 ? item.text : item.text.slice(0, equalsSign);
  const text = equalsSign === -1 ? undefined : item.text.slice(equalsSign + 1);
  return [[name, { key: item.at, value: { ...item, text } }]];
}

/** `NAME` alone, as in a list of networks. */
function entriesByName(item: ComposeNode): readonly (readonly [string, ComposeEntry])[] {
  if (item.kind !== 'scalar' || item.text === undefined) return [];
  return [[item.text, { key: item.at, value: { ...item, text: undefined } }]];
}

/** A difference between routes.yaml and the Compose project. */
export interface ComposeFinding {
  /** `warning`: probably unintended. `note`: nothing is wrong, but the operator may want to know. */
  readonly level: 'error' | 'warning' | 'note';
  /** The place and the message, at every level. */
  readonly fault: Fault;
}

export function warningFinding(fault: Fault): ComposeFinding {
  return { level: 'warning', fault };
}

export function errorFinding(fault: Fault): ComposeFinding {
  return { level: 'error', fault };
}

/** A fault in a Compose file; `path` is the path in the merged project. */
export function faultIn(
  at: FilePosition,
  path: readonly string[],
  message: string,
  remedy: string,
  value?: string,
): Fault {
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    path: printable(maskUserinfo(path.map((key) => shortened(key)).join('.'))),
    value: value === undefined ? undefined : quotedValue(value, path),
    message: printable(maskUserinfo(message)),
    remedy: printable(maskUserinfo(remedy)),
  };
}

/** `v1, v2 and 3 more`. Names in Compose files may have any length. */
export function listed(names: readonly string[]): string {
  return firstOf(names, 8, (name) => shortened(name));
}
