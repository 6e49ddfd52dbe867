import { el, emptyMessage, timeAgo } from './dom.js';
import { period } from './format.js';
import { head, row, table, updateRows } from './table.js';

/** @import { Notification, Notify } from './types.js' */

const titles = ['Time', 'Event', 'Webhook', 'Result', 'Next attempt'];

/** The table of the notifications that were sent recently or wait to be sent. `fill` updates the rows. */
export function notificationTable() {
  const body = el('tbody');
  const problem = el('p', { class: 'problem', hidden: true });
  const emptyNotice = emptyMessage('No notification was sent yet.');
  const frame = table(
    'Notifications',
    titles.map((title) => head(title)),
    body,
  );
  return {
    root: el('div', {}, problem, emptyNotice, frame),
    /**
     * @param {Notify} notify
     * @param {number} now
     */
    fill({ problem: reason, recent }, now) {
      problem.hidden = reason === null;
      problem.textContent = reason;
      emptyNotice.hidden = recent.length > 0;
      frame.hidden = recent.length === 0;
      updateRows(
        body,
        recent.map((one, index) => notificationRow(one, index, now)),
      );
    },
  };
}

/**
 * @param {Notification} notification
 * @param {number} index
 * @param {number} now
 */
function notificationRow({ at, type, title, host, state, result, attempts, next_at: next }, index, now) {
  const cells = [
    timeAgo(at, now),
    [title, el('small', {}, ` ${type}`)],
    el('code', { class: 'url' }, host),
    [stateOf(state, result), attempts > 1 && el('small', {}, ` ${attempts} attempts`)],
    next === null ? '–' : nextAttempt(Date.parse(next) - now),
  ];
  return row(
    `${index} ${at} ${title} ${host}`,
    cells.map((content, column) => ({ title: titles[column] ?? '', content })),
  );
}

/**
 * @param {string} state
 * @param {string|null} result
 */
function stateOf(state, result) {
  const detail = result === null ? '' : ` (${result})`;
  if (state === 'sent') return el('span', { class: 'state good' }, `Sent${detail}`);
  if (state === 'failed') return el('span', { class: 'state bad' }, `Given up${detail}`);
  return el('span', { class: 'state between' }, `Waiting${detail}`);
}

/** @param {number} ms */
function nextAttempt(ms) {
  return ms < 1_000 ? 'now' : `in ${period(ms)}`;
}
