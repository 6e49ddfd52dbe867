/** Tells an operator once that something does not work, and once that it does again. */
export class Outage {
  readonly tell: (notice: string) => void;
  #announced = false;

  constructor(tell: (notice: string) => void) {
    this.tell = tell;
  }

  failed(problem: string): void {
    if (!this.#announced) this.tell(problem);
    this.#announced = true;
  }

  over(words: string): void {
    if (this.#announced) this.tell(words);
    this.#announced = false;
  }
}
