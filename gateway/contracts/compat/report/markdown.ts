import { dayText } from '../../../shared/instant.ts';
import { codeAsMarkdown, markdownTable, plainAsMarkdown, sentenceAsMarkdown } from '../../../shared/markup.ts';
import { plural } from '../../../shared/text.ts';
import { type CompatReport, type PlacedFinding, relevantFindings } from '../judge/judge.ts';
import { rules } from '../rules/rules.ts';
import { compatSummary, infosInWords, summaryInWords } from './summary.ts';
import {
  existsInContract,
  findingNotes,
  firstRouteOf,
  placeInWords,
  sentenceWithoutRoute,
  staleInWords,
} from './words.ts';

interface Section {
  readonly heading: string;
  readonly isFolded: boolean;
  /** The header rows of the table; empty for a list. */
  readonly head: readonly string[];
  readonly rows: readonly string[];
}

/** Identifies the comment, so that a later run can replace it. */
export const commentMarker = '<!-- version-gateway compat -->';
/** GitHub's limit, in characters. */
export const longestComment = 65_536;
const maxListedPairs = 20;
const maxNamedRoutes = 3;
// In characters: for the remarks about omitted rows, one in each section.
const reservedForRemarks = 1000;

/** A comment for a pull request, with the most severe findings first. Rows that do not fit are omitted. */
export function reportAsMarkdown(report: CompatReport): string {
  const top = [
    commentMarker,
    `### Contracts: ${plainAsMarkdown(summaryInWords(report), 400)}`,
    ...contractList(report),
  ].join('\n\n');
  let room = longestComment - reservedForRemarks - top.length;
  const texts = sectionsOf(report).map((section) => {
    const text = fittedSection(section, room);
    room -= text.length;
    return text;
  });
  return `${top}${texts.join('')}\n`;
}

/** The table of rules for docs/compat.md. */
export function rulesAsMarkdown(): string {
  const rows = rules.map(({ id, level, basis, direction, policy }) => [`\`${id}\``, level, basis, direction, policy]);
  return `${markdownTable(['rule', 'level', 'basis', 'direction', 'within a major'], rows).join('\n')}\n`;
}

function sectionsOf(report: CompatReport): Section[] {
  const { errors, warnings, exempted, stale } = compatSummary(report);
  return [
    findingsSection(plural(errors, 'error'), report, 'error'),
    listSection(plural(stale, 'stale exemption'), report.staleExemptions.map(staleInWords)),
    findingsSection(plural(warnings, 'warning'), report, 'warn'),
    listSection('Not compared', report.notCompared),
    listSection('Calls', report.unknownCalls === undefined ? [] : [report.unknownCalls]),
    exemptedSection(`${plural(exempted, 'finding')} exempted`, report),
    findingsSection(infosInWords(report), report, 'info', { isFolded: true }),
  ].filter(({ rows }) => rows.length > 0);
}

function contractList({ pairs }: CompatReport): string[] {
  const lines = pairs.slice(0, maxListedPairs).map(({ title, old, new: now }) => {
    const names = `${codeAsMarkdown(placeInWords(old))} → ${codeAsMarkdown(placeInWords(now))}`;
    return title === '' ? `- ${names}` : `- ${plainAsMarkdown(title, 60)}: ${names}`;
  });
  const more = pairs.length - lines.length;
  if (more > 0) lines.push(`- and ${plural(more, 'more comparison')}`);
  return lines.length === 0 ? [] : [lines.join('\n')];
}

/** The section with as many rows as fit. */
function fittedSection({ heading, isFolded, head, rows }: Section, room: number): string {
  const opening = isFolded ? `<details><summary>${heading}</summary>` : `#### ${heading}`;
  const closing = isFolded ? '\n\n</details>' : '';
  // The last 10 characters are for the line breaks between these parts.
  let left = room - opening.length - closing.length - head.join('\n').length - 10;
  const fitting: string[] = [];
  for (const row of rows) {
    left -= row.length + 1;
    if (left < 0) break;
    fitting.push(row);
  }
  const more = rows.length - fitting.length;
  const remark = more > 0 ? `\n\n${plural(more, 'row')} omitted: the comment is full.` : '';
  const table = fitting.length === 0 ? '' : `\n\n${[...head, ...fitting].join('\n')}`;
  return `\n\n${opening}${table}${remark}${closing}`;
}

/** Findings of one level, grouped by their first route. */
function findingsSection(
  heading: string,
  report: CompatReport,
  level: PlacedFinding['level'],
  { isFolded = false }: { readonly isFolded?: boolean } = {},
): Section {
  const hasVersionColumn = report.pairs.length > 1;
  const rows = report.pairs.flatMap((pair) => {
    const version = plainAsMarkdown(pair.title === '' ? pair.new : pair.title, 60);
    const ofLevel = relevantFindings(pair).filter((finding) => finding.level === level);
    return [...Map.groupBy(ofLevel, firstRouteOf)].flatMap(([route, findings]) =>
      findings.map((finding, index) => {
        const isFirst = index === 0;
        const cells = [
          isFirst ? codeAsMarkdown(route) : '',
          changeCell(finding),
          codeAsMarkdown(finding.rule),
          placeCell(finding),
        ];
        return rowOf(hasVersionColumn ? [isFirst ? version : '', ...cells] : cells);
      }),
    );
  });
  const columns = ['route', 'change', 'rule', 'where'];
  return { heading, isFolded, head: markdownTable(hasVersionColumn ? ['version', ...columns] : columns, []), rows };
}

function exemptedSection(heading: string, { pairs }: CompatReport): Section {
  const rows = pairs.flatMap(({ exempted }) =>
    exempted.map(({ finding, exemption: { reason, until } }) =>
      rowOf([
        codeAsMarkdown(firstRouteOf(finding)),
        changeCell(finding),
        codeAsMarkdown(finding.rule),
        plainAsMarkdown(reason),
        dayText(until),
      ]),
    ),
  );
  return { heading, isFolded: true, head: markdownTable(['route', 'change', 'rule', 'reason', 'until'], []), rows };
}

function listSection(heading: string, texts: readonly string[]): Section {
  return { heading, isFolded: false, head: [], rows: texts.map((text) => `- ${plainAsMarkdown(text, 500)}`) };
}

function changeCell(finding: PlacedFinding): string {
  const notes = findingNotes(finding, maxNamedRoutes, 500).map((note) => sentenceAsMarkdown(note, 500));
  return [sentenceAsMarkdown(sentenceWithoutRoute(finding)), ...notes].join('<br>');
}

function placeCell({ old, oldAt, new: now, newAt }: PlacedFinding): string {
  if (existsInContract(now)) return codeAsMarkdown(placeInWords(now.place.file.name, newAt));
  return existsInContract(old) ? `was ${codeAsMarkdown(placeInWords(old.place.file.name, oldAt))}` : '';
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
