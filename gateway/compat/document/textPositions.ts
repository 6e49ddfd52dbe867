/** From 1; columns count UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
  /** The offset at which its line begins. */
  readonly start: number;
}

/** Where an offset stands in a text. */
export function positionAt(text: string, offset: number): TextPosition {
  const { line, start } = advance(text, offset, { line: 1, start: 0 });
  return { line, column: offset - start + 1, start };
}

/** The same for many offsets in one pass over the text. */
export function positionsAt(text: string, offsets: Iterable<number>): Map<number, TextPosition> {
  const positions = new Map<number, TextPosition>();
  let at = { line: 1, start: 0 };
  for (const offset of [...offsets].sort((a, b) => a - b)) {
    at = advance(text, offset, at);
    positions.set(offset, { ...at, column: offset - at.start + 1 });
  }
  return positions;
}

/** The line that holds `offset`, from a line before it on. */
function advance(text: string, offset: number, from: { line: number; start: number }): { line: number; start: number } {
  let { line, start } = from;
  for (let end = text.indexOf('\n', start); end !== -1 && end < offset; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return { line, start };
}
