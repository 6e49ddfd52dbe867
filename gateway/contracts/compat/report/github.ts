import { plural, safeText } from '../../../shared/text.ts';
import { type CompatReport, type PairReport, type PlacedFinding, relevantFindings } from '../judge/judge.ts';
import { summaryInWords } from './summary.ts';
import { existsInContract, findingNotes, pathOf, placeInWords, staleInWords, type WorkingTree } from './words.ts';

// GitHub shows at most ten annotations per level and step, and drops the others silently.
const maxAnnotations = 10;
const commandNames = { error: 'error', warn: 'warning', info: 'notice' } as const;
const annotatedLevels = ['error', 'warn'] as const;

/**
 * Workflow commands, which GitHub shows as annotations in a pull request: the worst findings and a summary. Exempted findings, and
 * changes between majors, are not annotated.
 */
export function asGithub(report: CompatReport, workingTree: WorkingTree): string {
  const stale = report.staleExemptions.map((one) => command('error', { title: 'stale exemption' }, staleInWords(one)));
  const notes = [
    ...report.notCompared.map((note) => command('warning', { title: 'not compared' }, safeText(note))),
    ...(report.unknownCalls === undefined
      ? []
      : [command('warning', { title: 'calls' }, safeText(report.unknownCalls))]),
  ];
  const annotations = annotatedLevels.flatMap((level) => [
    ...report.pairs.flatMap((pair) =>
      relevantFindings(pair)
        .filter((one) => one.level === level)
        .map((finding) => annotation(finding, pair, workingTree)),
    ),
    ...(level === 'error' ? stale : notes),
  ]);
  const omitted = annotations.length - maxAnnotations;
  const remark = omitted > 0 ? ` ${plural(omitted, 'more annotation')} omitted.` : '';
  return `${[...annotations.slice(0, maxAnnotations), `${summaryInWords(report)}.${remark}`].join('\n')}\n`;
}

function annotation(finding: PlacedFinding, pair: PairReport, workingTree: WorkingTree): string {
  const { level, rule, sentence, old, oldAt, new: newSite, newAt } = finding;
  // Without a place in the new contract, name the file only: the line of the old contract would be wrong there.
  const hasNewPosition = newSite !== undefined && newAt !== undefined;
  const file = pathOf(hasNewPosition || existsInContract(newSite) ? newSite.place.file.name : pair.new, workingTree);
  const lineAndColumn = hasNewPosition ? { line: String(newAt.line), col: String(newAt.column) } : {};
  const words = [
    safeText(sentence, 500),
    ...findingNotes(finding, 3),
    existsInContract(old) ? `Was at ${placeInWords(old.place.file.name, oldAt)}` : '',
  ];
  return command(
    commandNames[level],
    { file, ...lineAndColumn, title: rule },
    words.filter((one) => one !== '').join('\n'),
  );
}

function command(name: string, properties: Readonly<Record<string, string>>, message: string): string {
  const pairs = Object.entries(properties).map(([key, value]) => `${key}=${escapedProperty(safeText(value, 1000))}`);
  return `::${name} ${pairs.join(',')}::${escapedData(message)}`;
}

function escapedData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
