const most = 5;
const span = 60_000;
// More addresses than that within a minute is no operator who mistyped.
const mostAddresses = 10_000;

/** How often each address has shown a wrong token within the last minute. Instants in epoch ms. */
export class Attempts {
  readonly #failed = new Map<string, number[]>();

  /** How long `address` must wait before it may try again, ms; 0: it may now. */
  wait(address: string, now: number): number {
    const recent = this.#recent(address, now);
    const first = recent[recent.length - most];
    return first === undefined ? 0 : first + span - now;
  }

  fail(address: string, now: number): void {
    const recent = this.#recent(address, now);
    const key = network(address);
    this.#failed.delete(key);
    this.#failed.set(key, [...recent, now]);
    const [longestAgo] = this.#failed.keys();
    if (longestAgo !== undefined && this.#failed.size > mostAddresses) this.#failed.delete(longestAgo);
  }

  #recent(address: string, now: number): readonly number[] {
    return (this.#failed.get(network(address)) ?? []).filter((at) => at > now - span);
  }
}

// One host has a whole /64 of IPv6 to call from (RFC 4291 §2.5.4).
function network(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const [start, end] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array<string>(Math.max(0, 8 - start.length - end.length)).fill('0');
  return [...start, ...zeros, ...end].slice(0, 4).join(':');
}
