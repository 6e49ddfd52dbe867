import { pointerOf } from '../../../contract/document/located.ts';
import type { TextPosition } from '../../../contract/document/positions.ts';
import { type Paint, tableAsText } from '../../../shared/document.ts';
import { dayText } from '../../../shared/instant.ts';
import { plural, printable, safeText } from '../../../shared/text.ts';
import type { Site } from '../judge/findings.ts';
import {
  type CompatReport,
  type ExemptedFinding,
  type PairReport,
  type PlacedFinding,
  relevantFindings,
} from '../judge/judge.ts';
import { rules } from '../rules/rules.ts';
import { compatSummary, summaryInWords } from './summary.ts';
import {
  existsInContract,
  findingNotes,
  firstRouteOf,
  notesOf,
  placeInWords,
  sentenceWithoutRoute,
  staleInWords,
} from './words.ts';

export interface TextOptions {
  readonly paint: Paint;
  /** Includes compatible changes, all routes and JSON pointers. */
  readonly showAll: boolean;
}

const verdictStyles = {
  'not compared': 'red',
  refused: 'red',
  unsure: 'yellow',
  compatible: 'green',
  same: 'green',
} as const;
const levelStyles = { error: 'red', warn: 'yellow', info: 'green' } as const;
const levelNames = { error: 'error', warn: 'warning', info: 'info' } as const;
const maxNamedRoutes = 3;
// The most characters that are shown of a line of a contract.
const longestLine = 120;
// How many characters in front of the caret's column are shown if the beginning of the line is cut.
const shownBeforeCaret = 40;

