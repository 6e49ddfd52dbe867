import type { Document, Section } from '../../../shared/document.ts';
import { dateText } from '../../../shared/instant.ts';
import { ago, plural, withCommas } from '../../../shared/text.ts';
import type { VerdictJson } from '../../../versions/retirement/verdictJson.ts';
import {
  clientTable,
  lastPeriodInWords,
  pausingInWords,
  routesInWords,
  shareInWords,
} from '../../../versions/retirement/words.ts';
import { sparkline } from './terminal.ts';

const colours = { yes: 'green', 'not yet': 'yellow', 'not known': 'yellow', no: 'red' } as const;

export function verdictDocument(verdict: VerdictJson): Document {
  const { answer, reasons, notes } = verdict;
  return {
    title: questionOf(verdict),
    answer: { text: answer, style: colours[answer] },
    sections: [
      { lines: reasons.map(({ text }) => text) },
      { table: { head: ['fact', ''], rows: summaryOf(verdict), isPlain: true } },
      clientSection(verdict),
      { lines: notes.map(({ text }) => text) },
    ],
  };
}

function questionOf({ question, version, route }: VerdictJson): string {
  if (question === 'remove') return `Can the tombstone of /${version} be removed?`;
  const [method = '', path = ''] = route?.split(' ', 2) ?? [];
  return route === undefined ? `Can /${version} be retired?` : `Can ${method} /${version}${path} end?`;
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
    ['stage', stage],
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

/** The clients of the version in the quiet period; for a retired version, the clients it refused. */
function clientSection({ facts, asked_at: now }: VerdictJson): Section {
  const lastCall = ({ last }: { readonly last: string }): string => ago(Date.parse(last), Date.parse(now));
  const section =
    facts.stage === 'retired'
      ? clientTable(facts.refused_clients, facts.refused_count, [
          ['refused', (one) => withCommas(one.refused)],
          ['last call', lastCall],
        ])
      : clientTable(facts.clients, facts.client_count, [
          ['requests', (one) => withCommas(one.requests)],
          ['errors', (one) => withCommas(one.errors)],
          ['routes', (one) => routesInWords(one.routes, one.top_routes)],
          ['last call', lastCall],
        ]);
  if (section.table?.rows.length === 0) return {};
  return { text: `in ${lastPeriodInWords(facts.quiet)}, the quiet period:`, ...section };
}

function trendInWords({ kind, zero, pausing }: VerdictJson['facts']['trend']): string {
  if (kind === 'unknown') return 'not enough days';
  if (kind === 'none') return 'no requests in the last 7 complete days';
  if (pausing) {
    const { count, shortest_pause: shortest, longest_pause: longest } = pausing;
    return `falling, but no end can be predicted: ${pausingInWords({ count, shortest, longest })}`;
  }
  if (kind === 'falling' && zero === null) return 'falling more slowly each week';
  return zero === null ? kind : `falling, none expected from ${zero}`;
}

function successorInWords(successor: VerdictJson['facts']['successor']): string {
  if (successor === null) return 'none';
  const { version, health, healthy, targets, not_tried: notTried } = successor;
  if (health === 'not tried' && healthy === 0) return `/${version}, not tried yet`;
  if (health !== 'degraded' && health !== 'not tried') return `/${version}, ${health}`;
  const untried = notTried === 0 ? '' : `, ${notTried} not tried yet`;
  const state = health === 'degraded' ? 'degraded' : 'healthy';
  return `/${version}, ${state} (${healthy} of ${targets} targets now${untried})`;
}
