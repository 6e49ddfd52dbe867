import { type ContractPlace, keysTo } from './located.ts';

/** Line and column count from 1; columns count UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
  /** The offset of the first character of the line. */
  readonly start: number;
}

export function positionAt(text: string, offset: number): TextPosition {
  const { line, start } = advance(text, offset, { line: 1, start: 0 });
  return { line, column: offset - start + 1, start };
}

/** The positions of many offsets in one pass over the text. */
export function positionsAt(text: string, offsets: Iterable<number>): Map<number, TextPosition> {
  const positions = new Map<number, TextPosition>();
  let at = { line: 1, start: 0 };
  for (const offset of [...offsets].sort((a, b) => a - b)) {
    at = advance(text, offset, at);
    positions.set(offset, { ...at, column: offset - at.start + 1 });
  }
  return positions;
}

/** The line that contains `offset`; `from` is that line or one before it. */
function advance(text: string, offset: number, from: { line: number; start: number }): { line: number; start: number } {
  let { line, start } = from;
  for (let end = text.indexOf('\n', start); end !== -1 && end < offset; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return { line, start };
}

/** The places to find in one file, as a tree of keys: one pass finds them all and skips everything else. */
export interface SearchTree {
  readonly inner: Map<string, SearchTree>;
  /** The offset of the place in the text; undefined until it is found. */
  offset: number | undefined;
}

/** A search tree for `places`, and for each place the nodes from the root of the tree down to it. */
export function searchTreeFor(places: readonly ContractPlace[]): {
  readonly tree: SearchTree;
  readonly paths: Map<ContractPlace, SearchTree[]>;
} {
  const tree: SearchTree = { inner: new Map(), offset: undefined };
  const paths = new Map(places.map((place) => [place, addTo(tree, place)]));
  return { tree, paths };
}

function addTo(tree: SearchTree, place: ContractPlace): SearchTree[] {
  const path = [tree];
  let at = tree;
  for (const key of keysTo(place)) {
    const next = at.inner.get(key) ?? { inner: new Map(), offset: undefined };
    at.inner.set(key, next);
    path.push(next);
    at = next;
  }
  return path;
}
