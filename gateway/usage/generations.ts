// Enough for the callers of a busy hour; together at most some megabytes, whatever the callers send.
const maxEntries = 16_384;
const maxCharacters = 2_000_000;

/**
 * A bounded map of short-lived knowledge. What was asked for lately stays: when the young generation is full, it becomes
 * the old one, and the one before that is forgotten. That is a map less to keep in order than a list of recency.
 */
export class Generations {
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #characters = 0;

  get(key: string): string | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.#keep(key, old);
    return old;
  }

  set(key: string, value: string): void {
    // A part of a longer string would keep all of it alive: a path its URL, query included.
    this.#keep(Buffer.from(key, 'latin1').toString('latin1'), value);
  }

  #keep(key: string, value: string): void {
    if (this.#young.size >= maxEntries || this.#characters + key.length > maxCharacters) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = 0;
    }
    this.#young.set(key, value);
    this.#characters += key.length;
  }
}
