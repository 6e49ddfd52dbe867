import { endOfString, unquote } from './jsonSyntax.ts';
import type { ContractFile, ContractPlace } from './located.ts';
import { positionsAt, type SearchTree, searchTreeFor, type TextPosition } from './textPositions.ts';
import { findInYaml } from './yamlPositions.ts';

/**
 * The text positions of places: of a map entry, the position of its key; of a list item, where it begins. A place that
 * does not exist gets the position of its nearest existing ancestor. Empty for a file without text.
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
  for (const [place, offset] of offsets) positions.set(place, byOffset.get(offset) ?? { line: 1, column: 1, start: 0 });
  return positions;
}

function lastOffset(path: readonly SearchTree[]): number {
  return path.findLast(({ offset }) => offset !== undefined)?.offset ?? 0;
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

  /** Reads one value. */
  find(tree: SearchTree): void {
    this.#skipBlanks();
    tree.offset ??= this.#at;
    const first = this.#text.charCodeAt(this.#at);
    if (tree.inner.size === 0) this.#skipValue();
    else if (first === openBrace) this.#findInMap(tree);
    else if (first === openBracket) this.#findInList(tree);
    else this.#skipValue();
  }

  #findInMap({ inner }: SearchTree): void {
    this.#at += 1;
    while (this.#nextInContainer() !== closeBrace) {
      const start = this.#at;
      this.#at = endOfString(this.#text, start);
      const wanted = inner.get(unquote(this.#text.slice(start, this.#at)));
      this.#skipBlanks();
      this.#at += 1; // the colon
      if (wanted) {
        wanted.offset = start;
        this.find(wanted);
      } else this.#skipValue();
    }
    this.#at += 1;
  }

  #findInList({ inner }: SearchTree): void {
    this.#at += 1;
    for (let index = 0; this.#nextInContainer() !== closeBracket; index += 1) {
      const wanted = inner.get(String(index));
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