/** The report for a terminal. */
export function asText(report: CompatReport, options: TextOptions): string {
  const { paint } = options;
  const blocks = report.pairs.flatMap((pair) => pairAsText(pair, report, options));
  for (const stale of report.staleExemptions) blocks.push([`${levelAsText('error', paint)}  ${staleInWords(stale)}`]);
  const notes = notesOf(report);
  if (notes.length > 0) blocks.push(notes.map((note) => `${paint('yellow', 'note')}  ${safeText(note)}`));
  blocks.push([paint(verdictStyles[compatSummary(report).verdict], `${summaryInWords(report)}.`)]);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** All rules, for `--rules`. */
export function rulesAsText(): string {
  const headings = ['rule', 'level', 'basis', 'direction', 'within a major'];
  const rows = rules.map(({ id, level, basis, direction, policy }) => [id, level, basis, direction, policy]);
  const lines = tableAsText([headings, ...rows]).map((line) => line.trimStart());
  return `${lines.join('\n')}\n`;
}

function pairAsText(pair: PairReport, { pairs }: CompatReport, options: TextOptions): string[][] {
  const { paint, showAll } = options;
  const relevant = relevantFindings(pair);
  // If two majors are the only comparison, their breaking changes are listed. Otherwise, these changes are only counted.
  const hasMajorsOnly = pair.between === 'majors' && pairs.length === 1;
  const listed = hasMajorsOnly ? pair.findings : relevant;
  const findings = showAll ? pair.findings : listed.filter(({ level }) => level !== 'info');
  const blocks = [...Map.groupBy(findings, firstRouteOf)].map(([route, ofRoute]) => [
    paint('bold', safeText(route, 200)),
    ...ofRoute.flatMap((finding) => findingAsText(finding, relevant.includes(finding), options)),
  ]);
  if (pair.exempted.length > 0) {
    blocks.push([paint('dim', 'Exempted'), ...pair.exempted.map((one) => exemptedAsText(one, paint))]);
  }
  const hidden = pair.findings.length - relevant.length;
  if (hidden > 0 && !showAll && !hasMajorsOnly)
    blocks.push([
      paint(
        'dim',
        `${plural(hidden, 'change')} between majors, where breaking changes are allowed.  --all lists them.`,
      ),
    ]);
  const isNamed = pair.title !== '' || pairs.length > 1;
  return isNamed ? [[paint('bold', titleOf(pair, hasMajorsOnly))], ...blocks] : blocks;
}

/** `v1  origin/main:openapi.yaml → openapi.yaml`. */
function titleOf({ title, between, old, new: now }: PairReport, hasMajorsOnly: boolean): string {
  const contracts = `${placeInWords(old)} → ${placeInWords(now)}`;
  if (between === 'majors' && hasMajorsOnly)
    return `Two majors, ${safeText(title, 60)}: breaking changes are allowed.  ${contracts}`;
  return title === '' ? contracts : `${safeText(title, 60)}  ${contracts}`;
}

function levelAsText(level: PlacedFinding['level'], paint: Paint): string {
  return paint(levelStyles[level], levelNames[level]);
}

/** `isDecisive`: whether the finding decides the result. A change between majors does not. */
function findingAsText(finding: PlacedFinding, isDecisive: boolean, { paint, showAll }: TextOptions): string[] {
  const { level, rule, old, oldAt, new: newSite, newAt } = finding;
  const label =
    isDecisive || level === 'info'
      ? levelAsText(level, paint)
      : paint('yellow', level === 'error' ? 'breaks' : 'may break');
  const head = `  ${label}  ${safeText(sentenceWithoutRoute(finding), 500)}  ${paint('dim', rule)}`;
  const notes = findingNotes(finding, showAll ? Number.POSITIVE_INFINITY : maxNamedRoutes);
  const places = [placeAsText('old', old, oldAt, showAll), placeAsText('new', newSite, newAt, showAll)].flat();
  return [
    head,
    ...notes.map((note) => `    ${note}`),
    ...[...places, ...frameAsText(finding)].map((line) => paint('dim', `    ${line}`)),
  ];
}

function exemptedAsText({ finding, exemption }: ExemptedFinding, paint: Paint): string {
  const { reason, until } = exemption;
  const words = `${safeText(firstRouteOf(finding), 200)}: ${safeText(sentenceWithoutRoute(finding))}  ${finding.rule}`;
  return paint('dim', `  ${words}\n    until ${dayText(until)}: ${safeText(reason)}`);
}

function placeAsText(
  name: string,
  site: Site | undefined,
  at: TextPosition | undefined,
  withPointer: boolean,
): string[] {
  if (!existsInContract(site)) return [];
  const pointer = withPointer ? `  ${safeText(pointerOf(site.place), 500)}` : '';
  return [`${name}  ${placeInWords(site.place.file.name, at)}${pointer}`];
}

/** The line of the new contract. If the new contract lacks the place, the line of the old contract. */
function frameAsText({ old, oldAt, new: newSite, newAt }: PlacedFinding): string[] {
  if (existsInContract(newSite) && newAt) return frameOf(newSite, newAt);
  return existsInContract(old) && oldAt ? frameOf(old, oldAt) : [];
}

/** A line of the contract with a caret below the column. A long line is cut on both sides. */
function frameOf(site: Site, { line, column, lineStart }: TextPosition): string[] {
  const raw = lineAt(site.place.file.text, lineStart);
  if (raw === undefined || raw.trim() === '') return [];
  const from = column > longestLine - shownBeforeCaret ? column - 1 - shownBeforeCaret : 0;
  const lead = from > 0 ? '…' : '';
  const text = raw.slice(from, from + longestLine);
  const tail = from + longestLine < raw.length ? '…' : '';
  const number = String(line);
  const margin = ' '.repeat(number.length);
  const indent = ' '.repeat(lead.length + safeLine(raw.slice(from, column - 1)).length);
  return [`${number} | ${lead}${safeLine(text)}${tail}`, `${margin} | ${indent}^`];
}

function safeLine(text: string): string {
  return safeText(printable(text.replaceAll('\t', ' ')), Number.POSITIVE_INFINITY);
}

function lineAt(text: string | undefined, lineStart: number): string | undefined {
  const end = text?.indexOf('\n', lineStart);
  return text?.slice(lineStart, end === -1 ? undefined : end).replace(/\r+$/, '');
}
