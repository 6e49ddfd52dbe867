import { printable } from '../../shared/text.ts';
import type { TextPosition } from '../document/textPositions.ts';
import type { Site } from '../finding.ts';
import { shown } from './words.ts';

const longest = 120;
// How much of a line in front of the caret is shown where not all of it can be.
const before = 40;

/** The line of a contract at which something stands, with a caret under its column; a long line is cut on both sides. */
export function frameOf(site: Site, { line, column, start }: TextPosition): string[] {
  const raw = lineAt(site.place.file.text, start);
  if (raw === undefined || raw.trim() === '') return [];
  const from = column > longest - before ? column - 1 - before : 0;
  const lead = from > 0 ? '…' : '';
  const text = raw.slice(from, from + longest);
  const tail = from + longest < raw.length ? '…' : '';
  const number = String(line);
  const margin = ' '.repeat(number.length);
  const indent = ' '.repeat(lead.length + tidy(raw.slice(from, column - 1)).length);
  return [`${number} | ${lead}${tidy(text)}${tail}`, `${margin} | ${indent}^`];
}

function tidy(text: string): string {
  return shown(printable(text.replaceAll('\t', ' ')), Number.POSITIVE_INFINITY);
}

function lineAt(text: string | undefined, start: number): string | undefined {
  const end = text?.indexOf('\n', start);
  return text?.slice(start, end === -1 ? undefined : end).replace(/\r+$/, '');
}
