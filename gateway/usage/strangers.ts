// Between 64 and 512 KiB.
const fewestBits = 14;
const mostBits = 17;
const mostCalls = 255;

/**
 * How often names have called that are not told apart, in a table of one size: a name that is new there may take the
 * place of another one. It forgets some, and very rarely takes one for another, but a flood of names cannot make it grow.
 */
export class Strangers {
  /** A part of the name's hash, and below it in eight bits the calls. */
  readonly #slots: Uint32Array;

  /** `places`: how many clients are told apart besides. */
  constructor(places: number) {
    const bits = Math.ceil(Math.log2(4 * Math.max(1, places)));
    this.#slots = new Uint32Array(2 ** Math.min(mostBits, Math.max(fewestBits, bits)));
  }

  /** How often `name` has called, this time included. */
  callOf(name: string): number {
    const hash = hashOf(name);
    const slot = hash & (this.#slots.length - 1);
    const mark = hash & ~mostCalls;
    const known = this.#slots[slot] ?? 0;
    const isSame = (known & ~mostCalls) === mark;
    const calls = isSame ? Math.min(mostCalls, (known & mostCalls) + 1) : 1;
    this.#slots[slot] = mark | calls;
    return calls;
  }

  forget(): void {
    this.#slots.fill(0);
  }
}

/** FNV-1a, and a last stir so that the low bits depend on all characters. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
