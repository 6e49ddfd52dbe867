import { plural } from '../../shared/text.ts';
import { exemptedSection, findingsSection, notesSection, staleSection } from './markdownTable.ts';
import { code, plain } from './markdownText.ts';
import type { CompatReport } from './report.ts';
import { infosInWords, summaryInWords, summaryOf } from './summary.ts';
import { placeInWords } from './words.ts';

export interface Section {
  readonly heading: string;
  readonly isFolded: boolean;
  /** Of the table; empty for a list. */
  readonly head: readonly string[];
  readonly rows: readonly string[];
}

/** By this a program knows its comment again, to write over it. */
export const commentMarker = '<!-- version-gateway compat -->';
/** Of a comment on GitHub. */
export const longestComment = 65_536;
const mostContracts = 20;
// For the remark that something is left out, in each section.
const reserve = 1000;

/** A comment for a pull request. The worst comes first, so that a comment that is too long loses the rest. */
export function asMarkdown(report: CompatReport): string {
  const top = [commentMarker, `### Contracts: ${plain(summaryInWords(report), 400)}`, ...contracts(report)].join(
    '\n\n',
  );
  let left = longestComment - reserve - top.length;
  const texts = sectionsOf(report).map((section) => {
    const text = sectionWithin(section, left);
    left -= text.length;
    return text;
  });
  return `${top}${texts.join('')}\n`;
}

function sectionsOf(report: CompatReport): Section[] {
  const { errors, warnings, exempted, stale } = summaryOf(report);
  return [
    findingsSection(plural(errors, 'error'), report, 'error', false),
    staleSection(plural(stale, 'stale exemption'), report),
    findingsSection(plural(warnings, 'warning'), report, 'warn', false),
    notesSection('Not compared', report),
    exemptedSection(`${plural(exempted, 'finding')} let through`, report),
    findingsSection(infosInWords(report), report, 'info', true),
  ].filter(({ rows }) => rows.length > 0);
}

function contracts({ comparings }: CompatReport): string[] {
  const lines = comparings.slice(0, mostContracts).map(({ title, old, new: now }) => {
    const names = `${code(placeInWords(old, undefined))} → ${code(placeInWords(now, undefined))}`;
    return title === '' ? `- ${names}` : `- ${plain(title, 60)}: ${names}`;
  });
  const more = comparings.length - lines.length;
  if (more > 0) lines.push(`- and ${plural(more, 'more comparison')}`);
  return lines.length === 0 ? [] : [lines.join('\n')];
}

/** As many of its rows as there is room for; whatever is opened is closed again. */
function sectionWithin({ heading, isFolded, head, rows }: Section, room: number): string {
  const opening = isFolded ? `<details><summary>${heading}</summary>` : `#### ${heading}`;
  const closing = isFolded ? '\n\n</details>' : '';
  let left = room - opening.length - closing.length - head.join('\n').length - 10;
  const fitting: string[] = [];
  for (const row of rows) {
    left -= row.length + 1;
    if (left < 0) break;
    fitting.push(row);
  }
  const more = rows.length - fitting.length;
  const remark = more > 0 ? `\n\n${plural(more, 'row')} left out: a comment has no room for more.` : '';
  const table = fitting.length === 0 ? '' : `\n\n${[...head, ...fitting].join('\n')}`;
  return `\n\n${opening}${table}${remark}${closing}`;
}
