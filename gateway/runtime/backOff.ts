const firstMs = 100;
const mostMs = 10_000;
// Who has lived that long did not die of its start.
const settledMs = 10_000;

/** How long to wait before another try: twice as long with every quick death in a row. */
export class BackOff {
  #deaths = 0;

  /** The delay in ms after a death at the age of `lived` ms. */
  after(lived: number): number {
    this.#deaths = lived >= settledMs ? 0 : this.#deaths + 1;
    return this.#deaths === 0 ? 0 : Math.min(mostMs, firstMs * 2 ** (this.#deaths - 1));
  }
}
