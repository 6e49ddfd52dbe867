export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map(line).join('\n');
}

/** `12.3 (0.45×)`: the figure, and its ratio to the baseline. */
export function withRatio(value: number, baseline: number | undefined, digits: number): string {
  const figure = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return baseline ? `${figure} (${(value / baseline).toFixed(2)}×)` : figure;
}
