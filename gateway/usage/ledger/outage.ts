import { addCounts, isSingleClient, otherClients, otherRoute, type UsageBatch, type UsageRow } from '../usageRow.ts';

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
    return isSingleClient(row) ? row.requests : 0;
  }
}

function keyOf({ version, client, route, hour }: UsageRow): string {
  return `${hour}\0${version}\0${route}\0${client}`;
}

/** Tells an operator once that something does not work, and once that it does again. */
export class OutageNotices {
  readonly tell: (notice: string) => void;
  #announced = false;

  constructor(tell: (notice: string) => void) {
    this.tell = tell;
  }

  failed(problem: string): void {
    if (!this.#announced) this.tell(problem);
    this.#announced = true;
  }

  over(words: string): void {
    if (this.#announced) this.tell(words);
    this.#announced = false;
  }
}

const firstPauseMs = 5_000;
const longestPauseMs = 60_000;

/** When to try again what has failed: at once, then after ever longer pauses, since a full disk stays full for a while. */
export class RetryPause {
  #failures = 0;
  #until = 0;

  /** Instants in epoch ms. */
  isPaused(now: number): boolean {
    // A clock that was set back must not make a pause of years.
    return now < this.#until && this.#until - now <= longestPauseMs;
  }

  failed(now: number): void {
    this.#failures += 1;
    this.#until = this.#failures === 1 ? 0 : now + Math.min(longestPauseMs, firstPauseMs * (this.#failures - 1));
  }

  worked(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}
