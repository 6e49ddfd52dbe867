/** Cells in columns as wide as they must be, indented; a column in which nothing stands is left out. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return `  ${cells
      .filter((_cell, column) => widths[column] !== 0)
      .join('  ')
      .trimEnd()}`;
  });
}

/** As short as it can be written in routes.yaml. */
export function date(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z').replace('T00:00:00Z', '');
}
