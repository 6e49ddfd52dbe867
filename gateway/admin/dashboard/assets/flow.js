import { ask, Refused, usage } from './api.js';
import { place } from './dom.js';
import { Latest } from './latest.js';
import { segmented } from './segmented.js';
import { ranges, stepOf, traffic } from './traffic.js';
import { trouble } from './trouble.js';

/** @import { Day, Usage } from './shapes.js' */

/** The traffic of all versions, over the time that the reader chose. */
export class Flow {
  #range = '30d';
  /** The range that the chart shows; '': there is none. */
  #drawn = '';
  #latest = new Latest();
  #remove = () => {};

  constructor() {
    place('range').replaceChildren(
      segmented('range', 'Time', ranges, this.#range, (range) => {
        this.#range = range;
        void this.refresh();
      }),
    );
  }

  async refresh() {
    const [range, target] = [this.#range, place('traffic')];
    const question = this.#latest.begin();
    const step = stepOf(range);
    target.ariaBusy = String(range !== this.#drawn);
    // Not under the pointer of who reads a value off it.
    if (range === this.#drawn && target.querySelector('.u-over:hover')) return;
    try {
      /** @type {Usage<Day & { version: string }>} */
      const answer = await ask(usage({ by: 'day', step, since: range }), question.signal);
      if (question.isOver) return;
      this.#remove();
      this.#remove = traffic(target, answer, step);
      this.#drawn = range;
    } catch (error) {
      if (question.isOver) return;
      // What was known stays while the gateway is away; the head of the page says that it is old.
      if (this.#drawn === range && !(error instanceof Refused)) return;
      this.#drawn = '';
      this.#remove();
      this.#remove = () => {};
      target.replaceChildren(trouble(error));
    } finally {
      if (!question.isOver) target.ariaBusy = 'false';
    }
  }
}
