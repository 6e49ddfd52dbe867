import { DatabaseSync } from 'node:sqlite';

type Cell = string | number | bigint | null | Uint8Array;

const lengths: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000, block: 30 * 86_400_000 };

/** Every table of a SQLite file with its columns and rows, in an order that does not depend on the time of writing. */
export function ledgerText(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const names = database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
      .all()
      .map(({ name }) => String(name));
    const pragmas = ['application_id', 'user_version'].map((name) => {
      return `${name} ${String(database.prepare(`PRAGMA ${name}`).get()?.[name])}`;
    });
    return [...pragmas, '', ...names.flatMap((name) => tableText(database, name))].join('\n');
  } finally {
    database.close();
  }
}

function tableText(database: DatabaseSync, table: string): string[] {
  const columns = database
    .prepare(`SELECT name FROM pragma_table_info(?)`)
    .all(table)
    .map(({ name }) => String(name));
  const rows = database.prepare(`SELECT * FROM ${table}`).all() as Record<string, Cell>[];
  const length = lengths[/_(hour|day|block)$/.exec(table)?.[1] ?? ''];
  const lines = rows.map((row) => `  ${columns.map((column) => cellText(row, column, length)).join(' | ')}`);
  return [`${table}: ${columns.join(' | ')}`, ...lines.sort(inOrder), ''];
}

/** In the tables of sums, `first` and `last` count from the start of their span. As instants they can be read and masked. */
function cellText(row: Record<string, Cell>, column: string, spanLength: number | undefined): string {
  const value = row[column] ?? null;
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`;
  if (spanLength === undefined) return String(value);
  const start = Number(row['span']) * spanLength;
  if (column === 'span') return new Date(start).toISOString();
  return column === 'first' || column === 'last' ? new Date(start + Number(value)).toISOString() : String(value);
}

const inOrder = new Intl.Collator('en', { numeric: true }).compare;
