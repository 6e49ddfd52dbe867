import { type Document, isAlias, isMap, isSeq, type Node } from 'yaml';

// Far above what a routes.yaml holds, and far below what takes a second to unfold.
const mostNodes = 100_000;
const mostAliases = 100;

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
  const nodes = unfolded(document.contents, document, new Map());
  if (nodes === Number.POSITIVE_INFINITY) return 'cycle';
  return nodes > mostNodes ? 'bomb' : undefined;
}

/** How many nodes there are with every alias replaced by what it stands for; Infinity for one that holds itself. */
function unfolded(node: Node | null, document: Document.Parsed, known: Map<Node, number>): number {
  const target = isAlias(node) ? node.resolve(document) : node;
  if (!isMap(target) && !isSeq(target)) return 1;
  const seen = known.get(target);
  if (seen !== undefined) return seen;
  known.set(target, Number.POSITIVE_INFINITY);
  const items: unknown[] = isMap(target) ? target.items.map(({ value }) => value) : target.items;
  const count = items.reduce<number>((sum, item) => sum + unfolded(item as Node | null, document, known), 1);
  known.set(target, count);
  return count;
}
