import { styleText } from 'node:util';
import type { Output } from '../io.ts';

export type Paint = (style: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string;

/** Colours on a terminal, unless NO_COLOR is set or TERM is `dumb`; plain text otherwise. */
export function painter(output: Output, env: NodeJS.ProcessEnv): Paint {
  const isPlain = output.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return (style, text) => (isPlain ? text : styleText(style, text, { validateStream: false }));
}

/** Columns of a terminal; Infinity for a file or a pipe, where nothing is truncated. */
export function widthOf(output: Output): number {
  return output.isTTY ? (output.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/**
 * JSON that is also safe to print on a terminal: JSON.stringify does not escape C1 control characters (RFC 8259 §7)
 * or bidirectional overrides.
 */
export function printedJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const safe = text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_unit, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
  return `${safe}\n`;
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

// Text columns are not truncated below this width: client names would no longer differ.
const narrowestColumn = 12;
// Spaces before the first column and between columns.
const gap = 2;

/**
 * Rows as aligned columns, indented by two spaces. Empty columns are omitted. If the table is wider than `width`, the
 * widest of its columns with letters are truncated with an ellipsis. Numbers, days and charts have no letters.
 */
export function table(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string[] {
  const naturalWidths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const widths = narrowedWidths(naturalWidths, rows, width);
  return rows.map((row) => {
    const cells = row.map((cell, column) => truncated(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0));
    const line = cells.filter((_cell, column) => widths[column] !== 0).join(' '.repeat(gap));
    return `${' '.repeat(gap)}${line.trimEnd()}`;
  });
}

function narrowedWidths(
  naturalWidths: readonly number[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = [...naturalWidths];
  const hasWords = naturalWidths.map((_width, column) =>
    rows.some((row) => (row[column]?.length ?? 0) > narrowestColumn && /\p{L}/u.test(row[column] ?? '')),
  );
  let excess = widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + gap), 0) - width;
  for (; excess > 0; excess -= 1) {
    const widest = Math.max(...widths.filter((_width, column) => hasWords[column]));
    if (widest <= narrowestColumn) break;
    const column = widths.findIndex((one, index) => hasWords[index] && one === widest);
    widths[column] = widest - 1;
  }
  return widths;
}

function truncated(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

const bars = '▁▂▃▄▅▆▇█';
const dayMs = 86_400_000;
/** 30 days and today. */
const widestSparkline = 31;

/**
 * Requests per day as one line of bars, relative to the busiest day. A dot is a day without requests. A blank is a day before
 * `countedSince`, for which there are no counts. Days that are missing from the list had no requests. If there are more than 31
 * days, each bar stands for several days. Times are epoch ms.
 */
export function sparkline(
  days: readonly { readonly at: string; readonly requests: number }[],
  since: number,
  until: number,
  countedSince = since,
): string {
  const first = Math.floor(since / dayMs);
  const length = Math.floor(until / dayMs) - first + 1;
  const width = Math.min(length, widestSparkline);
  const sums = new Array<number>(Math.max(0, width)).fill(0);
  const placeOf = (instant: number): number => Math.floor(((Math.floor(instant / dayMs) - first) * width) / length);
  const firstCounted = placeOf(countedSince);
  for (const { at, requests } of days) {
    const place = placeOf(Date.parse(at));
    if (place >= 0 && place < width) sums[place] = (sums[place] ?? 0) + requests;
  }
  const most = Math.max(...sums, 1);
  const barWithoutRequests = (place: number): string => (place < firstCounted ? ' ' : '·');
  return sums
    .map((sum, place) => (sum === 0 ? barWithoutRequests(place) : bars[Math.ceil((sum / most) * bars.length) - 1]))
    .join('');
}
