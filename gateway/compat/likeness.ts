/** A name, taken apart: for one that is held against many. */
export interface Letters {
  readonly plain: string;
  /** How often it has each pair of neighbouring letters. */
  readonly pairs: ReadonlyMap<string, number>;
}

/** Whatever its spelling: `drink_id`, `drinkId` and `DRINK-ID` are one. */
export function lettersOf(name: string): Letters {
  const plain = name.toLowerCase().replace(/[^\p{L}\p{N}/]/gu, '');
  const pairs = new Map<string, number>();
  for (let at = 1; at < plain.length; at += 1) {
    const pair = plain.slice(at - 1, at + 1);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return { plain, pairs };
}

/** How alike two names are, from 0 to 1: by the pairs of letters that they share (Dice). */
export function likeness(a: Letters, b: Letters): number {
  if (a.plain === b.plain) return 1;
  if (a.plain.length < 2 || b.plain.length < 2) return 0;
  let shared = 0;
  for (const [pair, count] of a.pairs) shared += Math.min(count, b.pairs.get(pair) ?? 0);
  return (2 * shared) / (a.plain.length + b.plain.length - 2);
}
