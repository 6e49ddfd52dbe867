import { el, emptyMessage, timeAgo } from './dom.js';
import { period, withCommas } from './format.js';
import { sortable } from './table.js';

/** @import { Facts, RouteRow } from './types.js' */

/** The gateway names at most this many routes without a counterpart. */
const maxMissing = 100;

/**
 * The table of the routes that clients of a version use. Each row shows whether the successor has a counterpart.
 * @param {string} version
 */
export function routes(version) {
  /**
   * `missing`: the routes without a counterpart. `failing`: the routes on which every request failed. Its values:
   * whether the contract of this version has the route; null if that is not known.
   * @type {{ missing: ReadonlySet<string>, failing: ReadonlyMap<string, boolean|null>, now: number, successor: string|undefined }}
   */
  let comparison = { missing: new Set(), failing: new Map(), now: 0, successor: undefined };
  const table = sortable(
    `Routes of ${version}`,
    /** @type {import('./table.js').Column<RouteRow>[]} */ ([
      { title: 'Route', sort: ({ route }) => route, cell: ({ route }) => el('code', {}, route) },
      {
        title: 'Requests',
        number: true,
        sort: ({ requests }) => requests,
        cell: ({ requests }) => withCommas(requests),
      },
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
    { sortedBy: 'Requests', keyOf: ({ route }) => route },
  );
  /** A row without a path stands for several routes. @param {string} route */
  const hasPath = (route) => route.includes(' /');
  /**
   * Links to the clients of the route. There is no such list for a route on which every request failed, or for several routes.
   * @param {RouteRow} row
   */
  const clientsOf = ({ route, clients }) => {
    if (!hasPath(route) || comparison.failing.has(route)) return withCommas(clients);
    const query = new URLSearchParams({ by: 'client', version: version.slice(version.startsWith('/') ? 1 : 0), route });
    const title = `The clients that call ${route}, as CSV`;
    return el(
      'a',
      { href: `/api/usage.csv?${query}`, title, 'aria-label': `${withCommas(clients)}: ${title}` },
      withCommas(clients),
    );
  };
  /** @param {string} route */
  const counterpart = (route) => {
    if (comparison.failing.get(route) === false) return el('span', { class: 'soft' }, 'Not in the contract');
    if (comparison.failing.has(route)) return el('span', { class: 'soft' }, 'Every request failed');
    if (comparison.missing.has(route))
      return el('span', { class: 'state bad' }, `No counterpart in ${comparison.successor}`);
    const isKnown = hasPath(route) && comparison.missing.size < maxMissing;
    if (comparison.successor === undefined || !isKnown) return el('span', { class: 'soft' }, '–');
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
    fill(rows, { quiet, routes_without_counterpart: withoutCounterpart, failing_routes: failing, successor }, now) {
      comparison = {
        missing: new Set(withoutCounterpart.map(({ route }) => route)),
        failing: new Map(failing.map((one) => [one.route, one.in_contract])),
        now,
        successor: successor?.version,
      };
      table.root.hidden = rows.length === 0;
      emptyNotice.replaceChildren(
        ...(rows.length === 0 ? [emptyMessage(`No route of ${version} was called in the last ${period(quiet)}.`)] : []),
      );
      const missingCount = rows.filter(({ route }) => comparison.missing.has(route)).length;
      const isComplete = withoutCounterpart.length < maxMissing && rows.every(({ route }) => hasPath(route));
      summary.textContent = '';
      if (successor && missingCount > 0)
        summary.textContent = `${isComplete ? '' : 'At least '}${missingCount} of ${rows.length} routes have no counterpart in ${successor.version}. Their clients need a replacement before they can move.`;
      else if (successor && rows.length > 0 && isComplete)
        summary.textContent = `Every route of ${version} that clients called in the last ${period(quiet)} has a counterpart in ${successor.version}.`;
      table.fill(rows);
    },
  };
}
