import type { VerdictJson } from '../retirement/verdictJson.ts';
import { grouped, printable } from '../shared/text.ts';
import { clientTable, summaryOf } from './canRetireText.ts';

/** For a ticket or a pull request. */
export function verdictAsMarkdown(verdict: VerdictJson): string {
  const { version, answer, reasons, notes } = verdict;
  const lines = [`# Can ${escaped(`/${version}`)} be retired? ${escaped(answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `- ${escaped(text)}`), '');
  lines.push(...rows(['fact', ''], summaryOf(verdict)));
  const { headings, cells, more } = clientTable(verdict);
  if (cells.length > 0) lines.push('', ...rows(headings, cells));
  if (more > 0) lines.push('', `and ${grouped(more)} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `- ${escaped(text)}`));
  return `${lines.join('\n')}\n`;
}

function rows(headings: readonly string[], cells: readonly (readonly string[])[]): string[] {
  const line = (row: readonly string[]): string => `| ${row.map(escaped).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...cells.map(line)];
}

/** Text that means itself: no cell, code, tag, link, image or emphasis (CommonMark §2.4). */
export function escaped(text: string): string {
  return printable(text).replace(/[\\|`<>[\]*_~!&#]/g, '\\$&');
}
