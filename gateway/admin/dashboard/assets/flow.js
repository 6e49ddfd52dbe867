import { ask, Refused, usage } from './api.js';
import { place } from './dom.js';
import { segmented } from './segmented.js';
import { ranges, stepOf, traffic } from './traffic.js';
import { trouble } from './trouble.js';

/** @import { Day, Usage } from './shapes.js' */

/** The traffic of all versions, over the time that the reader chose. */
export class Flow {
  #range = '30d';
  #isDrawn = false;
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
    const step = stepOf(range);
    try {
      /** @type {Usage<Day & { version: string }>} */
      const answer = await ask(usage({ by: 'day', step, since: range }));
      // The reader may have chosen another one meanwhile.
      if (range !== this.#range) return;
      this.#remove();
      this.#remove = traffic(target, answer, step);
      if (answer.problem !== null) target.prepend(trouble(answer.problem));
      this.#isDrawn = true;
    } catch (error) {
      // What was known stays while the gateway is away; the head of the page says that it is old.
      if (this.#isDrawn && !(error instanceof Refused)) return;
      this.#isDrawn = false;
      this.#remove();
      this.#remove = () => {};
      target.replaceChildren(trouble(error));
    }
  }
}
