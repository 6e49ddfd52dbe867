import { byId, segmented } from './dom.js';
import { dayMs, plural } from './format.js';

/** A period up to now. `since`: the value of the API's parameter; `words`: `last 7 days`. @typedef {{ since: string, ms: number, words: string }} Period */

const urlParameter = 'period';
const defaultSince = '7d';
/** The periods that are always offered. */
const offeredSince = ['24h', '7d', '30d', '365d'];

/**
 * The period of the page, kept in the URL. All numbers that are counted over a period follow it, except the verdict and the trend,
 * whose periods are part of their meaning. Every heading with `data-period` shows the period of the numbers below it: `chosen` is
 * this one.
 */
export class PeriodChoice {
  #since;
  /** False until the user chooses a period: then the page follows the quiet period of the verdict. */
  #isExplicit;
  /** The quiet period of the verdict, ms; 0: not known yet. */
  #quietMs = 0;
  /** Whether hours are counted. The requests to one gateway of a fleet are counted by day. */
  #hasHours;
  #onChange;

  /**
   * @param {string} gateway one gateway of a fleet; '': all
   * @param {(period: Period) => void} onChange
   */
  constructor(gateway, onChange) {
    const fromUrl = new URLSearchParams(location.search).get(urlParameter) ?? '';
    this.#isExplicit = /^[1-9]\d{0,3}d$|^24h$/.test(fromUrl);
    this.#since = this.#isExplicit ? fromUrl : defaultSince;
    this.#hasHours = gateway === '';
    this.#onChange = onChange;
    this.#draw();
  }

  /** @returns {Period} */
  get period() {
    return periodOf(this.#since);
  }

  /** @param {string} gateway one gateway of a fleet; '': all */
  setGateway(gateway) {
    this.#hasHours = gateway === '';
    if (!this.#hasHours && !isWholeDays(this.#since)) this.#since = defaultSince;
    this.#draw();
  }

  /**
   * The quiet period of the verdict. Until the user chooses another one, the page has this period, so that its tables show the
   * clients that the verdict counts. A quiet period below a day is only for tests of a retirement, and is not offered.
   * @param {number} quietMs
   */
  setQuiet(quietMs) {
    if (quietMs === this.#quietMs) return;
    this.#quietMs = quietMs;
    const days = Math.ceil(quietMs / dayMs);
    const before = this.#since;
    if (!this.#isExplicit && quietMs >= dayMs) this.#since = days === 1 && this.#hasHours ? '24h' : `${days}d`;
    this.#draw();
    if (this.#since !== before) this.#onChange(this.period);
  }

  /** @param {string} since */
  #choose(since) {
    this.#since = since;
    this.#isExplicit = true;
    const url = new URL(location.href);
    url.searchParams.set(urlParameter, since);
    history.replaceState(null, '', url);
    showPeriod('chosen', this.period.words);
    this.#onChange(this.period);
  }

  #draw() {
    const quietDays = Math.ceil(this.#quietMs / dayMs);
    const quiet = this.#quietMs > dayMs ? [`${quietDays}d`] : [];
    const offered = [...new Set([...offeredSince, ...quiet, this.#since])]
      .filter((since) => this.#hasHours || isWholeDays(since))
      .sort((a, b) => periodOf(a).ms - periodOf(b).ms);
    const options = offered.map((since) => /** @type {const} */ ([since, periodOf(since).words.replace('last ', '')]));
    byId('period').replaceChildren(segmented('period', 'Period', options, this.#since, (since) => this.#choose(since)));
    showPeriod('chosen', this.period.words);
  }
}

/** @param {string} since */
const isWholeDays = (since) => since.endsWith('d');

/** @param {string} since @returns {Period} */
function periodOf(since) {
  const days = isWholeDays(since) ? Number.parseInt(since, 10) : 1;
  return { since, ms: days * dayMs, words: `last ${plural(days, 'day')}` };
}

/**
 * Writes the words of a period into every heading that has it.
 * @param {string} name the value of `data-period`
 * @param {string} words
 */
export function showPeriod(name, words) {
  for (const heading of document.querySelectorAll(`[data-period="${name}"]`)) heading.textContent = words;
}
