const most = 5;
const span = 60_000;
// More addresses than that within a minute is no operator who mistyped.
const mostAddresses = 10_000;

/**
 * How often each address has shown a wrong token within the last minute, in a form or as a bearer. Instants in epoch ms.
 * Whoever shows too many is not believed the right one either, else the limit would limit no guessing. But an address
 * that has shown the right one before is always believed: who guesses beside a scraper must not be able to lock it out.
 */
export class Attempts {
  readonly #failed = new Map<string, number[]>();
  /** The token that each address has last shown rightly: a new one is to be shown anew. */
  readonly #vouched = new Map<string, string>();

  /** How long `address` must wait before it may try again, ms; 0: it may now. */
  wait(address: string, now: number): number {
    const recent = this.#recent(address, now);
    const first = recent[recent.length - most];
    return first === undefined ? 0 : first + span - now;
  }

  /** Whether `token`, the right one, counts when `address` shows it. */
  believes(address: string, token: string, now: number): boolean {
    return this.#vouched.get(network(address)) === token || this.wait(address, now) === 0;
  }

  succeed(address: string, token: string): void {
    keep(this.#vouched, network(address), token);
  }

  /** One that has to wait has no further attempt to lose: it waits a minute at most. */
  fail(address: string, now: number): void {
    if (this.wait(address, now) === 0) keep(this.#failed, network(address), [...this.#recent(address, now), now]);
  }

  #recent(address: string, now: number): readonly number[] {
    return (this.#failed.get(network(address)) ?? []).filter((at) => at > now - span);
  }
}

/** The last ones that were kept stay. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [longestAgo] = map.keys();
  if (longestAgo !== undefined && map.size > mostAddresses) map.delete(longestAgo);
}

// One host has a whole /64 of IPv6 to call from (RFC 4291 §2.5.4).
function network(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const [start, end] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array<string>(Math.max(0, 8 - start.length - end.length)).fill('0');
  return [...start, ...zeros, ...end].slice(0, 4).join(':');
}
