import { cellAsMarkdown, markdownTable, plainAsMarkdown, sentenceAsMarkdown } from './markup.ts';
import { printable, shortened } from './text.ts';

export type Style = 'red' | 'yellow' | 'green' | 'dim' | 'bold';
export type Paint = (style: Style, text: string) => string;

/**
 * What a report or a message says, in the order of all formats. Texts are plain, with names in backticks, and clients may have chosen
 * parts of them. Each format escapes them: a terminal and Markdown here, an e-mail and Slack in gateway/operate/notify/formats.ts.
 */
export interface Document {
  readonly title: string;
  /** The answer, if the title is a question. */
  readonly answer?: { readonly text: string; readonly style: Style };
  /** The result in a sentence. A terminal shows it in place of the title. */
  readonly lead?: string;
  readonly sections: readonly StyledSection[];
}

/** A part of a document. Its members are shown in this order. */
export interface Section {
  readonly heading?: string | undefined;
  /** On a terminal beside the heading, elsewhere below it. */
  readonly detail?: string | undefined;
  readonly text?: string | undefined;
  /** Sentences, or entries of a list. */
  readonly lines?: readonly string[];
  /** A table without rows is omitted. */
  readonly table?: Table | undefined;
  /** What the table omits. */
  readonly more?: readonly string[];
}

/** With what only a terminal uses. */
export interface StyledSection extends Section {
  /** Of `text`. */
  readonly style?: Style;
  /** `isPlain`: without the head. */
  readonly table?: (Table & { readonly isPlain?: boolean }) | undefined;
}

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A list may be of another release, or of a client: longer entries are cut. */
const maxLength = 2_000;

/** For a file, a ticket, a chat or a pull request. */
export function documentAsMarkdown(document: Document): string {
  const { lead, sections } = document;
  const heading = plainAsMarkdown(headingOf(document), maxLength);
  const parts = [`# ${heading}`, sentenceOf(lead), ...sections.flatMap(markdownParts)];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** The title, with the answer to its question. */
export function headingOf({ title, answer }: Pick<Document, 'title' | 'answer'>): string {
  return answer ? `${title} ${answer.text}` : title;
}

function markdownParts({ heading, detail, text, lines = [], table, more = [] }: Section): string[] {
  const { head, rows } = table ?? { head: [], rows: [] };
  const [headCells = [], ...rowCells] = [head, ...rows].map((cells) =>
    cells.map((cell) => cellAsMarkdown(cell, maxLength)),
  );
  return [
    heading === undefined ? '' : `## ${plainAsMarkdown(heading, maxLength)}`,
    sentenceOf(detail),
    sentenceOf(text),
    lines.map((line) => `- ${sentenceOf(line)}`).join('\n'),
    rows.length > 0 ? markdownTable(headCells, rowCells).join('\n') : '',
    ...more.map(sentenceOf),
  ];
}

function sentenceOf(text = ''): string {
  return sentenceAsMarkdown(text, maxLength);
}

/** `width`: the columns of the terminal. */
export function documentAsText(document: Document, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { title, answer, lead, sections } = document;
  const [first = [], ...others] = sections.map((section) => terminalLines(section, paint, width));
  const question = `${printable(title)}${answer ? `  ${paint(answer.style, answer.text)}` : ''}`;
  const blocks = lead === undefined ? [[question], first] : [[paint('bold', printable(lead)), ...first]];
  const shown = [...blocks, ...others].filter((lines) => lines.length > 0);
  return `${shown.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function terminalLines(section: StyledSection, paint: Paint, width: number): string[] {
  const { heading, detail, text, style, lines = [], table, more = [] } = section;
  const { head = [], rows = [], isPlain = false } = table ?? {};
  const name = heading === undefined ? [] : [paint('bold', printable(heading))];
  const first = [...name, ...(detail === undefined ? [] : [printable(detail)])].join('  ');
  const indented = (one: string): string => `  ${printable(one)}`;
  return [
    ...(first === '' ? [] : [first]),
    ...(text === undefined ? [] : [style === undefined ? indented(text) : paint(style, indented(text))]),
    ...lines.map(indented),
    ...(rows.length > 0 ? tableAsText(isPlain ? rows : [head, ...rows], width) : []),
    ...more.map(indented),
  ];
}

// Text columns are not truncated below this width: client names would no longer differ.
const narrowestColumn = 12;
// Spaces before the first column and between columns.
const gap = 2;

/**
 * Rows as aligned columns, indented by two spaces. Empty columns are omitted. If the table is wider than `width`, the
 * widest of its columns with letters are truncated with an ellipsis. Numbers, days and charts have no letters.
 */
export function tableAsText(cells: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string[] {
  const rows = cells.map((row) => row.map(printable));
  const naturalWidths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const widths = narrowedWidths(naturalWidths, rows, width);
  return rows.map((row) => {
    const padded = row.map((cell, column) => shortened(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0));
    const line = padded.filter((_cell, column) => widths[column] !== 0).join(' '.repeat(gap));
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
