import { el, empty } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { redraw } from './rows.js';

/** @import { Target, VersionStatus } from './shapes.js' */

const heads = ['Backend', 'Version', 'Health', 'In flight', 'Connections', 'Version last served'];

/** Every backend, and how it is. The table stays when its rows change, and with it how far a reader has scrolled it. */
export function targets() {
  const body = el('tbody');
  const table = el(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of backends' },
    el(
      'table',
      {},
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ...heads.map((head, index) =>
            el('th', { scope: 'col', class: index === 3 || index === 4 ? 'number' : '' }, head),
          ),
        ),
      ),
      body,
    ),
  );
  const nothing = empty('No backend is configured.', 'Versions that are tombstones need none.');
  return {
    root: el('div', {}, nothing, table),
    /**
     * @param {readonly VersionStatus[]} versions
     * @param {number} now
     */
    fill(versions, now) {
      const rows = versions.flatMap((version) => version.targets.map((target) => row(version, target, now)));
      nothing.hidden = rows.length > 0;
      table.hidden = rows.length === 0;
      redraw(body, rows);
    },
  };
}

/**
 * @param {VersionStatus} version
 * @param {Target} target
 * @param {number} now
 */
function row({ version, last_served: served }, target, now) {
  return el(
    'tr',
    { 'data-key': `${version} ${target.url}` },
    el('th', { scope: 'row' }, el('code', { class: 'url' }, target.url)),
    el('td', {}, version),
    el('td', {}, health(target, now), lastError(target, now)),
    el('td', { class: 'number' }, count(target.in_flight)),
    el('td', { class: 'number' }, count(target.connections)),
    el('td', {}, moment(served, now)),
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
  return el('span', { class: 'state both' }, left > 0 ? `Left out for ${left} s` : 'Left out');
}
