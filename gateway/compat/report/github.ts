import { plural } from '../../shared/text.ts';
import type { Comparing, CompatReport, PlacedFinding } from './report.ts';
import { type Base, isThere, pathOf } from './sides.ts';
import { judgedOf, summaryInWords } from './summary.ts';
import { callsInWords, moreRoutes, placeInWords, shown, staleInWords } from './words.ts';

// GitHub shows ten of a kind and step, and drops the rest without a word.
const most = 10;
const commands = { error: 'error', warn: 'warning', info: 'notice' } as const;
const order = ['error', 'warn'] as const;

/** Workflow commands, which GitHub turns into remarks at the lines of a pull request: the worst ones, and a summary. */
export function asGithub(report: CompatReport, base: Base): string {
  const stale = report.stale.map((one) => command('error', { title: 'stale exemption' }, staleInWords(one)));
  const notes = report.notes.map((note) => command('warning', { title: 'not compared' }, shown(note)));
  const remarks = order.flatMap((level) => [
    ...report.comparings.flatMap((comparing) =>
      judgedOf(comparing)
        .filter((one) => one.level === level)
        .map((finding) => remark(finding, comparing, base)),
    ),
    ...(level === 'error' ? stale : notes),
  ]);
  const more = remarks.length - most;
  const rest = more > 0 ? ` ${plural(more, 'more remark')} left out here.` : '';
  return `${[...remarks.slice(0, most), `${summaryInWords(report)}.${rest}`].join('\n')}\n`;
}

function remark(finding: PlacedFinding, comparing: Comparing, base: Base): string {
  const { level, rule, sentence, routes, old, oldAt, new: now, newAt, hint } = finding;
  // A line of the old contract would be another one in the new contract, so that only the file is named.
  const isKnown = now !== undefined && newAt !== undefined;
  const file = pathOf(isKnown || isThere(now) ? now.place.file.name : comparing.new, base);
  const at = isKnown ? { line: String(newAt.line), col: String(newAt.column) } : {};
  const words = [
    shown(sentence, 500),
    hint === undefined ? '' : `It ${shown(hint)}.`,
    callsInWords(finding),
    moreRoutes(routes, 3),
    isThere(old) ? `Was at ${placeInWords(old.place.file.name, oldAt)}` : '',
  ];
  return command(commands[level], { file, ...at, title: rule }, words.filter((one) => one !== '').join('\n'));
}

function command(name: string, properties: Readonly<Record<string, string>>, message: string): string {
  const pairs = Object.entries(properties).map(([key, value]) => `${key}=${escapedProperty(shown(value, 1000))}`);
  return `::${name} ${pairs.join(',')}::${escapedData(message)}`;
}

function escapedData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
