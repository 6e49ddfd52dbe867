import { printable } from '../../shared/text.ts';
import { partsOf } from './words.ts';

/**
 * Text that means itself (CommonMark §2.4): no tag, link, image, emphasis, table cell or formula, and nothing that is made a
 * link without being one (GFM §6.9).
 */
export function escaped(text: string): string {
  return printable(text.replace(/\s+/g, ' '))
    .replace(/[\\`*_{}[\]<>#|~!&$@]|:(?=[/a-z_])/gi, '\\$&')
    .replace(/www\./gi, (found) => `${found.slice(0, 3)}\\.`);
}

/** A text with names between backticks. */
export function inMarkdown(text: string): string {
  return partsOf(text)
    .map((part) => (part.isCode ? codeInMarkdown(part.text) : escaped(part.text)))
    .join('');
}

/** A code span that ends where it should: its fence is longer than any in the text (CommonMark §6.1). */
export function codeInMarkdown(text: string): string {
  const plain = printable(text.replace(/\s/g, ' '));
  const fence = '`'.repeat(longestRun(plain) + 1);
  const room = /^[` ]|[` ]$/.test(plain) ? ' ' : '';
  return `${fence}${room}${plain}${room}${fence}`;
}

export function fenced(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(longestRun(text) + 1, 3));
  return `${fence}${language}\n${linesOf(text)}\n${fence}`;
}

function linesOf(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}
