/** Where something stands: parts of one service may come from several files. */
export interface FilePosition {
  /** As its reader named it. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface Common {
  readonly at: FilePosition;
  /** How an overriding file wants it: gone, or in place of all that was there. */
  readonly tag: 'reset' | 'override' | undefined;
}

export interface ScalarNode extends Common {
  readonly kind: 'scalar';
  /** With its variables replaced; undefined for a key without a value. */
  readonly text: string | undefined;
  /** Variables that Compose found nowhere, and replaced by nothing. */
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
  readonly key: FilePosition;
  readonly value: ComposeNode;
}

/** A part of a Compose file that knows where it stands. */
export type ComposeNode = ScalarNode | ListNode | MapNode;

export function child(node: ComposeNode | undefined, ...keys: readonly string[]): ComposeNode | undefined {
  return keys.reduce<ComposeNode | undefined>(
    (at, key) => (at?.kind === 'map' ? at.entries.get(key)?.value : undefined),
    node,
  );
}

/** Empty for anything that is not a map. */
export function entriesOf(node: ComposeNode | undefined): readonly (readonly [string, ComposeEntry])[] {
  return node?.kind === 'map' ? [...node.entries] : [];
}

/** Of a list; many keys take a single value in its place. */
export function itemsOf(node: ComposeNode | undefined): readonly ComposeNode[] {
  if (node?.kind === 'list') return node.items;
  return node?.kind === 'scalar' && node.text !== undefined ? [node] : [];
}

export function textOf(node: ComposeNode | undefined): string | undefined {
  return node?.kind === 'scalar' ? node.text : undefined;
}

export function textsOf(node: ComposeNode | undefined): readonly string[] {
  return itemsOf(node).flatMap((item) => textOf(item) ?? []);
}

/** Every text below, keys left out. */
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
