import { otherClients, type UsageRow } from '../usageRow.ts';

// Clients examined for removal per newcomer. The search continues at the next newcomer, so that no request is slow.
const examinedPerNewcomer = 8;

/** A client that is counted under its own name. */
export interface TrackedClient {
  readonly name: string;
  /** Requests in this hour, plus half of the value of the hour before. */
  seen: number;
  /** The first row since the last batch. Most clients use one route in an hour and need no map. */
  firstRow: UsageRow | undefined;
  /** The other rows since the last batch, by `keyOf`. */
  otherRows: Map<string, UsageRow> | undefined;
}

/**
 * The clients of one version that are counted under their own names, up to a limit. At the limit, a new client replaces
 * a tracked client that has fewer requests. So clients that call only once never replace regular clients, however many they are.
 */
export class TrackedClients {
  byName = new Map<string, TrackedClient>();
  /** The sum of all clients above the limit. */
  readonly others = newClient(otherClients, 0);
  readonly #max: number;
  #sketch: FrequencySketch | undefined;
  /** The place in `byName` where the search for a client to replace continues. */
  #cursor: Iterator<TrackedClient> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** For a name that is not tracked: the client to count it as, and the client that was removed for it. */
  admit(name: string): { readonly client: TrackedClient; readonly replaced?: TrackedClient | undefined } {
    if (this.byName.size < this.#max) return { client: this.#track(name, 0) };
    // Without a place, no client can replace another one, and the table would only take memory.
    if (this.#max === 0) return { client: this.others };
    this.#sketch ??= new FrequencySketch(this.#max);
    const requests = this.#sketch.add(name);
    const replaced = requests > 1 ? this.#clientWithFewerThan(requests) : undefined;
    if (replaced === undefined) return { client: this.others };
    this.byName.delete(replaced.name);
    // The caller counts the current request.
    return { client: this.#track(name, requests - 1), replaced };
  }

  /** Starts a new hour. Clients with more than one request stay tracked, up to half of the limit. */
  startHour(): void {
    const regular = [...this.byName.values()].filter(({ seen }) => seen > 1);
    const maxKept = Math.floor(this.#max / 2);
    if (regular.length > maxKept) regular.sort((a, b) => b.seen - a.seen).length = maxKept;
    this.byName = new Map(regular.map(({ name, seen }) => [name, newClient(name, Math.floor(seen / 2))]));
    this.#cursor = undefined;
    this.#sketch?.clear();
  }

  #track(name: string, seen: number): TrackedClient {
    const client = newClient(name, seen);
    this.byName.set(name, client);
    return client;
  }

  #clientWithFewerThan(requests: number): TrackedClient | undefined {
    for (let examined = 0; examined < examinedPerNewcomer; examined += 1) {
      this.#cursor ??= this.byName.values();
      const { value: client, done } = this.#cursor.next();
      if (done) this.#cursor = undefined;
      else if (client.seen < requests) return client;
    }
    return undefined;
  }
}

type RowKey = Pick<UsageRow, 'route' | 'hour' | 'brownout'>;

/** The client's row for a route, an hour and a brownout since the last batch, if it has one. */
export function findRow(client: TrackedClient, key: RowKey): UsageRow | undefined {
  const { firstRow, otherRows } = client;
  const isFirst = firstRow?.route === key.route && firstRow.hour === key.hour && firstRow.brownout === key.brownout;
  return isFirst ? firstRow : otherRows?.get(keyOf(client, key));
}

export function addRow(client: TrackedClient, row: UsageRow): void {
  if (client.firstRow === undefined) {
    client.firstRow = row;
    return;
  }
  client.otherRows ??= new Map();
  client.otherRows.set(keyOf(client, row), row);
}

// Nearly all rows have the hour of the first one and no brownout: their key is the route alone.
function keyOf({ firstRow }: TrackedClient, { route, hour, brownout }: RowKey): string {
  return hour === firstRow?.hour && brownout === undefined ? route : `${hour} ${brownout ?? ''} ${route}`;
}

/** All rows of the client since the last batch. */
export function allRowsOf({ firstRow, otherRows }: TrackedClient): UsageRow[] {
  return firstRow === undefined ? [] : [firstRow, ...(otherRows?.values() ?? [])];
}

function newClient(name: string, seen: number): TrackedClient {
  return { name, seen, firstRow: undefined, otherRows: undefined };
}

// The table has 2^14 to 2^17 slots of 4 bytes: 64 to 512 KiB.
const minIndexBits = 14;
const maxIndexBits = 17;
// Also the mask of the bits of a slot that hold the count.
const maxCount = 255;

/**
 * Approximate request counts of clients that are not tracked, in a table of fixed size: a new name overwrites the slot of
 * another one. Counts get lost, and in rare cases two names share a count, but a flood of names cannot make the table grow.
 */
class FrequencySketch {
  /** The upper 24 bits hold a part of the name's hash, the lower 8 bits the count. */
  readonly #slots: Uint32Array;

  /** `tracked`: the limit of tracked clients, which the size of the table follows. */
  constructor(tracked: number) {
    const indexBits = Math.ceil(Math.log2(4 * Math.max(1, tracked)));
    this.#slots = new Uint32Array(2 ** Math.min(maxIndexBits, Math.max(minIndexBits, indexBits)));
  }

  /** Counts a request of `name` and returns its requests so far, this one included. */
  add(name: string): number {
    const hash = hashOf(name);
    const slot = hash & (this.#slots.length - 1);
    const hashPart = hash & ~maxCount;
    const slotValue = this.#slots[slot] ?? 0;
    const isSame = (slotValue & ~maxCount) === hashPart;
    const count = isSame ? Math.min(maxCount, (slotValue & maxCount) + 1) : 1;
    this.#slots[slot] = hashPart | count;
    return count;
  }

  clear(): void {
    this.#slots.fill(0);
  }
}

/** FNV-1a, and a final mix so that the low bits depend on all characters. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
