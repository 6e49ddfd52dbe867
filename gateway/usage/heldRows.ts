import type { UsageBatch, UsageRow } from './batch.ts';
import { otherClients } from './callers.ts';
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

  hold(batch: UsageBatch): void {
    for (const row of batch) {
      const known = this.#rows.get(keyOf(row));
      if (known) addCounts(known, row);
      else if (this.#rows.size < this.#max) this.#rows.set(keyOf(row), { ...row });
      else this.#fold(row);
    }
  }

  /** At most `count` of them, and the way to forget them. */
  first(count: number): { readonly rows: UsageBatch; readonly forget: () => void } {
    const entries = [...this.#rows.entries()].slice(0, count);
    return {
      rows: entries.map(([, row]) => row),
      forget: () => {
        for (const [key] of entries) this.#rows.delete(key);
      },
    };
  }

  #fold(row: UsageRow): void {
    const folded = { ...row, client: otherClients, route: otherRoute };
    const known = this.#rows.get(keyOf(folded));
    if (known) addCounts(known, folded);
    else this.#rows.set(keyOf(folded), folded);
  }
}

function keyOf({ version, client, route, hour }: UsageRow): string {
  return `${hour}\0${version}\0${route}\0${client}`;
}
