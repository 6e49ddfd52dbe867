import { printable } from '../../shared/text.ts';
import {
  type Cells,
  type Grouping,
  type ReportCell,
  type ReportRows,
  stateInWords,
  type UsedRoute,
} from './usagePage.ts';
import type { UsageReport } from './usageReport.ts';

/** The columns of each report. Only JSON has the counts by day (`days`). */
const columns: { readonly [By in Grouping]: readonly (keyof ReportRows[By])[] } = {
  version: ['version', 'requests', 'errors', 'served', 'clients', 'last', 'failing', 'refused'],
  client: [
    'version',
    'client',
    'name',
    'requests',
    'errors',
    'served',
    'first',
    'last',
    'routes',
    'top_routes',
    'failing',
    'refused',
    'last_used',
  ],
  route: ['version', 'route', 'requests', 'errors', 'clients', 'last', 'failing'],
  day: ['version', 'at', 'requests'],
  migration: [
    'version',
    'successor',
    'client',
    'name',
    'state',
    'requests',
    'last',
    'successor_requests',
    'successor_first',
    'successor_last',
    'failing',
  ],
};

/** A report as CSV (RFC 4180) with a header line. */
export function usageCsv({ by, rows }: Pick<UsageReport, 'by' | 'rows'>): string {
  const columnNames: readonly string[] = columns[by];
  const lines = [
    columnNames.join(','),
    ...rows.map((row: Cells) => columnNames.map((name) => csvCell(textOf(name, row))).join(',')),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

/** The same words as in the CLI's table. */
function textOf(name: string, row: Cells): ReportCell {
  const value = row[name];
  if (name === 'state') return stateInWords(String(value), `/${row['version']}`, `/${row['successor']}`);
  if (name === 'version' && value === '') return '(none)';
  if (name !== 'top_routes' || !Array.isArray(value)) return value;
  return (value as readonly UsedRoute[]).map(({ route, requests }) => `${route} (${requests})`).join('; ');
}

/**
 * One cell. Text that begins like a formula gets an apostrophe before it, since spreadsheets would evaluate it and a
 * client can name itself `=HYPERLINK(…)`. Some spreadsheets also evaluate full-width signs.
 */
export function csvCell(value: ReportCell): string {
  if (value === null || value === undefined || typeof value === 'object') return '';
  if (typeof value === 'number') return String(value);
  const text = /^\s*[=+\-@＝＋－＠]|^[\t\r]/.test(value) ? `'${printable(value)}` : printable(value);
  return /[",'\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
