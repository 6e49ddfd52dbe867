/** The JSON of a value up to a length. A value may be far longer than anybody wants to read, and hold itself. */
export function cutJson(value: unknown, longest: number): { readonly text: string; readonly isCut: boolean } {
  const written = new Writing(longest);
  written.value(value);
  return { text: written.text.slice(0, longest), isCut: written.isFull };
}

class Writing {
  text = '';
  readonly #longest: number;

  constructor(longest: number) {
    this.#longest = longest;
  }

  get isFull(): boolean {
    return this.text.length > this.#longest;
  }

  // Each level writes at least a bracket, so that it never goes deeper than the length allows.
  value(value: unknown): void {
    if (this.isFull) return;
    if (Array.isArray(value)) this.#all('[', value, (item) => this.value(item), ']');
    else if (typeof value === 'object' && value !== null) this.#map(value as Record<string, unknown>);
    else if (typeof value === 'string') this.#string(value);
    else this.text += JSON.stringify(value) ?? 'null';
  }

  #map(map: Record<string, unknown>): void {
    const pair = (key: string): void => {
      this.#string(key);
      this.text += ':';
      this.value(map[key]);
    };
    this.#all('{', Object.keys(map), pair, '}');
  }

  #all<T>(open: string, items: readonly T[], write: (item: T) => void, close: string): void {
    this.text += open;
    for (const [index, item] of items.entries()) {
      if (this.isFull) return;
      if (index > 0) this.text += ',';
      write(item);
    }
    this.text += close;
  }

  #string(text: string): void {
    this.text += JSON.stringify(text.length > this.#longest ? text.slice(0, this.#longest + 1) : text);
  }
}
