import { type Alias, type Document, isAlias, isMap, isSeq, type Node } from 'yaml';

const mostAliases = 100;
// How many times as large as it is written a document may become.
const mostTimes = 10;

/** What would go wrong if the aliases of a document were followed. */
export function aliasBomb(document: Document.Parsed): 'bomb' | 'cycle' | 'deep' | undefined {
  try {
    const value: unknown = document.toJS({ maxAliasCount: mostAliases });
    JSON.stringify(value);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return 'deep';
    if (!(error instanceof ReferenceError)) return 'cycle';
    if (/excessive/i.test(error.message)) return 'bomb';
  }
  // An alias without an anchor ended the library's own count before it was done.
  const nodes = size(document.contents, (alias) => alias.resolve(document));
  if (nodes === Number.POSITIVE_INFINITY) return 'cycle';
  return nodes > mostTimes * size(document.contents, () => undefined) ? 'bomb' : undefined;
}

/** How many nodes there are with every alias replaced by what `follow` says; Infinity for one that holds itself. */
function size(
  node: Node | null,
  follow: (alias: Alias) => Node | undefined,
  known: Map<Node, number> = new Map(),
): number {
  const target = isAlias(node) ? follow(node) : node;
  if (!isMap(target) && !isSeq(target)) return 1;
  const seen = known.get(target);
  if (seen !== undefined) return seen;
  known.set(target, Number.POSITIVE_INFINITY);
  const items: unknown[] = isMap(target) ? target.items.map(({ value }) => value) : target.items;
  const count = items.reduce<number>((sum, item) => sum + size(item as Node | null, follow, known), 1);
  known.set(target, count);
  return count;
}
