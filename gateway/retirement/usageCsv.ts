import { harmless } from '../shared/harmless.ts';
import { stateInWords } from './migration.ts';
import type { Grouping, UsageReport } from './usageReport.ts';
import type { Cell, Row, UsedRoute } from './usageRows.ts';

/** The columns of each kind of report; series are left to JSON. */
const columns: Readonly<Record<Grouping, readonly string[]>> = {
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

/** A report as CSV: RFC 4180, with a header line. */
export function usageCsv({ by, rows }: Pick<UsageReport, 'by' | 'rows'>): string {
  const names = columns[by];
  const lines = [names.join(','), ...rows.map((row) => names.map((name) => csvCell(textOf(name, row))).join(','))];
  return lines.map((line) => `${line}\r\n`).join('');
}

/** As the table for people has it. */
function textOf(name: string, row: Row): Cell | undefined {
  const value = row[name];
  if (name === 'state') return stateInWords(String(value), `/${row['version']}`, `/${row['successor']}`);
  if (name === 'version' && value === '') return '(none)';
  if (name !== 'top_routes' || !Array.isArray(value)) return value;
  return (value as readonly UsedRoute[]).map(({ route, requests }) => `${route} (${requests})`).join('; ');
}

/**
 * One cell. A spreadsheet takes text that begins like a formula for one, and a client can call itself
 * `=HYPERLINK(…)`: an apostrophe makes text of it. Full-width signs count as the others do in some of them.
 */
export function csvCell(value: Cell | undefined): string {
  if (value === null || value === undefined || typeof value === 'object') return '';
  if (typeof value === 'number') return String(value);
  const text = /^\s*[=+\-@＝＋－＠]|^[\t\r]/.test(value) ? `'${harmless(value)}` : harmless(value);
  return /[",'\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
