import { onlyFails } from '../usage/outcome.ts';
import type { MigrationState } from './migration.ts';
import type { Cell, Row } from './usageRows.ts';

export const states = [
  'here',
  'stayed',
  'both',
  'went back',
  'moved',
  'successor only',
  'failing',
  'refused',
  'any',
] as const;

/** Which of the rows are wanted, and in which order. */
export interface UsagePage {
  /** Undefined: all of them. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Undefined: most requests first, a version at a time. */
  readonly sort?: { readonly column: string; readonly downwards: boolean } | undefined;
  /** A part of the client or of its name, or of the route; in any case. */
  readonly filter?: string | undefined;
  /**
   * `here`: whoever calls the version, and does not only fail; `refused`: those of whose requests some were refused; `any`:
   * also who calls only its successor by now. Undefined: as `here`, untold.
   */
  readonly state?: MigrationState | 'here' | 'refused' | 'any' | undefined;
}

/** The columns that rows can be sorted by; a client is sorted by its name where it has one. */
export const sortable: Readonly<Record<string, readonly string[]>> = {
  client: [
    'client',
    'requests',
    'errors',
    'served',
    'failing',
    'refused',
    'first',
    'last',
    'last_used',
    'routes',
    'state',
  ],
  migration: ['client', 'requests', 'last', 'successor_requests', 'successor_first', 'successor_last', 'state'],
  route: ['route', 'requests', 'errors', 'failing', 'clients', 'last'],
};

/** The rows of a page, and how many there are without `limit` and `offset`. */
export function pageOf(
  all: readonly Row[],
  page: UsagePage,
): { readonly rows: readonly Row[]; readonly total: number } {
  const { limit, offset = 0, sort } = page;
  const found = matching(all, page);
  const sorted = sort ? inOrder(found, sort.column, sort.downwards) : found;
  return { rows: sorted.slice(offset, limit === undefined ? undefined : offset + limit), total: found.length };
}

/** Whether every request of a client or route failed. */
export function rowOnlyFails({ requests, failing }: Row): boolean {
  return onlyFails({ requests: Number(requests), failing: Number(failing) });
}

function matching(all: readonly Row[], { filter = '', state = 'any' }: UsagePage): readonly Row[] {
  const needle = filter.trim().toLowerCase();
  if (needle === '' && state === 'any') return all;
  return all.filter((row) => {
    if (!isIn(row, state)) return false;
    return `${row['name'] ?? ''} ${row['client'] ?? row['route'] ?? ''}`.toLowerCase().includes(needle);
  });
}

function isIn(row: Row, state: NonNullable<UsagePage['state']>): boolean {
  if (state === 'here') return row['last'] !== null && !rowOnlyFails(row);
  if (state === 'refused') return Number(row['refused']) > 0;
  return state === 'any' || row['state'] === state;
}

// Made once: thousands of rows are compared many thousand times.
const words = new Intl.Collator('en', { numeric: true });

/** Where two rows are equal the earlier order stays, so that pages never overlap. */
function inOrder(rows: readonly Row[], column: string, downwards: boolean): readonly Row[] {
  const value = (row: Row): Cell | undefined => (column === 'client' ? (row['name'] ?? row['client']) : row[column]);
  const isTime = /(?:^|_)(?:first|last|used)$/.test(column);
  const compare = (a: Cell | undefined, b: Cell | undefined): number => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    const [one, other] = [String(a ?? ''), String(b ?? '')];
    // Instants are texts of one length, for which the order of bytes is that of time, and many times as quick.
    if (isTime) return one < other ? -1 : one > other ? 1 : 0;
    return words.compare(one, other);
  };
  return rows.toSorted((a, b) => (downwards ? -1 : 1) * compare(value(a), value(b)));
}
