import { el, emptyMessage, timeAgo } from './dom.js';
import { grouped } from './format.js';
import { sortable } from './table.js';

/** @import { Facts, RouteRow } from './types.js' */

/**
 * The table of the routes that clients of a version use. Each row shows whether the successor has a counterpart.
 * @param {string} version
 */
export function routes(version) {
  /**
   * `missing`: the routes without a counterpart. `failing`: the routes on which every request failed. The value of a route is true
   * if the contract of this version has it; null if that is not known.
   * @type {{ missing: ReadonlySet<string>, failing: ReadonlyMap<string, boolean|null>, now: number, successor: string|undefined }}
   */
  let comparison = { missing: new Set(), failing: new Map(), now: 0, successor: undefined };
  const table = sortable(
    `Routes of ${version}`,
    /** @type {import('./table.js').Column<RouteRow>[]} */ ([
      { title: 'Route', sort: ({ route }) => route, cell: ({ route }) => el('code', {}, route) },
      { title: 'Requests', number: true, sort: ({ requests }) => requests, cell: ({ requests }) => grouped(requests) },
      { title: 'Clients', number: true, sort: ({ clients }) => clients, cell: (row) => clientsOf(row) },
      {
        title: 'Last seen',
        number: true,
        sort: ({ last }) => Date.parse(last),
        cell: ({ last }) => timeAgo(last, comparison.now),
      },
      {
        title: 'In the successor',
        sort: ({ route }) => (comparison.missing.has(route) ? 1 : 0),
        number: false,
        cell: ({ route }) => counterpart(route),
      },
    ]),
    1,
    ({ route }) => route,
  );
  /**
   * Links to the clients of the route. There is no such list for a route on which every request failed, or for a row that stands
   * for several routes.
   * @param {RouteRow} row
   */
  const clientsOf = ({ route, clients }) => {
    if (!route.includes(' /') || comparison.failing.has(route)) return grouped(clients);
    const query = new URLSearchParams({ by: 'client', version: version.slice(version.startsWith('/') ? 1 : 0), route });
    const title = `The clients that call ${route}, as CSV`;
    return el(
      'a',
      { href: `/api/usage.csv?${query}`, title, 'aria-label': `${grouped(clients)}: ${title}` },
      grouped(clients),
    );
  };
  /** @param {string} route */
  const counterpart = (route) => {
    if (comparison.failing.get(route) === false) return el('span', { class: 'soft' }, 'Not in the contract');
    if (comparison.failing.has(route)) return el('span', { class: 'soft' }, 'Every request failed');
    if (comparison.successor === undefined) return el('span', { class: 'soft' }, '–');
    if (comparison.missing.has(route))
      return el('span', { class: 'state went-back' }, `No counterpart in ${comparison.successor}`);
    return el('span', { class: 'soft' }, 'Has a counterpart');
  };
  const emptyNotice = el('div');
  const summary = el('p', { class: 'soft' });
  return {
    root: el('div', {}, emptyNotice, summary, table.root),
    /**
     * @param {readonly RouteRow[]} rows
     * @param {Facts} facts
     * @param {number} now
     */
    fill(rows, { routes_without_counterpart: withoutCounterpart, failing_routes: failing, successor }, now) {
      comparison = {
        missing: new Set(withoutCounterpart.map(({ route }) => route)),
        failing: new Map(failing.map((one) => [one.route, one.in_contract])),
        now,
        successor: successor?.version,
      };
      table.root.hidden = rows.length === 0;
      emptyNotice.replaceChildren(
        ...(rows.length === 0 ? [emptyMessage(`No route of ${version} was called in the last 30 days.`)] : []),
      );
      const missingCount = rows.filter(({ route }) => comparison.missing.has(route)).length;
      summary.textContent =
        rows.length === 0 || !successor
          ? ''
          : missingCount === 0
            ? `Every route of ${version} that clients use has a counterpart in ${successor.version}.`
            : `${missingCount} of ${rows.length} routes have no counterpart in ${successor.version}. Their clients need a replacement before they can move.`;
      table.fill(rows);
    },
  };
}
