import type { ContractPlace } from './located.ts';

/** Places of one file as a tree, so that a text is walked once for all of them, and nowhere else. */
export interface Wanted {
  readonly inner: Map<string, Wanted>;
  /** Where it stands; undefined until it has been found. */
  offset: number | undefined;
}

export function wantedTree(places: readonly ContractPlace[]): {
  readonly tree: Wanted;
  readonly of: Map<ContractPlace, Wanted[]>;
} {
  const tree: Wanted = { inner: new Map(), offset: undefined };
  const of = new Map(places.map((place) => [place, pathTo(place, tree)]));
  return { tree, of };
}

/** What is wanted on the way to a place, from the root on. */
function pathTo(place: ContractPlace, tree: Wanted): Wanted[] {
  const keys: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) keys.push(at.key);
  const path = [tree];
  let at = tree;
  for (const key of keys.reverse()) {
    const next = at.inner.get(key) ?? { inner: new Map(), offset: undefined };
    at.inner.set(key, next);
    path.push(next);
    at = next;
  }
  return path;
}
