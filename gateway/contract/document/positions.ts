import { isAlias, isMap, isSeq, type Node } from 'yaml';
import { type KeyAndValue, keyText, type Position, pairsOf, type YamlText } from '../../shared/yaml/yamlText.ts';
import { isMergeKey } from '../../shared/yaml/yamlValue.ts';
import { endOfString, unquote } from './jsonSyntax.ts';
import { type ContractFile, type ContractPlace, keysTo } from './located.ts';

/** Columns count UTF-16 code units. */
export interface TextPosition extends Position {
  /** The offset of the first character of the line. */
  readonly lineStart: number;
}

/**
 * The position of each place in the text: for a map entry, that of its key; for a list item, that of its first character.
 * A place that does not exist gets the position of its nearest existing ancestor. Empty for a file without text.
 */
export function positionsOf(file: ContractFile, places: readonly ContractPlace[]): Map<ContractPlace, TextPosition> {
  const { text, yaml } = file;
  const positions = new Map<ContractPlace, TextPosition>();
  if (text === undefined) return positions;
  const { tree, paths } = searchTreeFor(places);
  if (yaml) findInYaml(yaml, tree);
  else new JsonSearch(text).find(tree);
  const offsets = new Map([...paths].map(([place, path]) => [place, lastOffset(path)]));
  const byOffset = positionsAt(text, new Set(offsets.values()));
  for (const [place, offset] of offsets)
    positions.set(place, byOffset.get(offset) ?? { line: 1, column: 1, lineStart: 0 });
  return positions;
}

function lastOffset(path: readonly SearchTree[]): number {
  return path.findLast(({ offset }) => offset !== undefined)?.offset ?? 0;
}

export function textPositionAt(text: string, offset: number): TextPosition {
  const { line, lineStart } = lineContaining(text, offset, { line: 1, lineStart: 0 });
  return { line, column: offset - lineStart + 1, lineStart };
}

/** The positions of many offsets in one pass over the text. */
function positionsAt(text: string, offsets: Iterable<number>): Map<number, TextPosition> {
  const positions = new Map<number, TextPosition>();
  let current = { line: 1, lineStart: 0 };
  for (const offset of [...offsets].sort((a, b) => a - b)) {
    current = lineContaining(text, offset, current);
    positions.set(offset, { ...current, column: offset - current.lineStart + 1 });
  }
  return positions;
}

/** The line that contains `offset`. The search begins at the line `from`, which must not be after it. */
function lineContaining(
  text: string,
  offset: number,
  from: { line: number; lineStart: number },
): { line: number; lineStart: number } {
  let { line, lineStart } = from;
  for (let end = text.indexOf('\n', lineStart); end !== -1 && end < offset; end = text.indexOf('\n', lineStart)) {
    line += 1;
    lineStart = end + 1;
  }
  return { line, lineStart };
}

/** The places to find in one file, as a tree of keys. With it, one pass over the file finds all places and skips the rest. */
interface SearchTree {
  /** Key or index → the tree below it. */
  readonly children: Map<string, SearchTree>;
  /** The offset of the place in the text; undefined until it is found. */
  offset: number | undefined;
}

/** A search tree for `places`, and for each place the nodes from the root of the tree down to it. */
function searchTreeFor(places: readonly ContractPlace[]): {
  readonly tree: SearchTree;
  readonly paths: Map<ContractPlace, SearchTree[]>;
} {
  const tree: SearchTree = { children: new Map(), offset: undefined };
  const paths = new Map(places.map((place) => [place, addPlace(tree, place)]));
  return { tree, paths };
}

/** Adds a place to the tree. @returns the nodes from the root of the tree down to it */
function addPlace(tree: SearchTree, place: ContractPlace): SearchTree[] {
  const path = [tree];
  let at = tree;
  for (const key of keysTo(place)) {
    const next = at.children.get(key) ?? { children: new Map(), offset: undefined };
    at.children.set(key, next);
    path.push(next);
    at = next;
  }
  return path;
}

