import { el } from './dom.js';
import { ago, count, dateTime, several } from './format.js';

/** @import { Failure, Status } from './shapes.js' */

/** @type {Record<string, string>} */
const triggers = {
  start: 'at the start',
  file: 'after the file changed',
  signal: 'after a signal',
  admin: 'after a call to the admin listener',
};

/**
 * Which configuration is at work, who works, and the last edit that was not taken over.
 * @param {Status} status
 * @param {number} now
 */
export function gateway({ config, workers }, now) {
  return el(
    'div',
    {},
    config.last_failure && failure(config.last_failure),
    config.forced.length > 0 && forced(config.forced),
    el(
      'dl',
      { class: 'facts' },
      fact('Configuration', `Generation ${count(config.generation)}`, config.fingerprint.slice(0, 12)),
      fact('Taken over', dateTime(Date.parse(config.loaded_at)), triggers[config.trigger] ?? config.trigger),
      fact(
        'Workers',
        several(workers.length, 'process', 'processes'),
        workers.map(({ pid, since }) => `${pid}, since ${ago(since, now)}`).join(' · '),
      ),
    ),
  );
}

/** @param {readonly string[]} reasons */
function forced(reasons) {
  return el(
    'div',
    { class: 'problem mild' },
    el('p', {}, el('strong', {}, 'The configuration at work breaks a promise'), ', which `guard.force` allowed:'),
    el('ul', {}, ...reasons.map((reason) => el('li', {}, reason))),
  );
}

/** @param {Failure} failed */
export function failure({ at, trigger, reasons }) {
  return el(
    'div',
    { class: 'problem' },
    el(
      'p',
      {},
      el('strong', {}, 'The last reload was not taken over'),
      ` (${dateTime(Date.parse(at))}, ${triggers[trigger] ?? trigger}). The configuration before it serves on.`,
    ),
    el('ul', {}, ...reasons.map((reason) => el('li', {}, el('code', {}, reason)))),
  );
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} detail
 */
function fact(name, value, detail) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, ' ', el('small', {}, detail)));
}
