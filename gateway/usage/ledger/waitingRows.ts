import { addCounts, isSingleClient, otherClients, otherRoute, type UsageBatch, type UsageRow } from '../usageRow.ts';

/** This many rows take up some tens of megabytes. */
const defaultMaxRows = 100_000;

/** Rows that could not be written yet, because the ledger cannot be written, added up. Above `max` rows, further rows are added to `other clients` and `other`. */
export class WaitingRows {
  readonly #max: number;
  readonly #now: () => number;
  readonly #rows = new Map<string, UsageRow>();
  #since: number | undefined;

  constructor(max = defaultMaxRows, now: () => number = Date.now) {
    this.#max = max;
    this.#now = now;
  }

  /** Since when rows have waited without a pause, epoch ms; undefined: none wait. */
  get since(): number | undefined {
    return this.#since;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** At the limit, moves requests to `other clients`. @returns how many it moved */
  keepOrFold(batch: UsageBatch): number {
    let movedRequests = 0;
    if (batch.length > 0) this.#since ??= this.#now();
    for (const row of batch) {
      const waitingRow = this.#rows.get(keyOf(row));
      if (waitingRow) addCounts(waitingRow, row);
      else if (this.#rows.size < this.#max) this.#rows.set(keyOf(row), { ...row });
      else movedRequests += this.#fold(row);
    }
    return movedRequests;
  }

  /** The first `count` rows, and a function that removes them. */
  first(count: number): { readonly rows: UsageBatch; readonly remove: () => void } {
    const entries = [...this.#rows.entries().take(count)];
    return {
      rows: entries.map(([, row]) => row),
      remove: () => {
        for (const [key] of entries) this.#rows.delete(key);
        if (this.#rows.size === 0) this.#since = undefined;
      },
    };
  }

  #fold(row: UsageRow): number {
    const folded = { ...row, client: otherClients, route: otherRoute };
    const waitingRow = this.#rows.get(keyOf(folded));
    if (waitingRow) addCounts(waitingRow, folded);
    else this.#rows.set(keyOf(folded), folded);
    return isSingleClient(row) ? row.requests : 0;
  }
}

function keyOf({ version, client, route, hour, brownout = 0 }: UsageRow): string {
  return `${hour}\0${brownout}\0${version}\0${route}\0${client}`;
}
