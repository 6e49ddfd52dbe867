import type { VerdictJson } from '../retirement/verdictJson.ts';
import { percent, routesInWords, theLast } from '../retirement/words.ts';
import { grouped, printable, printableExcerpt } from '../shared/text.ts';
import { ago } from './ago.ts';
import type { Paint } from './paint.ts';
import { sparkline } from './sparkline.ts';
import { date, table } from './table.ts';

const colours = { yes: 'green', 'not yet': 'yellow', no: 'red' } as const;
/** The biggest; JSON has more. */
const clientsShown = 20;

/** For people. */
export function verdictAsText(verdict: VerdictJson, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { version, answer, reasons, notes } = verdict;
  const lines = [`Can ${printable(`/${version}`)} be retired?  ${paint(colours[answer], answer)}`, ''];
  lines.push(...reasons.map(({ text }) => `  ${printable(text)}`), '');
  lines.push(...table(summaryOf(verdict)));
  const { headings, cells, more } = clientTable(verdict);
  if (cells.length > 0) lines.push('', ...table([headings, ...cells], width));
  if (more > 0) lines.push(`  and ${grouped(more)} more`);
  if (notes.length > 0) lines.push('', ...notes.map(({ text }) => `  ${printable(text)}`));
  return `${lines.join('\n')}\n`;
}

/** What the verdict rests on, as pairs of words. */
export function summaryOf({ facts, asked_at: now }: VerdictJson): string[][] {
  const { stage, deprecation, sunset, trend, in_flight: inFlight, waiting } = facts;
  const total = `${grouped(facts.requests)} in ${theLast(facts.quiet)}`;
  const share = `${percent(facts.share)} of all ${grouped(facts.all_requests)}`;
  const [first, last] = [trend.days[0], trend.days.at(-1)];
  const days = first && last ? sparkline(trend.days, Date.parse(first.at), Date.parse(last.at)) : '';
  return [
    ['stage', printable(stage)],
    ['deprecation', deprecation === null ? '-' : date(Date.parse(deprecation))],
    ['sunset', sunset === null ? '-' : date(Date.parse(sunset))],
    ['requests', `${total}, ${share}`],
    ['clients', `${facts.folded > 0 ? 'at least ' : ''}${grouped(facts.client_count)}`],
    ['trend', `${trendInWords(trend)}${days === '' ? '' : `  ${days}`}`],
    ['in flight', `${inFlight}${waiting > 0 ? `, and ${waiting} waiting` : ''}`],
    ['successor', successorInWords(facts.successor)],
    ['ledger', facts.covered_since === null ? 'empty' : `begins ${ago(facts.covered_since, Date.parse(now))}`],
  ];
}

/** Who still uses the version; of one that is retired, who is refused. `more`: how many are left out. */
export function clientTable({ facts, asked_at: now }: VerdictJson) {
  const asked = (last: string): string => ago(last, Date.parse(now));
  if (facts.stage === 'retired') {
    const cells = facts.refused_clients
      .slice(0, clientsShown)
      .map(({ client, name, refused, last }) => [printableExcerpt(name ?? client), grouped(refused), asked(last)]);
    return { headings: ['client', 'refused', 'last asked'], cells, more: facts.refused_count - cells.length };
  }
  const cells = facts.clients
    .slice(0, clientsShown)
    .map(({ client, name, requests, errors, routes, top_routes: top, last }) => [
      printableExcerpt(name ?? client),
      grouped(requests),
      grouped(errors),
      routesInWords(routes, top),
      asked(last),
    ]);
  const headings = ['client', 'requests', 'errors', 'routes', 'last asked'];
  return { headings, cells, more: facts.client_count - cells.length };
}

function trendInWords({ kind, zero }: VerdictJson['facts']['trend']): string {
  if (kind === 'unknown') return 'too few days to say';
  if (kind === 'none') return 'no requests in 7 days';
  if (kind === 'falling' && zero === null) return 'falling, by less each week';
  return zero === null ? printable(kind) : `falling, none from ${printable(zero)} on`;
}

function successorInWords(successor: VerdictJson['facts']['successor']): string {
  if (successor === null) return 'none';
  const { version, health, healthy, targets } = successor;
  return printable(`/${version}, ${health}${health === 'degraded' ? ` (${healthy} of ${targets} targets)` : ''}`);
}
