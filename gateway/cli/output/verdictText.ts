import type { VerdictJson } from '../../retirement/verdictJson.ts';
import { lastPeriodInWords, routesInWords, shareInWords } from '../../retirement/words.ts';
import { ago, printable, printableExcerpt, withCommas } from '../../shared/text.ts';
import { dateText, type Paint, sparkline, table } from './terminal.ts';

const colours = { yes: 'green', 'not yet': 'yellow', no: 'red' } as const;
/** The clients with the most requests are shown; the JSON format lists more. */
const maxClientsShown = 20;

export function verdictAsText(verdict: VerdictJson, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { answer, reasons, notes } = verdict;
  const lines = [`${printable(questionOf(verdict))}  ${paint(colours[answer], answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `  ${printable(text)}`), '');
  lines.push(...table(summaryOf(verdict)));
  const { headings, rows, more } = clientTable(verdict);
  if (rows.length > 0) lines.push('', ...table([headings, ...rows], width));
  if (more > 0) lines.push(`  and ${withCommas(more)} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `  ${printable(text)}`));
  return `${lines.join('\n')}\n`;
}

function questionOf({ version, route }: VerdictJson): string {
  const [method = '', path = ''] = route?.split(' ', 2) ?? [];
  return route === undefined ? `Can /${version} be retired?` : `Can ${method} /${version}${path} end?`;
}

/** For a ticket or a pull request. */
export function verdictAsMarkdown(verdict: VerdictJson): string {
  const { answer, reasons, notes } = verdict;
  const lines = [`# ${escaped(questionOf(verdict))} ${escaped(answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `- ${escaped(text)}`), '');
  lines.push(...markdownTable(['fact', ''], summaryOf(verdict)));
  const { headings, rows, more } = clientTable(verdict);
  if (rows.length > 0) lines.push('', ...markdownTable(headings, rows));
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
    ['clients', `${isLowerBound ? 'at least ' : ''}${withCommas(facts.client_count)}`],
    ['trend', `${trendInWords(trend)}${days === '' ? '' : `  ${days}`}`],
    ...(inFlight === null ? [] : [['in flight', `${inFlight}${waiting ? `, and ${waiting} waiting` : ''}`]]),
    ['successor', successorInWords(facts.successor)],
    [
      'ledger',
      facts.covered_since === null ? 'empty' : `starts ${ago(Date.parse(facts.covered_since), Date.parse(now))}`,
    ],
  ];
}

/** The clients of the version; for a retired version, the clients it refuses. `more` counts those not listed. */
function clientTable({ facts, asked_at: now }: VerdictJson) {
  const lastCall = (last: string): string => ago(Date.parse(last), Date.parse(now));
  if (facts.stage === 'retired') {
    const rows = facts.refused_clients
      .slice(0, maxClientsShown)
      .map(({ client, name, refused, last }) => [
        printableExcerpt(name ?? client),
        withCommas(refused),
        lastCall(last),
      ]);
    return { headings: ['client', 'refused', 'last call'], rows, more: facts.refused_count - rows.length };
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
  return { headings, rows, more: facts.client_count - rows.length };
}

function trendInWords({ kind, zero }: VerdictJson['facts']['trend']): string {
  if (kind === 'unknown') return 'not enough days';
  if (kind === 'none') return 'no requests in 7 days';
  if (kind === 'falling' && zero === null) return 'falling more slowly each week';
  return zero === null ? printable(kind) : `falling, none expected from ${printable(zero)}`;
}

function successorInWords(successor: VerdictJson['facts']['successor']): string {
  if (successor === null) return 'none';
  const { version, health, healthy, targets } = successor;
  return printable(`/${version}, ${health}${health === 'degraded' ? ` (${healthy} of ${targets} targets)` : ''}`);
}
