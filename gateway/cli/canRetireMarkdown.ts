import type { ServedVerdict } from '../retirement/served.ts';
import { harmless } from '../shared/harmless.ts';
import { clientCells, clientHeadings, clientsShown, summaryOf } from './canRetireText.ts';

/** For a ticket or a pull request. */
export function verdictAsMarkdown(verdict: ServedVerdict): string {
  const { version, answer, reasons, notes, facts } = verdict;
  const lines = [`# Can ${escaped(`/${version}`)} be retired? ${escaped(answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `- ${escaped(text)}`), '');
  lines.push(...rows(['fact', ''], summaryOf(verdict)));
  if (facts.clients.length > 0) lines.push('', ...rows(clientHeadings, clientCells(verdict)));
  const more = facts.client_count - clientsShown;
  if (facts.clients.length > 0 && more > 0) lines.push('', `and ${more} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `- ${escaped(text)}`));
  return `${lines.join('\n')}\n`;
}

function rows(headings: readonly string[], cells: readonly (readonly string[])[]): string[] {
  const line = (row: readonly string[]): string => `| ${row.map(escaped).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...cells.map(line)];
}

/** Text that means itself: no cell, code, tag, link, image or emphasis (CommonMark §2.4). */
export function escaped(text: string): string {
  return harmless(text).replace(/[\\|`<>[\]*_~!&#]/g, '\\$&');
}
