interface Part {
  bytes: number;
  readonly lines: number;
}

/** How many lines are on their way, in parts that are written in their order, a number of bytes at a time. */
export class Unwritten {
  #parts: Part[] = [];

  add(bytes: number, lines: number): void {
    this.#parts.push({ bytes, lines });
  }

  /** The part that was added last is not on its way after all: how many lines that were. */
  takeLast(): number {
    return this.#parts.pop()?.lines ?? 0;
  }

  /** None of them is: how many lines that were. */
  takeAll(): number {
    const parts = this.#parts;
    this.#parts = [];
    return parts.reduce((sum, { lines }) => sum + lines, 0);
  }

  wrote(bytes: number): void {
    let left = bytes;
    for (let [part] = this.#parts; part && left > 0; [part] = this.#parts) {
      const taken = Math.min(left, part.bytes);
      left -= taken;
      part.bytes -= taken;
      if (part.bytes === 0) this.#parts.shift();
    }
  }
}
