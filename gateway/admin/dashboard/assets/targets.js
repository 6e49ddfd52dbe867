import { el, empty } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { redraw } from './rows.js';
import { swatch } from './swatch.js';
import { head, row, table } from './table.js';

/** @import { Target, VersionStatus } from './shapes.js' */

const titles = ['Backend', 'Version', 'Health', 'In flight', 'Connections', 'Version last served'];
const numbers = new Set(['In flight', 'Connections']);

/** Every backend and its health. The table element stays when its rows change, and keeps its scroll position. */
export function targets() {
  const body = el('tbody');
  const frame = table(
    'Backends',
    titles.map((title) => head(title, { number: numbers.has(title) })),
    body,
  );
  const nothing = empty('No backend is configured.');
  return {
    root: el('div', {}, nothing, frame),
    /**
     * @param {readonly VersionStatus[]} versions
     * @param {number} now
     */
    fill(versions, now) {
      const rows = versions.flatMap((version) => version.targets.map((target) => rowOf(version, target, now)));
      nothing.hidden = rows.length > 0;
      frame.hidden = rows.length === 0;
      redraw(body, rows);
    },
  };
}

/**
 * @param {VersionStatus} version
 * @param {Target} target
 * @param {number} now
 */
function rowOf({ version, last_served: served }, target, now) {
  const cells = [
    el('code', { class: 'url' }, target.url),
    [swatch(version), ' ', version],
    [health(target, now), lastError(target, now)],
    count(target.in_flight),
    count(target.connections),
    moment(served, now),
  ];
  return row(
    `${version} ${target.url}`,
    cells.map((content, index) => {
      const title = titles[index] ?? '';
      return { title, number: numbers.has(title), content };
    }),
  );
}

/**
 * @param {Target} target
 * @param {number} now
 */
function lastError({ last_error: error, last_error_at: at = null }, now) {
  return error && el('small', {}, error, at !== null && ' · ', at !== null && moment(at, now));
}

/**
 * @param {Target} target
 * @param {number} now
 */
function health({ health: state, reachable, ejected_until: until }, now) {
  if (reachable === false) return el('span', { class: 'state went-back' }, 'Unreachable');
  if (state === 'healthy') return el('span', { class: 'state moved' }, 'Healthy');
  if (state === 'unhealthy') return el('span', { class: 'state went-back' }, 'Unhealthy');
  const left = until === null ? 0 : Math.max(0, Math.ceil((Date.parse(until) - now) / 1_000));
  return el('span', { class: 'state both' }, left > 0 ? `Ejected for ${left} s` : 'Ejected');
}
