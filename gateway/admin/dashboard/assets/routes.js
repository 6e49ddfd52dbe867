import { el, empty } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { sortable } from './sortable.js';

/** @import { Facts, RouteRow } from './shapes.js' */

/**
 * The routes of a version that are in use, and whether its successor has them.
 * @param {string} version
 */
export function routes(version) {
  /** @type {{ missing: ReadonlySet<string>, failing: ReadonlyMap<string, boolean|null>, now: number, successor: string|undefined }} */
  let known = { missing: new Set(), failing: new Map(), now: 0, successor: undefined };
  const table = sortable(
    `Routes of ${version}`,
    /** @type {import('./sortable.js').Column<RouteRow>[]} */ ([
      { title: 'Route', sort: ({ route }) => route, cell: ({ route }) => el('code', {}, route) },
      { title: 'Requests', number: true, sort: ({ requests }) => requests, cell: ({ requests }) => count(requests) },
      { title: 'Clients', number: true, sort: ({ clients }) => clients, cell: ({ clients }) => count(clients) },
      {
        title: 'Last seen',
        number: true,
        sort: ({ last }) => Date.parse(last),
        cell: ({ last }) => moment(last, known.now),
      },
      {
        title: 'In the successor',
        sort: ({ route }) => (known.missing.has(route) ? 1 : 0),
        number: false,
        cell: ({ route }) => counterpart(route),
      },
    ]),
    1,
    ({ route }) => route,
  );
  /** @param {string} route */
  const counterpart = (route) => {
    if (known.failing.get(route) === false) return el('span', { class: 'soft' }, 'Not in the contract');
    if (known.failing.has(route)) return el('span', { class: 'soft' }, 'Only answered with errors');
    if (known.successor === undefined) return el('span', { class: 'soft' }, '–');
    if (known.missing.has(route))
      return el('span', { class: 'state went-back' }, `No counterpart in ${known.successor}`);
    return el('span', { class: 'soft' }, 'Has a counterpart');
  };
  const nothing = el('div');
  const summary = el('p', { class: 'soft' });
  return {
    root: el('div', {}, nothing, summary, table.root),
    /**
     * @param {readonly RouteRow[]} rows
     * @param {Facts} facts
     * @param {number} now
     */
    fill(rows, { routes_without_counterpart: lacking, failing_routes: failing, successor }, now) {
      known = {
        missing: new Set(lacking.map(({ route }) => route)),
        failing: new Map(failing.map((one) => [one.route, one.in_contract])),
        now,
        successor: successor?.version,
      };
      table.root.hidden = rows.length === 0;
      nothing.replaceChildren(
        ...(rows.length === 0 ? [empty(`No route of ${version} was called in the last 30 days.`)] : []),
      );
      const missing = rows.filter(({ route }) => known.missing.has(route)).length;
      summary.textContent =
        rows.length === 0 || !successor
          ? ''
          : missing === 0
            ? `All routes that ${version} serves exist in ${successor.version}.`
            : `${missing} of ${rows.length} have no counterpart in ${successor.version}. Clients that use them need a replacement before they can move.`;
      table.fill(rows);
    },
  };
}
