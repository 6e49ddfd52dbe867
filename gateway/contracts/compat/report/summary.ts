import { plural, safeText } from '../../../shared/text.ts';
import { type CompatReport, type PlacedFinding, relevantFindings } from '../judge/judge.ts';
import { basisOf } from '../rules/rules.ts';

/** The totals of a report, as the JSON format prints them. */
export interface CompatSummary {
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
  /** Changes between majors. They do not decide the result, because a new major is allowed to break clients. */
  readonly between_majors: number;
  readonly exempted: number;
  readonly stale: number;
  readonly not_compared: number;
  /** `unsure`: nothing is refused, but a breaking change cannot be ruled out. */
  readonly verdict: 'not compared' | 'refused' | 'unsure' | 'compatible' | 'same';
}

export function compatSummary(report: CompatReport): CompatSummary {
  const { pairs, staleExemptions, notCompared } = report;
  const relevant = pairs.flatMap(relevantFindings);
  const count = (level: PlacedFinding['level']): number => relevant.filter((one) => one.level === level).length;
  const findingCount = pairs.reduce((sum, { findings }) => sum + findings.length, 0);
  return {
    errors: count('error'),
    warnings: count('warn'),
    infos: count('info'),
    between_majors: findingCount - relevant.length,
    exempted: pairs.reduce((sum, { exempted }) => sum + exempted.length, 0),
    stale: staleExemptions.length,
    not_compared: notCompared.length,
    verdict: verdictOn(report, relevant),
  };
}

function verdictOn(report: CompatReport, relevant: readonly PlacedFinding[]): CompatSummary['verdict'] {
  const { pairs, staleExemptions, rulesOff, notCompared } = report;
  if (relevant.some(({ level }) => level === 'error') || staleExemptions.length > 0) return 'refused';
  if (pairs.length === 0) return 'not compared';
  // A lower level, an exemption or a rule that is off does not make a breaking change compatible.
  const isExempt = pairs.some(({ exempted }) => exempted.length > 0);
  if (isExempt || rulesOff.length > 0 || notCompared.length > 0 || !relevant.every(isCompatible)) return 'unsure';
  return pairs.every(({ findings }) => findings.length === 0) ? 'same' : 'compatible';
}

/** "2 errors, 1 warning, 14 compatible changes". */
export function summaryInWords(report: CompatReport): string {
  const summary = compatSummary(report);
  const words = countsInWords(report, summary);
  if (report.pairs.length === 0) return ['Nothing was compared', ...words].join(', ');
  if (summary.verdict === 'same') return 'No changes found';
  // A new major without a breaking change would be a finding, and the verdict would not be `compatible`.
  const hasMajorsOnly = report.pairs.every(({ between }) => between === 'majors');
  if (summary.verdict === 'compatible' && hasMajorsOnly) return `The new major is justified: ${words.join(', ')}`;
  if (summary.verdict === 'compatible') return `No breaking change found within a major: ${words.join(', ')}`;
  return [plural(summary.errors, 'error'), ...words].join(', ');
}

function countsInWords(report: CompatReport, summary: CompatSummary): string[] {
  const { warnings, between_majors: betweenMajors, exempted, stale, not_compared: notCompared } = summary;
  const { rulesOff } = report;
  return [
    warnings > 0 ? plural(warnings, 'warning') : '',
    infosInWords(report),
    betweenMajors > 0 ? `${plural(betweenMajors, 'change')} between majors` : '',
    exempted > 0 ? `${plural(exempted, 'finding')} exempted` : '',
    stale > 0 ? plural(stale, 'stale exemption') : '',
    notCompared > 0 ? `${plural(notCompared, 'contract')} not compared` : '',
    rulesOff.length > 0 ? `${plural(rulesOff.length, 'rule')} off (${safeText(rulesOff.join(', '), 200)})` : '',
  ].filter((word) => word !== '');
}

/** "14 compatible changes"; empty for none. */
export function infosInWords({ pairs }: CompatReport): string {
  const infos = pairs.flatMap(relevantFindings).filter(({ level }) => level === 'info');
  if (infos.length === 0) return '';
  return infos.every(isCompatible)
    ? plural(infos.length, 'compatible change')
    : `${plural(infos.length, 'change')} of level info`;
}

/** Whether the versioning rules allow the change. */
function isCompatible({ rule }: PlacedFinding): boolean {
  return basisOf(rule) === 'compatible';
}
