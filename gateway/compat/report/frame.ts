import { harmless } from '../../shared/harmless.ts';
import type { Position } from '../contract/lines.ts';
import type { Site } from '../finding.ts';
import { shown } from './words.ts';

const longest = 120;
// How much of a line in front of the caret is shown where not all of it can be.
const before = 40;

/** The line of a contract at which something stands, with a caret under its column; a long line is cut on both sides. */
export function frameOf(site: Site, { line, column }: Position): string[] {
  const raw = lineOf(site.place.file, line);
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
  return shown(harmless(text.replaceAll('\t', ' ')), Number.POSITIVE_INFINITY);
}

const starts = new WeakMap<object, readonly number[]>();

/** A contract may have a hundred thousand lines, and a finding in each: it is taken apart once. */
function lineOf(file: Site['place']['file'], line: number): string | undefined {
  const { text } = file;
  if (text === undefined) return undefined;
  const known = starts.get(file) ?? startsOf(text);
  starts.set(file, known);
  const start = known[line - 1];
  return start === undefined ? undefined : text.slice(start, known[line]).replace(/[\r\n]+$/, '');
}

function startsOf(text: string): number[] {
  const found = [0];
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) found.push(end + 1);
  return found;
}
