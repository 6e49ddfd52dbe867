import { plural } from '../../shared/text.ts';
import { basisOf } from '../rules/rules.ts';
import type { Comparing, CompatReport, PlacedFinding } from './report.ts';
import { shown } from './words.ts';

export interface Summary {
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
  /** What differs between majors, which may break whatever it likes. */
  readonly between_majors: number;
  readonly exempted: number;
  readonly stale: number;
  readonly not_compared: number;
  /** `unsure`: nothing is refused, and yet it cannot be said that nothing breaks. */
  readonly verdict: 'not compared' | 'refused' | 'unsure' | 'compatible' | 'same';
}

/** What is to be judged: between majors, only whether there had to be a new one. */
export function judgedOf({ between, findings }: Comparing): readonly PlacedFinding[] {
  return between === 'past' ? findings : findings.filter(({ rule }) => rule === 'major-without-breaking-change');
}

export function summaryOf(report: CompatReport): Summary {
  const { comparings, stale, notes } = report;
  const judged = comparings.flatMap(judgedOf);
  const count = (level: PlacedFinding['level']): number => judged.filter((one) => one.level === level).length;
  const all = comparings.reduce((sum, { findings }) => sum + findings.length, 0);
  return {
    errors: count('error'),
    warnings: count('warn'),
    infos: count('info'),
    between_majors: all - judged.length,
    exempted: comparings.reduce((sum, { exempted }) => sum + exempted.length, 0),
    stale: stale.length,
    not_compared: notes.length,
    verdict: verdictOn(report, judged),
  };
}

function verdictOn(report: CompatReport, judged: readonly PlacedFinding[]): Summary['verdict'] {
  const { comparings, stale, off, notes } = report;
  if (judged.some(({ level }) => level === 'error') || stale.length > 0) return 'refused';
  if (comparings.length === 0) return 'not compared';
  // A breaking change stays one when its rule is made milder, exempt, or switched off.
  const isExempt = comparings.some(({ exempted }) => exempted.length > 0);
  if (isExempt || off.length > 0 || notes.length > 0 || !judged.every(isCompatible)) return 'unsure';
  return comparings.every(({ findings }) => findings.length === 0) ? 'same' : 'compatible';
}

/** "2 errors, 1 warning, 14 compatible changes". */
export function summaryInWords(report: CompatReport): string {
  const summary = summaryOf(report);
  const words = countsInWords(report, summary);
  if (report.comparings.length === 0) return ['Nothing was compared', ...words].join(', ');
  if (summary.verdict === 'same') return 'No changes found';
  const isMajorsAlone = report.comparings.every(({ between }) => between === 'majors');
  if (summary.verdict === 'compatible' && isMajorsAlone) return `The new major is justified: ${words.join(', ')}`;
  if (summary.verdict === 'compatible') return `No breaking change found within a major: ${words.join(', ')}`;
  return [plural(summary.errors, 'error'), ...words].join(', ');
}

function countsInWords(report: CompatReport, summary: Summary): string[] {
  const { warnings, between_majors: majors, exempted, stale, not_compared: notCompared } = summary;
  const { off } = report;
  return [
    warnings > 0 ? plural(warnings, 'warning') : '',
    infosInWords(report),
    majors > 0 ? `${plural(majors, 'change')} between majors` : '',
    exempted > 0 ? `${plural(exempted, 'finding')} let through` : '',
    stale > 0 ? plural(stale, 'stale exemption') : '',
    notCompared > 0 ? `${plural(notCompared, 'contract')} not compared` : '',
    off.length > 0 ? `${plural(off.length, 'rule')} off (${shown(off.join(', '), 200)})` : '',
  ].filter((word) => word !== '');
}

/** "14 compatible changes"; empty for none. */
export function infosInWords({ comparings }: CompatReport): string {
  const infos = comparings.flatMap(judgedOf).filter(({ level }) => level === 'info');
  if (infos.length === 0) return '';
  return infos.every(isCompatible)
    ? plural(infos.length, 'compatible change')
    : `${plural(infos.length, 'change')} of level info`;
}

function isCompatible({ rule }: PlacedFinding): boolean {
  return basisOf(rule) === 'compatible';
}
