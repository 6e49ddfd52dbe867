import { harmless, harmlessly } from '../retirement/harmless.ts';
import type { Grouping, UsageReport } from '../retirement/usageReport.ts';
import type { Cell, Row } from '../retirement/usageRows.ts';
import { ago } from './ago.ts';
import type { Paint } from './paint.ts';
import { sparkline } from './sparkline.ts';
import { table } from './table.ts';

interface Column {
  readonly heading: string;
  readonly cell: (row: Row, report: UsageReport) => string;
}

/** For people. */
export function usageAsText(report: UsageReport, paint: Paint): string {
  const { rows, since, until, covered_since: covered, problem } = report;
  const heading = `${report.version === null ? 'usage' : harmless(`usage of /${report.version}`)} since ${minuteOf(since)}`;
  const lines = [heading];
  if (covered === null) lines.push('The ledger holds nothing yet.');
  else if (covered > since) lines.push(paint('yellow', `The ledger begins ${ago(covered, Date.parse(until))} only.`));
  if (problem !== null) lines.push(paint('red', `The ledger is not well: ${harmless(problem)}`));
  lines.push('', ...(rows.length === 0 ? ['  no requests'] : tableOf(report)));
  if (report.by === 'migration' && rows.length > 0) lines.push('', `  ${movementInWords(rows)}`);
  return `${lines.join('\n')}\n`;
}

function tableOf(report: UsageReport): string[] {
  const columns = columnsOf[report.by];
  return table([
    columns.map(({ heading }) => heading),
    ...report.rows.map((row) => columns.map(({ cell }) => cell(row, report))),
  ]);
}

const version = column('version', (row) => {
  const name = textOf(row['version']);
  return name === '' ? '(none)' : harmless(`/${name}`);
});
const client = column('client', (row) => harmlessly(textOf(row['name']) || textOf(row['client'])));
const last = column('last asked', (row, { until }) => agoOf(row['last'], until));
const days = column('by day', ({ days: counts }, { since, until }) =>
  isCounts(counts) ? sparkline(counts, Date.parse(since), Date.parse(until)) : '',
);

const columnsOf: Readonly<Record<Grouping, readonly Column[]>> = {
  version: [version, counted('requests'), counted('errors'), counted('clients'), last, days],
  client: [
    version,
    client,
    counted('requests'),
    counted('errors'),
    counted('routes'),
    column('first asked', (row) => textOf(row['first']).slice(0, 10)),
    last,
    days,
  ],
  route: [
    version,
    column('route', (row) => harmlessly(textOf(row['route']), 100)),
    counted('requests'),
    counted('errors'),
    counted('clients'),
    last,
  ],
  day: [
    version,
    column('day', (row, { step }) => (step === 'hour' ? minuteOf(textOf(row['at'])) : textOf(row['at']).slice(0, 10))),
    counted('requests'),
    column('', ({ requests }, { rows }) => bar(numberOf(requests), rows)),
  ],
  migration: [
    version,
    client,
    column('state', (row) => harmless(textOf(row['state']))),
    counted('requests'),
    last,
    column('successor', (row) => harmless(`/${textOf(row['successor'])}`)),
    counted('requests', 'successor_requests'),
    column('last asked', (row, { until }) => agoOf(row['successor_last'], until)),
  ],
};

function column(heading: string, cell: Column['cell']): Column {
  return { heading, cell };
}

function counted(heading: string, name = heading): Column {
  return column(heading, (row) => numberOf(row[name]).toLocaleString('en-US'));
}

function bar(requests: number, rows: readonly Row[]): string {
  const most = rows.reduce((highest, row) => Math.max(highest, numberOf(row['requests'])), 1);
  return '█'.repeat(Math.ceil((requests / most) * 30));
}

function movementInWords(rows: readonly Row[]): string {
  const words = ['stayed', 'both', 'moved', 'went back'].map((state) => {
    return `${rows.filter((row) => row['state'] === state).length} ${state === 'both' ? 'use both' : state}`;
  });
  return `${rows.length} client${rows.length === 1 ? '' : 's'}: ${words.join(', ')}`;
}

function minuteOf(instant: string): string {
  return harmless(instant.replace(/:\d\d(\.\d+)?Z$/, 'Z'));
}

function agoOf(instant: Cell | undefined, until: string): string {
  return typeof instant === 'string' ? ago(instant, Date.parse(until)) : '-';
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'string' ? cell : '';
}

function numberOf(cell: Cell | undefined): number {
  return typeof cell === 'number' ? cell : 0;
}

function isCounts(cell: Cell | undefined): cell is Extract<Cell, readonly unknown[]> {
  return Array.isArray(cell);
}
