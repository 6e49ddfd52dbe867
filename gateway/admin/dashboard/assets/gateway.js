import { triggers } from './attention.js';
import { el } from './dom.js';
import { ago, count, dateTime, several } from './format.js';

/** @import { Status } from './shapes.js' */

/**
 * The active configuration and the processes.
 * @param {Status} status
 * @param {number} now
 */
export function gateway({ config, workers }, now) {
  return el(
    'dl',
    { class: 'facts' },
    fact('Configuration', `Generation ${count(config.generation)}`, config.fingerprint.slice(0, 12)),
    fact('In effect since', dateTime(Date.parse(config.loaded_at)), triggers[config.trigger] ?? config.trigger),
    fact(
      'Workers',
      several(workers.length, 'process', 'processes'),
      workers.map(({ pid, since }) => `${pid}, started ${ago(since, now)}`).join(' · '),
    ),
  );
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} detail
 */
export function fact(name, value, detail) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, ' ', el('small', {}, detail)));
}
