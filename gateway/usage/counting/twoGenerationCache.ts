// Enough for the clients of a busy hour. The two limits together bound the memory to some megabytes.
const maxEntries = 16_384;
const maxCharacters = 2_000_000;

/**
 * A bounded map that approximates an LRU cache. When the young generation is full, it becomes the old one, and the
 * previous old one is dropped. Entries that are read move to the young generation. Cheaper than a true LRU order.
 */
export class TwoGenerationCache {
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #characters = 0;

  get(key: string): string | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.#add(key, old);
    return old;
  }

  set(key: string, value: string): void {
    // Copies the key. If it is a slice, such as the path of a URL, V8 would keep the whole string in memory.
    this.#add(Buffer.from(key, 'latin1').toString('latin1'), value);
  }

  #add(key: string, value: string): void {
    if (this.#young.size >= maxEntries || this.#characters + key.length > maxCharacters) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = 0;
    }
    this.#young.set(key, value);
    this.#characters += key.length;
  }
}
