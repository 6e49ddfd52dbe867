import type { UsageRow } from './batch.ts';
import { Strangers } from './strangers.ts';

/** What the clients of a version are counted as that are too many. */
export const otherClients = 'other clients';

/** Whether this is one client, and not what is counted together. */
export function isTold({ client }: { readonly client: string }): boolean {
  return client !== otherClients;
}

// How many are looked at for one who may go: with each call a few more, so that no call is slow.
const glances = 8;

export interface Caller {
  readonly name: string;
  /** Requests in this hour, and a half of those before. */
  seen: number;
  /** Since the last batch. Most callers use one route in one hour, and need no map. */
  row: UsageRow | undefined;
  rows: Map<string, UsageRow> | undefined;
}

/**
 * The clients of one version that are told apart. When all places are taken, a newcomer gets one as soon as it has called
 * more often than somebody who has a place. So names that call once, however many, keep nobody out who stays.
 */
export class Callers {
  byName = new Map<string, Caller>();
  readonly others = callerNamed(otherClients, 0);
  readonly #max: number;
  #strangers: Strangers | undefined;
  /** Goes round all who have a place. */
  #hand: Iterator<Caller> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** For a name without a place: the caller to count it as, and who has lost a place to it. */
  admit(name: string): { readonly caller: Caller; readonly leaver?: Caller | undefined } {
    if (this.byName.size < this.#max) return { caller: this.#place(name, 0) };
    this.#strangers ??= new Strangers(this.#max);
    const calls = this.#strangers.callOf(name);
    const leaver = calls > 1 ? this.#rarerThan(calls) : undefined;
    if (leaver === undefined) return { caller: this.others };
    this.byName.delete(leaver.name);
    // This call is still to be counted.
    return { caller: this.#place(name, calls - 1), leaver };
  }

  /** Another hour: whoever called more than once keeps a place, in half of them. */
  begin(): void {
    const regular = [...this.byName.values()].filter(({ seen }) => seen > 1);
    const places = Math.floor(this.#max / 2);
    if (regular.length > places) regular.sort((a, b) => b.seen - a.seen).length = places;
    this.byName = new Map(regular.map(({ name, seen }) => [name, callerNamed(name, Math.floor(seen / 2))]));
    this.#hand = undefined;
    this.#strangers?.forget();
  }

  #place(name: string, seen: number): Caller {
    const caller = callerNamed(name, seen);
    this.byName.set(name, caller);
    return caller;
  }

  #rarerThan(calls: number): Caller | undefined {
    for (let glance = 0; glance < glances; glance += 1) {
      this.#hand ??= this.byName.values();
      const { value: caller, done } = this.#hand.next();
      if (done) this.#hand = undefined;
      else if (caller.seen < calls) return caller;
    }
    return undefined;
  }
}

/** The row of a caller for a route in an hour, if there is one since the last batch. */
export function rowOf(caller: Caller, route: string, hour: number): UsageRow | undefined {
  const { row, rows } = caller;
  return row?.route === route && row.hour === hour ? row : rows?.get(keyOf(caller, route, hour));
}

export function keepRow(caller: Caller, row: UsageRow): void {
  if (caller.row === undefined) {
    caller.row = row;
    return;
  }
  caller.rows ??= new Map();
  caller.rows.set(keyOf(caller, row.route, row.hour), row);
}

// Nearly all rows are of one hour: those go by the route alone.
function keyOf({ row }: Caller, route: string, hour: number): string {
  return hour === row?.hour ? route : `${hour} ${route}`;
}

/** What was counted of a caller since the last batch. */
export function rowsOf({ row, rows }: Caller): UsageRow[] {
  return row === undefined ? [] : [row, ...(rows?.values() ?? [])];
}

function callerNamed(name: string, seen: number): Caller {
  return { name, seen, row: undefined, rows: undefined };
}
