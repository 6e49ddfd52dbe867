import { styleText } from 'node:util';
import {
  type Document,
  documentAsMarkdown,
  documentAsText,
  type Paint,
  tableAsText,
} from '../../../shared/document.ts';
import { type AdminEndpoint, gatewayJson } from '../adminClient.ts';
import type { Io, Output } from '../io.ts';

/** How an answer is printed. `endpoint`: of the gateway that gave it; undefined: the command found it itself. */
interface Printing {
  readonly format: string;
  readonly endpoint: AdminEndpoint | undefined;
  readonly io: Io;
}

/** Prints an answer as JSON, with the gateway that gave it, or as text. */
export function printAnswer(
  answer: object,
  { format, endpoint, io: { stdout, env } }: Printing,
  textOf: (paint: Paint, width: number) => string,
): void {
  const isJson = format === 'json';
  stdout.write(
    isJson ? printedJson({ ...answer, ...gatewayJson(endpoint) }) : textOf(painter(stdout, env), widthOf(stdout)),
  );
}

/** Prints a report as JSON, as Markdown or as text. */
export function printReport<Report extends object>(
  report: Report,
  documentOf: (report: Report) => Document,
  printing: Printing,
): void {
  printAnswer(report, printing, (paint, width) => {
    const document = documentOf(report);
    return printing.format === 'markdown' ? documentAsMarkdown(document) : documentAsText(document, paint, width);
  });
}

/** Prints an answer as JSON, or its rows as a table below a head. `ifEmpty`: a sentence for a table without rows. */
export function printTable(
  answer: object,
  rows: readonly (readonly string[])[],
  ifEmpty: string,
  printing: Printing,
): void {
  printAnswer(answer, printing, (_paint, width) => {
    return rows.length === 1 ? `${ifEmpty}\n` : `${tableAsText(rows, width).join('\n')}\n`;
  });
}

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
