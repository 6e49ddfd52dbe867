// Enough for what stands in an `enum`, and too short for an expression that goes astray.
const longest = { pattern: 100, text: 32, textWithNestedLoops: 12 };

/** Whether a text matches a `pattern`; undefined where that is not tried, or the pattern is none. */
export function matches(pattern: string, text: string): boolean | undefined {
  if (!isQuick(pattern, text)) return undefined;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return undefined;
  }
}

/** A contract may be anybody's: an expression that backtracks without end must not hold up the comparison. */
function isQuick(pattern: string, text: string): boolean {
  if (pattern.length > longest.pattern || text.length > longest.text) return false;
  const loops = pattern.match(/[*+]|(?<!\()\?|\{\d+,/g)?.length ?? 0;
  const hasChoice = pattern.includes('|');
  if (!/\)[*+{]/.test(pattern)) return loops <= (hasChoice ? 2 : 4);
  return !hasChoice && !pattern.includes('){') && loops <= 3 && text.length <= longest.textWithNestedLoops;
}
