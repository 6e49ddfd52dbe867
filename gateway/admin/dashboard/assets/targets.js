import { el, empty } from './dom.js';
import { ago, count } from './format.js';

/** @import { Target, VersionStatus } from './shapes.js' */

/**
 * Every backend, and how it is.
 * @param {readonly VersionStatus[]} versions
 * @param {number} now
 */
export function targets(versions, now) {
  const rows = versions.flatMap((version) => version.targets.map((target) => row(version, target, now)));
  if (rows.length === 0) return empty('No backend is configured.', 'Versions that are tombstones need none.');
  const heads = ['Backend', 'Version', 'Health', 'In flight', 'Connections', 'Version last served'];
  return el(
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
      el('tbody', {}, ...rows),
    ),
  );
}

/**
 * @param {VersionStatus} version
 * @param {Target} target
 * @param {number} now
 */
function row({ version, last_served: served }, target, now) {
  return el(
    'tr',
    {},
    el('th', { scope: 'row' }, el('code', {}, target.url)),
    el('td', {}, version),
    el('td', {}, health(target, now), target.last_error && el('small', {}, target.last_error)),
    el('td', { class: 'number' }, count(target.in_flight)),
    el('td', { class: 'number' }, count(target.connections)),
    el('td', {}, ago(served, now)),
  );
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
