import type { UsageBatch, UsageRow } from './batch.ts';
import { isTold, otherClients } from './callers.ts';
import { addCounts } from './counts.ts';
import { otherRoute } from './routeNames.ts';

/** Some tens of megabytes. */
const maxHeld = 100_000;
/** A fraction of a second, in which nothing else happens, once they can be written. */
export const maxHeldAtATime = 10_000;

/** Rows that could not be written yet, added up. Beyond `max` of them clients and routes are no longer told apart. */
export class HeldRows {
  readonly #max: number;
  readonly #rows = new Map<string, UsageRow>();

  constructor(max = maxHeld) {
    this.#max = max;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** @returns how many requests of clients are counted as those of others from now on */
  hold(batch: UsageBatch): number {
    let requests = 0;
    for (const row of batch) {
      const known = this.#rows.get(keyOf(row));
      if (known) addCounts(known, row);
      else if (this.#rows.size < this.#max) this.#rows.set(keyOf(row), { ...row });
      else requests += this.#fold(row);
    }
    return requests;
  }

  /** At most `count` of them, and the way to forget them. */
  first(count: number): { readonly rows: UsageBatch; readonly forget: () => void } {
    const entries = [...this.#rows.entries().take(count)];
    return {
      rows: entries.map(([, row]) => row),
      forget: () => {
        for (const [key] of entries) this.#rows.delete(key);
      },
    };
  }

  #fold(row: UsageRow): number {
    const folded = { ...row, client: otherClients, route: otherRoute };
    const known = this.#rows.get(keyOf(folded));
    if (known) addCounts(known, folded);
    else this.#rows.set(keyOf(folded), folded);
    return isTold(row) ? row.requests : 0;
  }
}

function keyOf({ version, client, route, hour }: UsageRow): string {
  return `${hour}\0${version}\0${route}\0${client}`;
}
