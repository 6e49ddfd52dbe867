import type { Output } from './io.ts';

// A column of words is not cut below this: it would no longer tell one client from another.
const narrowest = 12;
const gap = 2;

/** Columns of a terminal; Infinity for a file or a pipe, where nothing is cut. */
export function widthOf(output: Output): number {
  return output.isTTY ? (output.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/**
 * Rows as aligned columns, indented by two spaces. An empty column is left out. Where the table is wider than `width`,
 * the widest columns of words are cut with an ellipsis; numbers, dates and charts never are.
 */
export function table(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string[] {
  const natural = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const widths = narrowed(natural, rows, width);
  return rows.map((row) => {
    const cells = row.map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0));
    const line = cells.filter((_cell, column) => widths[column] !== 0).join(' '.repeat(gap));
    return `${' '.repeat(gap)}${line.trimEnd()}`;
  });
}

function narrowed(natural: readonly number[], rows: readonly (readonly string[])[], width: number): number[] {
  const widths = [...natural];
  const hasWords = natural.map((_width, column) =>
    rows.some((row) => (row[column]?.length ?? 0) > narrowest && /\p{L}/u.test(row[column] ?? '')),
  );
  let excess = widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + gap), 0) - width;
  for (; excess > 0; excess -= 1) {
    const widest = Math.max(...widths.filter((_width, column) => hasWords[column]));
    if (widest <= narrowest) break;
    const column = widths.findIndex((one, index) => hasWords[index] && one === widest);
    widths[column] = widest - 1;
  }
  return widths;
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

/** As short as it can be written in routes.yaml. */
export function date(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z').replace('T00:00:00Z', '');
}
