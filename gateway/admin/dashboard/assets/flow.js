import { ask, Refused, usage } from './api.js';
import { place } from './dom.js';
import { Latest, ledgerPatience } from './latest.js';
import { Retry } from './retry.js';
import { segmented } from './segmented.js';
import { ranges, stepOf, traffic } from './traffic.js';
import { trouble } from './trouble.js';

/** @import { Day, Usage } from './shapes.js' */

/** The traffic of all versions over the chosen period. */
export class Flow {
  #range = '30d';
  /** The range that the chart shows; '': there is none. */
  #drawn = '';
  #latest = new Latest(ledgerPatience);
  #retry = new Retry(() => void this.refresh());
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
    // The pointer reads a value from the chart: do not redraw it now.
    if (range === this.#drawn && target.querySelector('.u-over:hover')) return;
    try {
      /** @type {Usage<Day & { version: string }>} */
      const answer = await ask(usage({ by: 'day', step, since: range }), question.signal);
      if (question.isOver) return;
      this.#remove();
      this.#remove = traffic(target, answer, step);
      this.#drawn = range;
      this.#retry.worked();
    } catch (error) {
      if (question.isOver) return;
      this.#retry.failed(error);
      // Old figures stay while the gateway does not answer; the head of the page says that they are old.
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
