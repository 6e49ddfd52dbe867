import { median } from '../support/figures.ts';

/** The results of one run. RESULTS.md and the chart are both drawn from them. */
export interface Results {
  /** Date, machine, versions, procedure: one entry per line. */
  readonly conditions: readonly string[];
  readonly sections: readonly Section[];
}

/** One question, and the tables that answer it. */
export interface Section {
  /** The name of the scenario. */
  readonly name: string;
  readonly title: string;
  /** What was measured, and how. */
  readonly text: string;
  readonly tables: readonly Table[];
  /** Proxies that were not measured, and why; failed requests. */
  readonly notes: readonly string[];
}

export interface Table {
  /** What the figures are, with their unit. Less is better, unless this text says otherwise. */
  readonly figure: string;
  /** Digits after the decimal point. */
  readonly digits: number;
  /** The row to which the others are compared; default: HAProxy. */
  readonly baseline?: string;
  readonly rows: readonly Row[];
  /** The goals for the first row of the gateway. */
  readonly goals: readonly Goal[];
}

export interface Row {
  readonly name: string;
  /** One figure per round. */
  readonly samples: readonly number[];
}

/** The median should be at most `atMost`. With `times`, the name of a row, it should be at most `atMost` × the median of that row. */
export interface Goal {
  readonly atMost: number;
  readonly times?: string;
}

const reference = 'HAProxy';
const dataStart = '\n<!-- The samples of every round, one line per row:\n';
const dataEnd = '\n-->\n';

/** The page for readers; its last part contains the results themselves. */
export function renderPage(results: Results): string {
  const head = `# Results\n\n${results.conditions.map((line) => `- ${line}`).join('\n')}`;
  const sections = results.sections.map(renderSection);
  return `${[head, goalSummary(results), ...sections].join('\n\n')}\n${dataStart}${dataOf(results)}${dataEnd}`;
}

/** Reads the results from which `page` was rendered. */
export function readPage(page: string): Results {
  const start = page.indexOf(dataStart);
  if (start < 0) throw new Error('the page contains no results');
  return JSON.parse(page.slice(start + dataStart.length, page.lastIndexOf(dataEnd)));
}

/** JSON with a line for each row, so that the page stays readable in a diff. `--` would end the comment. */
function dataOf(results: Results): string {
  return JSON.stringify(results).replaceAll('--', '-\\u002d').replaceAll('{"name":', '\n{"name":');
}

export function renderSection({ title, text, tables, notes }: Section): string {
  const parts = [`## ${title}`, text, ...tables.map(renderTable), ...notes];
  return parts.filter((part) => part !== '').join('\n\n');
}

const columnTitles = (baseline: string) => ['median', 'lowest–highest', `× ${baseline}`, 'goal'];

function renderTable(table: Table): string {
  const { figure, rows, baseline = reference } = table;
  const baselineMedian = medianOf(table, baseline);
  const gateway = gatewayRow(table);
  const lines = rows.map((row) => {
    const value = median(row.samples);
    const range = `${formatted(Math.min(...row.samples), table)}–${formatted(Math.max(...row.samples), table)}`;
    const ratio = baselineMedian ? (value / baselineMedian).toFixed(2) : '';
    const goals = row === gateway ? table.goals.map((goal) => renderGoal(goal, table)).join('; ') : '';
    return [row === gateway ? `**${row.name}**` : row.name, formatted(value, table), range, ratio, goals];
  });
  return markdownTable([figure, ...columnTitles(baseline)], lines);
}

/** `≤ 1.30 × HAProxy: met` */
function renderGoal(goal: Goal, table: Table): string {
  return `≤ ${limitText(goal, table)}: ${outcome(goal, table)}`;
}

function limitText({ atMost, times }: Goal, table: Table): string {
  return times === undefined ? formatted(atMost, table) : `${atMost.toFixed(2)} × ${times}`;
}

function outcome(goal: Goal, table: Table): string {
  const { atMost, times } = goal;
  const value = reachedValue(goal, table);
  if (Number.isNaN(value)) return 'not known';
  // Compares what the table shows, which is rounded.
  const digits = times === undefined ? table.digits : 2;
  return Number(value.toFixed(digits)) <= atMost ? 'met' : '**not met**';
}

/** The median of the gateway, or its ratio to the row `times`. NaN: a row is missing. */
function reachedValue({ times }: Goal, table: Table): number {
  const divisor = times === undefined ? 1 : (medianOf(table, times) ?? Number.NaN);
  return median(gatewayRow(table)?.samples ?? []) / divisor;
}

/** A table of all goals. */
function goalSummary({ sections }: Results): string {
  const lines = sections.flatMap(({ title, tables }) =>
    tables.flatMap((table) =>
      table.goals.map((goal) => {
        return [title, table.figure, reachedText(goal, table), `≤ ${limitText(goal, table)}`, outcome(goal, table)];
      }),
    ),
  );
  return `## Goals of version-gateway\n\n${markdownTable(['question', 'figure', 'reached', 'goal', 'met?'], lines)}`;
}

function reachedText(goal: Goal, table: Table): string {
  const value = reachedValue(goal, table);
  if (Number.isNaN(value)) return '';
  return goal.times === undefined ? formatted(value, table) : value.toFixed(2);
}

function gatewayRow({ rows }: Table): Row | undefined {
  return rows.find(({ name }) => name.startsWith('version-gateway'));
}

export function medianOf({ rows }: Table, name: string): number | undefined {
  const row = rows.find((candidate) => candidate.name === name);
  return row && median(row.samples);
}

function formatted(value: number, { digits }: Table): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = titles.map((title, column) => (column > 0 && /median|lowest|reached|^×/.test(title) ? '---:' : '---'));
  return [titles, rule, ...rows].map(line).join('\n');
}
