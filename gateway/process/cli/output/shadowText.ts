import type { ReplayReport } from '../../../contracts/shadow/replayReport.ts';
import { type DifferenceReport, differenceInWords, type ShadowRoute } from '../../../contracts/shadow/report.ts';
import { ago, plural, printable, printableExcerpt, withCommas } from '../../../shared/text.ts';
import { type Paint, table } from './terminal.ts';
import { escaped, markdownTable } from './verdictText.ts';

// The text and Markdown formats show at most this many of one list. The JSON format lists more.
const maxDifferencesShown = 20;
const maxUnseenFieldsShown = 10;
const maxRoutesShown = 20;

export function shadowAsText(report: DifferenceReport, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const lines = [paint('bold', printable(report.summary))];
  const period = periodOf(report);
  if (period !== undefined) lines.push(`  ${period}`);
  lines.push(...report.notes.map((note) => `  ${printable(note)}`));
  for (const route of report.routes) {
    lines.push('', `${paint('bold', printableExcerpt(route.route, 100))}  ${routeLine(route, report)}`);
    const rows = differenceRows(route);
    if (rows.length > 0) lines.push(...table(rows, width));
    lines.push(...remarks(route).map((line) => `  ${printable(line)}`));
  }
  const hiddenRoutes = report.route_count - report.routes.length;
  if (hiddenRoutes > 0) lines.push('', `and ${plural(hiddenRoutes, 'more route')}`);
  const notComparedLine = notCompared(report);
  if (notComparedLine !== undefined) lines.push('', printable(notComparedLine));
  return `${lines.join('\n')}\n`;
}

/** The result of `replay`. */
export function replayAsText(report: ReplayReport, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const lines = [paint('bold', printable(report.summary)), ...report.notes.map((note) => `  ${printable(note)}`)];
  for (const route of report.routes) {
    const bodies = route.compared === route.pairs ? '' : `, ${withCommas(route.compared)} with bodies`;
    const counts = `${plural(route.pairs, 'pair')}${bodies}, ${plural(route.control, 'control pair')}`;
    lines.push('', `${paint('bold', printableExcerpt(route.route, 100))}  ${counts}`);
    const rows = differenceRows(route);
    if (rows.length > 0) lines.push(...table(rows, width));
    lines.push(...remarks(route).map((line) => `  ${printable(line)}`));
  }
  if (report.no_evidence.length > 0) {
    const rows = report.no_evidence.map(({ route, why }) => [printableExcerpt(route, 100), printable(why)]);
    lines.push('', paint('bold', 'No evidence'), ...table(rows, width));
  }
  return `${lines.join('\n')}\n`;
}

/** For a ticket or a pull request. */
export function shadowAsMarkdown(report: DifferenceReport): string {
  const lines = [
    `# ${escaped(`Responses of /${report.version}${report.to === null ? '' : ` and /${report.to}`}`)}`,
    '',
  ];
  lines.push(escaped(report.summary));
  const period = periodOf(report);
  if (period !== undefined) lines.push('', escaped(period));
  if (report.notes.length > 0) lines.push('', ...report.notes.map((note) => `- ${escaped(note)}`));
  for (const route of report.routes) {
    lines.push('', `## ${escaped(route.route)}`, '', escaped(routeLine(route, report)));
    const rows = differenceRows(route);
    if (rows.length > 0) lines.push('', ...markdownTable(['class', 'status', 'difference', 'pairs', 'why'], rows));
    const notes = remarks(route);
    if (notes.length > 0) lines.push('', ...notes.map((line) => `- ${escaped(line)}`));
  }
  const hiddenRoutes = report.route_count - report.routes.length;
  if (hiddenRoutes > 0) lines.push('', `and ${plural(hiddenRoutes, 'more route')}`);
  const notComparedLine = notCompared(report);
  if (notComparedLine !== undefined) lines.push('', escaped(notComparedLine));
  return `${lines.join('\n')}\n`;
}

function periodOf({ first, last, asked_at: now }: DifferenceReport): string | undefined {
  if (first === null || last === null) return undefined;
  return `Compared from ${first} to ${last}, ${ago(Date.parse(last), Date.parse(now))}.`;
}

function routeLine(
  { pairs, compared, control, requests }: ShadowRoute,
  { used_since: since }: DifferenceReport,
): string {
  const bodies = compared === pairs ? '' : `, ${withCommas(compared)} with bodies`;
  return `${plural(pairs, 'pair')}${bodies}, ${plural(control, 'control pair')}; ${plural(requests, 'request')} since ${since.slice(0, 10)}`;
}

function differenceRows({ differences }: Pick<ShadowRoute, 'differences'>): string[][] {
  return differences
    .slice(0, maxDifferencesShown)
    .map((one) => [
      one.class,
      one.status === 0 ? '' : String(one.status),
      printable(differenceInWords(one)),
      `${withCommas(one.count)} of ${withCommas(one.pairs)}`,
      printable(one.why),
    ]);
}

function remarks({
  skipped,
  differences,
  difference_count: count,
  unseen: unseenFields,
  unseen_count: unseenCount,
}: Omit<ShadowRoute, 'requests'>): string[] {
  const lines: string[] = [];
  const shownCount = Math.min(differences.length, maxDifferencesShown);
  if (count > shownCount) lines.push(`and ${plural(count - shownCount, 'more difference')}`);
  if (skipped.length > 0) {
    const reasons = skipped.map(({ reason, pairs }) => `${reason} ${withCommas(pairs)}`);
    lines.push(`Bodies not compared: ${reasons.join(', ')}.`);
  }
  if (unseenCount > 0) {
    const named = unseenFields.slice(0, maxUnseenFieldsShown).map(({ path, why }) => `${path} (${why})`);
    const more = unseenCount > named.length ? ` and ${withCommas(unseenCount - named.length)} more` : '';
    lines.push(`No evidence on: ${named.join(', ')}${more}.`);
  }
  return lines;
}

function notCompared({ not_compared: routes }: DifferenceReport): string | undefined {
  if (routes.length === 0) return undefined;
  const named = routes.slice(0, maxRoutesShown).map((route) => printableExcerpt(route));
  const more = routes.length > named.length ? ` and ${withCommas(routes.length - named.length)} more` : '';
  return `In use and never compared: ${named.join(', ')}${more}.`;
}
