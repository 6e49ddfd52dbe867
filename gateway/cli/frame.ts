import { isSecret, maskLine, printable } from '../config/fault.ts';

const longest = 160;

/**
 * The line at which a fault stands, with a caret under its column. Secrets are hidden, also where they
 * go on over several lines; the caret is left out where hiding them has moved what it would point at.
 */
export function frame(text: string, line: number, column: number): string[] {
  const lines = text.split(/\r\n?|\n/);
  const raw = lines[line - 1];
  if (raw === undefined || raw.trim() === '') return [];
  const shown = continuesSecret(lines, line - 1) ? '***' : tidy(maskLine(raw));
  const before = raw.slice(0, column - 1);
  const number = String(line);
  const top = `  ${number} | ${shown.length > longest ? `${shown.slice(0, longest - 1)}…` : shown}`;
  if (!shown.startsWith(tidy(before)) || column > longest) return [top];
  return [top, `  ${' '.repeat(number.length)} | ${' '.repeat(tidy(before).length)}^`];
}

function tidy(line: string): string {
  return printable(line.replaceAll('\t', ' '));
}

/** Whether the line belongs to a value that began at a key such as `admin_token:` further up. */
function continuesSecret(lines: readonly string[], index: number): boolean {
  const indent = indentOf(lines[index] ?? '');
  const opener = lines.slice(0, index).findLast((line) => line.trim() !== '' && indentOf(line) < indent);
  return opener !== undefined && isSecret([/^[^:]*/.exec(opener)?.[0] ?? '']);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
