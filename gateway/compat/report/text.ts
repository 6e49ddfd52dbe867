import { plural } from '../../shared/text.ts';
import type { Comparing, CompatReport, PlacedFinding } from './report.ts';
import { judgedOf, summaryInWords, summaryOf } from './summary.ts';
import { exemptedAsText, findingAsText, levelAsText } from './textFinding.ts';
import { headingOf, placeInWords, shown, staleInWords } from './words.ts';

export type Paint = (style: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string;

export interface TextOptions {
  readonly paint: Paint;
  /** Compatible changes, every route and the JSON pointers too. */
  readonly showAll: boolean;
}

const colours = {
  'not compared': 'red',
  refused: 'red',
  unsure: 'yellow',
  compatible: 'green',
  same: 'green',
} as const;

/** For people. */
export function asText(report: CompatReport, options: TextOptions): string {
  const { paint } = options;
  const blocks = report.comparings.flatMap((comparing) => comparingAsText(comparing, report, options));
  for (const stale of report.stale) blocks.push([`${levelAsText('error', paint)}  ${staleInWords(stale)}`]);
  if (report.notes.length > 0) blocks.push(report.notes.map((note) => `${paint('yellow', 'note')}  ${shown(note)}`));
  blocks.push([paint(colours[summaryOf(report).verdict], `${summaryInWords(report)}.`)]);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function comparingAsText(comparing: Comparing, { comparings }: CompatReport, options: TextOptions): string[][] {
  const { paint, showAll } = options;
  const judged = judgedOf(comparing);
  // Of two majors alone, what breaks is the answer; among the versions of a routes.yaml it is counted.
  const isMajorsAlone = comparing.between === 'majors' && comparings.length === 1;
  const listed = isMajorsAlone ? comparing.findings : judged;
  const findings = showAll ? comparing.findings : listed.filter(({ level }) => level !== 'info');
  const blocks = [...byRoute(findings)].map(([route, ofRoute]) => [
    paint('bold', shown(route, 200)),
    ...ofRoute.flatMap((finding) => findingAsText(finding, judged.includes(finding), options)),
  ]);
  if (comparing.exempted.length > 0) {
    blocks.push([paint('dim', 'Let through'), ...comparing.exempted.map((one) => exemptedAsText(one, paint))]);
  }
  const hidden = comparing.findings.length - judged.length;
  if (hidden > 0 && !showAll && !isMajorsAlone)
    blocks.push([paint('dim', `${plural(hidden, 'change')} between majors, which may break.  --all lists them.`)]);
  const isNamed = comparing.title !== '' || comparings.length > 1;
  return isNamed ? [[paint('bold', titleOf(comparing, isMajorsAlone))], ...blocks] : blocks;
}

/** `v1  origin/main:openapi.yaml → openapi.yaml`. */
function titleOf({ title, between, old, new: now }: Comparing, isMajorsAlone: boolean): string {
  const contracts = `${placeInWords(old, undefined)} → ${placeInWords(now, undefined)}`;
  if (between === 'majors' && isMajorsAlone)
    return `Two majors, ${shown(title, 60)}: breaking changes are allowed.  ${contracts}`;
  return title === '' ? contracts : `${shown(title, 60)}  ${contracts}`;
}

/** In the order of the first finding of each, which is the worst. */
function byRoute(findings: readonly PlacedFinding[]): Map<string, PlacedFinding[]> {
  const groups = new Map<string, PlacedFinding[]>();
  for (const finding of findings) {
    const route = headingOf(finding);
    const group = groups.get(route);
    if (group) group.push(finding);
    else groups.set(route, [finding]);
  }
  return groups;
}
