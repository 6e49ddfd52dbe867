/** How alike two names are, from 0 to 1: by the pairs of letters that they share (Dice), whatever their spelling. */
export function likeness(a: string, b: string): number {
  return likenessTo(a)(b);
}

/** The same for one name that is held against many. */
export function likenessTo(name: string): (other: string) => number {
  const own = plain(name);
  const pairs = new Map<string, number>();
  for (const pair of pairsOf(own)) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  return (other) => {
    const text = plain(other);
    if (text === own) return 1;
    if (own.length < 2 || text.length < 2) return 0;
    const seen = new Map<string, number>();
    let shared = 0;
    for (const pair of pairsOf(text)) {
      const count = (seen.get(pair) ?? 0) + 1;
      seen.set(pair, count);
      if (count <= (pairs.get(pair) ?? 0)) shared += 1;
    }
    return (2 * shared) / (own.length + text.length - 2);
  };
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}/]/gu, '');
}

function pairsOf(text: string): string[] {
  return Array.from({ length: Math.max(text.length - 1, 0) }, (_unused, at) => text.slice(at, at + 2));
}
