import { type Paint, tableAsText } from '../../../shared/document.ts';
import { ago, plural, printable, printableExcerpt, roughPeriod, withCommas } from '../../../shared/text.ts';
import {
  type ClientRow,
  type DayRow,
  type Grouping,
  type MigrationRow,
  migrationStates,
  type ReportRows,
  stateInWords,
} from '../../../usage/report/usagePage.ts';
import type { UsageBy, UsageHead, UsageReport } from '../../../usage/report/usageReport.ts';
import { routesInWords } from '../../../versions/retirement/words.ts';
import { sparkline } from './terminal.ts';

interface Column<Row> {
  readonly heading: string;
  /** If this field of the rows is 0 in every row, the column is omitted. */
  readonly omittedIfZero?: keyof Row;
  cell(row: Row, report: ReportOf<Row>): string;
}

type ReportOf<Row> = UsageHead & { readonly rows: readonly Row[] };

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
    ...(report.by === 'migration' ? migrationSummary(report.rows, period) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Whether the ledger begins within the period. */
function startOf({ counted_since: counted, since, until }: UsageReport): string[] {
  if (counted === null) return ['The ledger is empty.'];
  if (counted === since) return [];
  return [`The ledger starts only ${ago(Date.parse(counted), Date.parse(until))}; the counts are of this time.`];
}

function tableOf<By extends Grouping>(report: UsageBy<By>, width: number): string[] {
  const columns = columnsOf[report.by].filter(
    ({ heading, omittedIfZero: field }) =>
      !(heading === 'routes' && report.route !== undefined) &&
      (field === undefined || report.rows.some((row) => (row[field] ?? 0) !== 0)),
  );
  const cells = report.rows.map((row) => columns.map((column) => column.cell(row, report)));
  return tableAsText([columns.map(({ heading }) => heading), ...cells], width);
}

const versionColumn: Column<{ version: string }> = {
  heading: 'version',
  cell: ({ version }) => (version === '' ? '(none)' : printable(`/${version}`)),
};
const clientColumn: Column<Pick<ClientRow, 'client' | 'name' | 'new_since'>> = {
  heading: 'client',
  cell: ({ client, name, new_since: newSince }) => {
    const shown = printableExcerpt(name ?? client);
    return newSince === undefined ? shown : `${shown} (new)`;
  },
};
const lastCallColumn: Column<{ last: string | null }> = {
  heading: 'last call',
  cell: ({ last }, { until }) => agoOf(last, until),
};
const daysColumn: Column<Pick<ClientRow, 'days'>> = {
  heading: 'by day',
  cell: ({ days }, { since, until, counted_since: counted }) =>
    days ? sparkline(days, Date.parse(since), Date.parse(until), Date.parse(counted ?? until)) : '',
};

// `errors`: answered 4xx or 5xx. `failing`: answered 4xx, but not for a temporary reason such as 429.
const columnsOf: { readonly [By in Grouping]: readonly Column<ReportRows[By]>[] } = {
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
    { heading: 'routes', cell: (row) => routesInWords(row.routes, row.top_routes) },
    { heading: 'first call', cell: ({ first }) => (first ?? '').slice(0, 10) },
    lastCallColumn,
    daysColumn,
  ],
  route: [
    versionColumn,
    { heading: 'route', cell: ({ route }) => printableExcerpt(route, 100) },
    numberColumn('requests'),
    numberColumn('errors'),
    numberColumnUnlessZero('failing'),
    numberColumn('clients'),
    lastCallColumn,
    {
      heading: 'in the successor',
      omittedIfZero: 'successor_status',
      cell: ({ successor_status: status }) => (status === null ? '' : `missing (${status})`),
    },
  ],
  day: [
    versionColumn,
    { heading: 'day', cell: ({ at }, { step }) => (step === 'hour' ? minuteOf(at) : at.slice(0, 10)) },
    numberColumn('requests'),
    { heading: '', cell: ({ requests }, { rows }) => bar(requests, rows) },
  ],
  migration: [
    versionColumn,
    clientColumn,
    {
      heading: 'state',
      cell: ({ state, version, successor }) => printable(stateInWords(state, `/${version}`, `/${successor}`)),
    },
    numberColumn('requests'),
    lastCallColumn,
    { heading: 'successor', cell: ({ successor }) => printable(`/${successor}`) },
    numberColumn('successor_requests', 'requests'),
    { heading: 'last call', cell: (row, { until }) => agoOf(row.successor_last, until) },
  ],
};

function numberColumn<Field extends string>(
  field: Field,
  heading: string = field,
): Column<Readonly<Record<Field, number | null>>> {
  return { heading, cell: ({ [field]: number }) => (number === null ? '-' : withCommas(number)) };
}

function numberColumnUnlessZero<Field extends string>(field: Field): Column<Readonly<Record<Field, number | null>>> {
  return { ...numberColumn(field), omittedIfZero: field };
}

function bar(requests: number, rows: readonly DayRow[]): string {
  const most = rows.reduce((highest, row) => Math.max(highest, row.requests), 1);
  return '█'.repeat(Math.ceil((requests / most) * 30));
}

/** One line per version that has a successor. `period`: `the last 30 days`. */
function migrationSummary(rows: readonly MigrationRow[], period: string): string[] {
  const byVersion = Map.groupBy(rows, ({ version }) => version);
  const lines = [...byVersion].map(([version, clientRows]) => {
    const [name, successor] = [`/${version}`, `/${clientRows[0]?.successor}`];
    const words = migrationStates.flatMap((state) => {
      const clientCount = clientRows.filter((row) => row.state === state).length;
      if (clientCount === 0 && state === 'failing') return [];
      return [`${withCommas(clientCount)} ${stateInWords(state, name, successor)}`];
    });
    return printable(
      `  ${name} to ${successor} in ${period}: ${plural(clientRows.length, 'client')}, ${words.join(', ')}`,
    );
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function minuteOf(instant: string): string {
  return printable(instant.replace(/:\d\d(\.\d+)?Z$/, 'Z'));
}

function agoOf(instant: string | null, until: string): string {
  return instant === null ? '-' : ago(Date.parse(instant), Date.parse(until));
}