/** Sets the offsets of a search tree. Places below an alias are found below its anchor. */
function findInYaml({ root, aliases }: YamlText, tree: SearchTree): void {
  const targetOf = (node: Node | null): Node | null => (isAlias(node) ? (aliases.get(node) ?? null) : node);

  const findBelow = (node: Node | null, wanted: SearchTree): void => {
    const target = targetOf(node);
    if (wanted.children.size === 0) return;
    if (isMap(target)) findKeys(pairsOf(target), wanted);
    if (!isSeq(target)) return;
    for (const [key, child] of wanted.children) {
      const item = target.items[Number(key)] as Node | null | undefined;
      if (item === undefined) continue;
      child.offset = item?.range?.[0];
      findBelow(item, child);
    }
  };

  const findKeys = (pairs: readonly KeyAndValue[], wanted: SearchTree): void => {
    for (const { key, value } of pairs) {
      const name = isMergeKey(key) ? undefined : keyText(key, aliases);
      const child = name === undefined ? undefined : wanted.children.get(name);
      if (!child) continue;
      child.offset = key?.range?.[0];
      findBelow(value, child);
    }
    for (const { key, value } of pairs) if (isMergeKey(key)) findMerged(targetOf(value), wanted);
  };

  /** A merged map adds only keys that are missing in the map itself and in the maps merged before. */
  const findMerged = (node: Node | null, wanted: SearchTree): void => {
    if (isSeq(node)) for (const item of node.items) findMerged(targetOf(item as Node | null), wanted);
    const notFound = [...wanted.children].filter(([, { offset }]) => offset === undefined);
    if (isMap(node) && notFound.length > 0) findBelow(node, { children: new Map(notFound), offset: undefined });
  };

  tree.offset = root?.range?.[0] ?? 0;
  findBelow(root, tree);
}

const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];
const comma = 44;
const quote = 34;

/** Sets the offsets of a search tree. The text must be valid JSON; subtrees without a wanted place are skipped. */
class JsonSearch {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads the value at the current offset, and finds the places of `tree` in it. */
  find(tree: SearchTree): void {
    this.#skipBlanks();
    tree.offset ??= this.#at;
    const first = this.#text.charCodeAt(this.#at);
    if (tree.children.size === 0) this.#skipValue();
    else if (first === openBrace) this.#findInMap(tree);
    else if (first === openBracket) this.#findInList(tree);
    else this.#skipValue();
  }

  #findInMap({ children }: SearchTree): void {
    this.#at += 1;
    while (this.#nextInContainer() !== closeBrace) {
      const start = this.#at;
      this.#at = endOfString(this.#text, start);
      const wanted = children.get(unquote(this.#text.slice(start, this.#at)));
      this.#skipBlanks();
      // Skip the colon.
      this.#at += 1;
      if (wanted) {
        wanted.offset = start;
        this.find(wanted);
      } else this.#skipValue();
    }
    this.#at += 1;
  }

  #findInList({ children }: SearchTree): void {
    this.#at += 1;
    for (let index = 0; this.#nextInContainer() !== closeBracket; index += 1) {
      const wanted = children.get(String(index));
      if (wanted) this.find(wanted);
      else this.#skipValue();
    }
    this.#at += 1;
  }

  /** Skips blanks and a comma. Returns the first character of the next entry, or the closing bracket. */
  #nextInContainer(): number {
    this.#skipBlanks();
    if (this.#text.charCodeAt(this.#at) === comma) this.#at += 1;
    this.#skipBlanks();
    return this.#text.charCodeAt(this.#at);
  }

  #skipBlanks(): void {
    while (this.#text.charCodeAt(this.#at) <= 32) this.#at += 1;
  }

  /** Only counts brackets and steps over strings: the text is known to be valid. */
  #skipValue(): void {
    const text = this.#text;
    let depth = 0;
    let at = this.#at;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) at = endOfString(text, at) - 1;
      else if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) depth -= 1;
      else if (code !== comma) continue;
      // A number or keyword ends before the next comma or closing bracket; other values end with a character of their own.
      if (depth < 0 || (depth === 0 && code === comma)) break;
      if (depth === 0) {
        at += 1;
        break;
      }
    }
    this.#at = at;
  }
}
