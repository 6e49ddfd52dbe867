import type { Section } from './markdown.ts';
import { code, plain, sentence } from './markdownText.ts';
import type { CompatReport, PlacedFinding } from './report.ts';
import { isThere } from './sides.ts';
import { judgedOf } from './summary.ts';
import { callsInWords, dayOf, headingOf, moreRoutes, placeInWords, saidOf, staleInWords } from './words.ts';

const namedRoutes = 3;

/** Findings of one level, each under the route that it reaches first. */
export function findingsSection(
  heading: string,
  report: CompatReport,
  level: PlacedFinding['level'],
  isFolded: boolean,
): Section {
  const isTold = report.comparings.length > 1;
  const rows = report.comparings.flatMap((comparing) => {
    const { title, new: now } = comparing;
    const ofLevel = judgedOf(comparing).filter((finding) => finding.level === level);
    const grouped = [...Map.groupBy(ofLevel, headingOf).values()].flat();
    return grouped.map((finding, index) => {
      const isFirst = index === 0 || headingOf(finding) !== headingOf(grouped[index - 1] ?? finding);
      const cells = [isFirst ? code(headingOf(finding)) : '', said(finding), code(finding.rule), where(finding)];
      return row(isTold ? [isFirst ? plain(title === '' ? now : title, 60) : '', ...cells] : cells);
    });
  });
  const columns = ['route', 'change', 'rule', 'where'];
  return { heading, isFolded, head: head(isTold ? ['version', ...columns] : columns), rows };
}

export function exemptedSection(heading: string, { comparings }: CompatReport): Section {
  const rows = comparings.flatMap(({ exempted }) =>
    exempted.map(({ finding, exemption }) => {
      const { reason, until } = exemption;
      return row([code(headingOf(finding)), said(finding), code(finding.rule), plain(reason), dayOf(until)]);
    }),
  );
  return { heading, isFolded: true, head: head(['route', 'change', 'rule', 'reason', 'until']), rows };
}

export function notesSection(heading: string, { notes }: CompatReport): Section {
  return { heading, isFolded: false, head: [], rows: notes.map((note) => `- ${plain(note, 500)}`) };
}

export function staleSection(heading: string, { stale }: CompatReport): Section {
  return { heading, isFolded: false, head: [], rows: stale.map((one) => `- ${plain(staleInWords(one), 500)}`) };
}

function said(finding: PlacedFinding): string {
  const { hint, routes } = finding;
  const notes = [
    hint === undefined ? '' : `It ${hint}.`,
    callsInWords(finding),
    moreRoutes(routes, namedRoutes),
  ].filter((note) => note !== '');
  return [sentence(saidOf(finding)), ...notes.map((note) => sentence(note, 500))].join('<br>');
}

function where({ old, oldAt, new: now, newAt }: PlacedFinding): string {
  if (isThere(now)) return code(placeInWords(now.place.file.name, newAt));
  return isThere(old) ? `was ${code(placeInWords(old.place.file.name, oldAt))}` : '';
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function head(columns: readonly string[]): string[] {
  return [row(columns), `|${columns.map(() => '---|').join('')}`];
}
