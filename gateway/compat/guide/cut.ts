import { isList, isMap } from '../document/located.ts';
import { type Made, partOf } from './made.ts';
import { ownOf } from './values.ts';

/** What of a value is of interest: everything below these keys; no keys: all of it. `[]` is any item. */
export interface Interest {
  readonly keys: Map<string, Interest>;
  isWhole: boolean;
}

export function interestIn(paths: readonly (readonly string[])[]): Interest {
  const root: Interest = { keys: new Map(), isWhole: false };
  for (const path of paths) {
    let at = root;
    for (const key of path) {
      const next = at.keys.get(key) ?? { keys: new Map(), isWhole: false };
      at.keys.set(key, next);
      at = next;
    }
    at.isWhole = true;
  }
  return root;
}

/** A piece of an example. */
export interface Piece {
  readonly value: unknown;
  /** Whether any of it comes from `fallback`. */
  readonly isMadeUp: boolean;
}

/**
 * As much of `value` as is of interest, of a list the first item only. What it lacks is taken from `fallback`; undefined
 * where neither has anything.
 */
export function cut(value: unknown, fallback: Made | undefined, interest: Interest): Piece | undefined {
  if (interest.isWhole || interest.keys.size === 0) return whole(value, fallback);
  if (isList(value) || (value === undefined && isList(fallback?.value))) return items(value, fallback, interest);
  if (!isMap(value) && !isMap(fallback?.value)) return whole(value, fallback);
  const own = isMap(value) ? value : {};
  // In the order of the example; what it lacks comes last.
  const names = [...new Set([...Object.keys(own), ...interest.keys.keys()])];
  const pieces = names.flatMap((name): [string, Piece][] => {
    const inner = interest.keys.get(name) ?? interest.keys.get('*');
    const piece = inner && cut(ownOf(own, name), partOf(fallback, name), inner);
    return piece ? [[name, piece]] : [];
  });
  if (pieces.length === 0) return undefined;
  return {
    value: Object.fromEntries(pieces.map(([name, piece]) => [name, piece.value])),
    isMadeUp: pieces.some(([, piece]) => piece.isMadeUp),
  };
}

function items(value: unknown, fallback: Made | undefined, interest: Interest): Piece | undefined {
  const [key, inner] = [...interest.keys].find(([name]) => name.startsWith('[')) ?? [];
  if (key === undefined || inner === undefined) return undefined;
  const piece = cut(isList(value) ? value[0] : undefined, partOf(fallback, key), inner);
  return piece && { value: [piece.value], isMadeUp: piece.isMadeUp };
}

function whole(value: unknown, fallback: Made | undefined): Piece | undefined {
  return value === undefined ? fallback : { value, isMadeUp: false };
}
