import { dateText } from '../../../shared/instant.ts';
import { ago, plural, printable, printableExcerpt, withCommas } from '../../../shared/text.ts';
import type { VerdictJson } from '../../../versions/retirement/verdictJson.ts';
import { lastPeriodInWords, pausingInWords, routesInWords, shareInWords } from '../../../versions/retirement/words.ts';
import { type Paint, sparkline, table } from './terminal.ts';

const colours = { yes: 'green', 'not yet': 'yellow', 'not known': 'yellow', no: 'red' } as const;
/** The clients with the most requests are shown; the JSON format lists more. */
const maxClientsShown = 20;

export function verdictAsText(verdict: VerdictJson, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { answer, reasons, notes } = verdict;
  const lines = [`${printable(questionOf(verdict))}  ${paint(colours[answer], answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `  ${printable(text)}`), '');
  lines.push(...table(summaryOf(verdict)));
  const { title, headings, rows, more } = clientTable(verdict);
  if (rows.length > 0) lines.push('', `  ${title}:`, ...table([headings, ...rows], width));
  if (more > 0) lines.push(`  and ${withCommas(more)} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `  ${printable(text)}`));
  return `${lines.join('\n')}\n`;
}

function questionOf({ question, version, route }: VerdictJson): string {
  if (question === 'remove') return `Can the tombstone of /${version} be removed?`;
  const [method = '', path = ''] = route?.split(' ', 2) ?? [];
  return route === undefined ? `Can /${version} be retired?` : `Can ${method} /${version}${path} end?`;
}

/** For a ticket or a pull request. */
export function verdictAsMarkdown(verdict: VerdictJson): string {
  const { answer, reasons, notes } = verdict;
  const lines = [`# ${escaped(questionOf(verdict))} ${escaped(answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `- ${escaped(text)}`), '');
  lines.push(...markdownTable(['fact', ''], summaryOf(verdict)));
  const { title, headings, rows, more } = clientTable(verdict);
  if (rows.length > 0) lines.push('', `${escaped(title)}:`, '', ...markdownTable(headings, rows));
  if (more > 0) lines.push('', `and ${withCommas(more)} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `- ${escaped(text)}`));
  return `${lines.join('\n')}\n`;
}

export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (row: readonly string[]): string => `| ${row.map(escaped).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)];
}

/** Escapes Markdown punctuation (CommonMark §2.4), so that client names create no cells, tags, links or images. */
export function escaped(text: string): string {
  return printable(text).replace(/[\\|`<>[\]*_~!&#]/g, '\\$&');
}

/** The facts of the verdict, as pairs of name and value. */
function summaryOf({ facts, asked_at: now }: VerdictJson): string[][] {
  const { stage, deprecation, sunset, trend, in_flight: inFlight, waiting } = facts;
  const total = `${withCommas(facts.requests)} in ${lastPeriodInWords(facts.quiet)}`;
  const share = `${shareInWords(facts.share)} of all ${withCommas(facts.all_requests)}`;
  const isLowerBound = facts.folded > 0 || (facts.without_route ?? 0) > 0;
  const [first, last] = [trend.days[0], trend.days.at(-1)];
  const days = first && last ? sparkline(trend.days, Date.parse(first.at), Date.parse(last.at)) : '';
  return [
    ['stage', printable(stage)],
    ['deprecation', deprecation === null ? '-' : dateText(Date.parse(deprecation))],
    ['sunset', sunset === null ? '-' : dateText(Date.parse(sunset))],
    ['requests', `${total}, ${share}`],
    [
      'clients',
      `${isLowerBound ? 'at least ' : ''}${withCommas(facts.client_count)} in ${lastPeriodInWords(facts.quiet)}`,
    ],
    ['trend', `${trendInWords(trend)}${days === '' ? '' : `  ${days} ${plural(trend.days.length, 'complete day')}`}`],
    ...(inFlight === null ? [] : [['in flight', `${inFlight}${waiting ? ` and ${waiting} waiting` : ''} now`]]),
    ['successor', successorInWords(facts.successor)],
    [
      'ledger',
      facts.covered_since === null ? 'empty' : `starts ${ago(Date.parse(facts.covered_since), Date.parse(now))}`,
    ],
  ];
}

/**
 * The clients of the version in the quiet period; for a retired version, the clients it refused. `more` counts those not listed.
 */
function clientTable({ facts, asked_at: now }: VerdictJson) {
  const title = `in ${lastPeriodInWords(facts.quiet)}, the quiet period`;
  const lastCall = (last: string): string => ago(Date.parse(last), Date.parse(now));
  if (facts.stage === 'retired') {
    const rows = facts.refused_clients
      .slice(0, maxClientsShown)
      .map(({ client, name, refused, last }) => [
        printableExcerpt(name ?? client),
        withCommas(refused),
        lastCall(last),
      ]);
    return { title, headings: ['client', 'refused', 'last call'], rows, more: facts.refused_count - rows.length };
  }
  const rows = facts.clients
    .slice(0, maxClientsShown)
    .map(({ client, name, requests, errors, routes, top_routes: top, last }) => [
      printableExcerpt(name ?? client),
      withCommas(requests),
      withCommas(errors),
      routesInWords(routes, top),
      lastCall(last),
    ]);
  const headings = ['client', 'requests', 'errors', 'routes', 'last call'];
  return { title, headings, rows, more: facts.client_count - rows.length };
}

function trendInWords({ kind, zero, pausing }: VerdictJson['facts']['trend']): string {
  if (kind === 'unknown') return 'not enough days';
  if (kind === 'none') return 'no requests in the last 7 complete days';
  if (pausing) {
    const { count, shortest_pause: shortest, longest_pause: longest } = pausing;
    return `falling, but no end can be predicted: ${pausingInWords({ count, shortest, longest })}`;
  }
  if (kind === 'falling' && zero === null) return 'falling more slowly each week';
  return zero === null ? printable(kind) : `falling, none expected from ${printable(zero)}`;
}

function successorInWords(successor: VerdictJson['facts']['successor']): string {
  if (successor === null) return 'none';
  const { version, health, healthy, targets, not_tried: notTried } = successor;
  if (health === 'not tried' && healthy === 0) return printable(`/${version}, not tried yet`);
  if (health !== 'degraded' && health !== 'not tried') return printable(`/${version}, ${health}`);
  const untried = notTried === 0 ? '' : `, ${notTried} not tried yet`;
  return printable(
    `/${version}, ${health === 'degraded' ? 'degraded' : 'healthy'} (${healthy} of ${targets} targets now${untried})`,
  );
}
