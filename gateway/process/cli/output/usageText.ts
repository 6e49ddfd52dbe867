import { type Paint, tableAsText } from '../../../shared/document.ts';
import { ago, plural, printable, printableExcerpt, roughPeriod, withCommas } from '../../../shared/text.ts';
import {
  type Grouping,
  migrationStates,
  type ReportCell,
  type ReportRow,
  type RequestCount,
  stateInWords,
  type UsedRoute,
} from '../../../usage/report/usagePage.ts';
import type { UsageReport } from '../../../usage/report/usageReport.ts';
import { routesInWords } from '../../../versions/retirement/words.ts';
import { sparkline } from './terminal.ts';

interface Column {
  readonly heading: string;
  /** If this field of the rows is 0 in every row, the column is omitted. */
  readonly omittedIfZero?: string;
  readonly cell: (row: ReportRow, report: UsageReport) => string;
}

export function usageAsText(report: UsageReport, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { rows, since, until, counted_since: counted, problem: ledgerProblem, problems, folded, held } = report;
  const [method, path] = report.route?.split(' ', 2) ?? [];
  const subject = method === undefined ? `/${report.version}` : `${method} /${report.version}${path}`;
  const what = `usage${report.version === null ? '' : ` of ${subject}`}`;
  const where = report.instance === undefined ? '' : ` on gateway ${report.instance}`;
  const period = `the last ${roughPeriod(Date.parse(until) - Date.parse(since))}`;
  const heading = `${printable(what + where)} in ${period}, since ${minuteOf(since)}`;
  const { without_route: requestsWithoutRoute = 0 } = report;
  const warnings = [
    folded > 0 &&
      `${plural(folded, 'request')} of clients beyond usage.max_clients in ${period} are counted together as other clients.`,
    requestsWithoutRoute > 0 &&
      `These counts are lower bounds. ${plural(requestsWithoutRoute, 'request')} to /${report.version} in ${period} beyond usage.max_routes are counted together as other routes, and may be calls of this route.`,
    held > 0 && `${plural(held, 'row')} in memory now, until the ledger can be written.`,
  ].filter((warning) => warning !== false);
  const lines = [
    heading,
    ...startOf(report).map((line) => (counted === null ? line : paint('yellow', line))),
    ...problems.map((one) => paint('red', `${one === ledgerProblem ? 'Ledger problem: ' : ''}${printable(one)}`)),
    ...warnings.map((warning) => paint('yellow', warning)),
    '',
    ...(rows.length === 0 ? ['  no requests'] : tableOf(report, width)),
    ...(report.by === 'migration' ? migrationSummary(rows, period) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Whether the ledger begins within the period. */
function startOf({ counted_since: counted, since, until }: UsageReport): string[] {
  if (counted === null) return ['The ledger is empty.'];
  if (counted === since) return [];
  return [`The ledger starts only ${ago(Date.parse(counted), Date.parse(until))}; the counts are of this time.`];
}

function tableOf(report: UsageReport, width: number): string[] {
  const columns = columnsOf[report.by].filter(
    ({ heading, omittedIfZero: field }) =>
      !(heading === 'routes' && report.route !== undefined) &&
      (field === undefined || report.rows.some((row) => (row[field] ?? 0) !== 0)),
  );
  const cells = report.rows.map((row) => columns.map(({ cell }) => cell(row, report)));
  return tableAsText([columns.map(({ heading }) => heading), ...cells], width);
}

const versionColumn = column('version', (row) => {
  const name = textOf(row['version']);
  return name === '' ? '(none)' : printable(`/${name}`);
});
const clientColumn = column('client', (row) => {
  const name = printableExcerpt(textOf(row['name']) || textOf(row['client']));
  return textOf(row['new_since']) === '' ? name : `${name} (new)`;
});
const lastCallColumn = column('last call', (row, { until }) => agoOf(row['last'], until));
const daysColumn = column('by day', ({ days: counts }, { since, until, counted_since: counted }) => {
  if (!isCounts(counts)) return '';
  return sparkline(counts, Date.parse(since), Date.parse(until), Date.parse(counted ?? until));
});

// `errors`: answered 4xx or 5xx. `failing`: answered 4xx, but not for a temporary reason such as 429.
const columnsOf: Readonly<Record<Grouping, readonly Column[]>> = {
  version: [
    versionColumn,
    numberColumn('requests'),
    numberColumn('errors'),
    numberColumnUnlessZero('failing'),
    numberColumnUnlessZero('refused'),
    numberColumn('clients'),
    lastCallColumn,
    daysColumn,
  ],
  client: [
    versionColumn,
    clientColumn,
    numberColumn('requests'),
    numberColumn('errors'),
    numberColumnUnlessZero('failing'),
    numberColumnUnlessZero('refused'),
    column('routes', (row) => routesInWords(numberOf(row['routes']), usedRoutesIn(row))),
    column('first call', (row) => textOf(row['first']).slice(0, 10)),
    lastCallColumn,
    daysColumn,
  ],
  route: [
    versionColumn,
    column('route', (row) => printableExcerpt(textOf(row['route']), 100)),
    numberColumn('requests'),
    numberColumn('errors'),
    numberColumnUnlessZero('failing'),
    numberColumn('clients'),
    lastCallColumn,
    // The status with which the successor answered the counterpart of the route, if it lacks it.
    {
      heading: 'in the successor',
      omittedIfZero: 'successor_status',
      cell: ({ successor_status: status }) => (typeof status === 'number' ? `missing (${status})` : ''),
    },
  ],
  day: [
    versionColumn,
    column('day', (row, { step }) => (step === 'hour' ? minuteOf(textOf(row['at'])) : textOf(row['at']).slice(0, 10))),
    numberColumn('requests'),
    column('', ({ requests }, { rows }) => bar(numberOf(requests), rows)),
  ],
  migration: [
    versionColumn,
    clientColumn,
    column('state', stateOf),
    numberColumn('requests'),
    lastCallColumn,
    column('successor', (row) => printable(`/${textOf(row['successor'])}`)),
    numberColumn('requests', 'successor_requests'),
    column('last call', (row, { until }) => agoOf(row['successor_last'], until)),
  ],
};

function column(heading: string, cell: Column['cell']): Column {
  return { heading, cell };
}

function numberColumn(heading: string, field = heading): Column {
  return column(heading, (row) => (row[field] === null ? '-' : withCommas(numberOf(row[field]))));
}

function numberColumnUnlessZero(field: string): Column {
  return { ...numberColumn(field), omittedIfZero: field };
}

function bar(requests: number, rows: readonly ReportRow[]): string {
  const most = rows.reduce((highest, row) => Math.max(highest, numberOf(row['requests'])), 1);
  return '█'.repeat(Math.ceil((requests / most) * 30));
}

function stateOf(row: ReportRow): string {
  const [from, to] = [textOf(row['version']), textOf(row['successor'])];
  return printable(stateInWords(textOf(row['state']), `/${from}`, `/${to}`));
}

/** One line per version that has a successor. `period`: `the last 30 days`. */
function migrationSummary(rows: readonly ReportRow[], period: string): string[] {
  const byVersion = Map.groupBy(rows, (row) => textOf(row['version']));
  const lines = [...byVersion].map(([name, clientRows]) => {
    const successor = textOf(clientRows[0]?.['successor']);
    const words = migrationStates.flatMap((state) => {
      const clientCount = clientRows.filter((row) => row['state'] === state).length;
      if (clientCount === 0 && state === 'failing') return [];
      return [`${withCommas(clientCount)} ${stateInWords(state, `/${name}`, `/${successor}`)}`];
    });
    return printable(
      `  /${name} to /${successor} in ${period}: ${plural(clientRows.length, 'client')}, ${words.join(', ')}`,
    );
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function minuteOf(instant: string): string {
  return printable(instant.replace(/:\d\d(\.\d+)?Z$/, 'Z'));
}

function agoOf(instant: ReportCell | undefined, until: string): string {
  return typeof instant === 'string' ? ago(Date.parse(instant), Date.parse(until)) : '-';
}

function textOf(cell: ReportCell | undefined): string {
  return typeof cell === 'string' ? cell : '';
}

function numberOf(cell: ReportCell | undefined): number {
  return typeof cell === 'number' ? cell : 0;
}

function usedRoutesIn({ top_routes: top }: ReportRow): readonly UsedRoute[] {
  return Array.isArray(top) ? (top as readonly UsedRoute[]) : [];
}

function isCounts(cell: ReportCell | undefined): cell is readonly RequestCount[] {
  return Array.isArray(cell);
}
