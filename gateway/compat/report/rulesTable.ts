import { rules } from '../rules/rules.ts';

const headings = ['rule', 'level', 'basis', 'direction', 'within a major'];
const cells = rules.map(({ id, level, basis, direction, policy }) => [id, level, basis, direction, policy]);

/** All rules, for `--rules`. */
export function rulesTable(): string {
  const rows = [headings, ...cells];
  const widths = headings.map((_heading, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** The same for docs/compat.md. */
export function rulesAsMarkdown(): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const rows = cells.map(([id, ...rest]) => line([`\`${id}\``, ...rest]));
  return `${[line(headings), `|${headings.map(() => '---|').join('')}`, ...rows].join('\n')}\n`;
}
