import { el, emptyMessage, timeAgo } from './dom.js';
import { plural, withCommas } from './format.js';
import { sortable } from './table.js';

/** @import { Period } from './periodChoice.js' */
/** @import { Facts, RouteRow } from './types.js' */

/** The gateway names at most this many routes without a counterpart. */
const maxMissing = 100;

/**
 * The table of the routes that clients of a version use. Each row shows whether the successor has a counterpart.
 * @param {string} version
 */
export function routes(version) {
  /**
   * `missing`: the routes without a counterpart. `observed`: the routes that the successor was seen to lack, with the status of its
   * answers. `notKnown`: the routes whose counterpart no contract lists. `failing`: the routes on which every request failed. Its
   * values: whether the contract of this version has the route; null if that is not known. `comparedSince`: routes that were last
   * called before this time were not compared. `since`: the period of the page.
   * @type {{ missing: ReadonlySet<string>, observed: ReadonlyMap<string, number>, notKnown: ReadonlySet<string>, failing: ReadonlyMap<string, boolean|null>, comparedSince: number, since: string, now: number, successor: string|undefined }}
   */
  let comparison = {
    missing: new Set(),
    observed: new Map(),
    notKnown: new Set(),
    failing: new Map(),
    comparedSince: 0,
    since: '',
    now: 0,
    successor: undefined,
  };
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
        sort: ({ route }) => (isMissing(route) ? 2 : comparison.notKnown.has(route) ? 1 : 0),
        number: false,
        cell: (row) => counterpart(row),
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
    const query = new URLSearchParams({
      by: 'client',
      version: version.slice(version.startsWith('/') ? 1 : 0),
      route,
      since: comparison.since,
    });
    const title = `The clients that call ${route}, as CSV`;
    return el(
      'a',
      { href: `/api/usage.csv?${query}`, title, 'aria-label': `${withCommas(clients)}: ${title}` },
      withCommas(clients),
    );
  };
  /** @param {string} route */
  const isMissing = (route) => comparison.missing.has(route) || comparison.observed.has(route);
  /** @param {RouteRow} row */
  const isCompared = ({ route, last }) => hasPath(route) && Date.parse(last) >= comparison.comparedSince;
  /** @param {RouteRow} row */
  const counterpart = (row) => {
    const { route } = row;
    if (comparison.failing.get(route) === false) return el('span', { class: 'soft' }, 'Not in the contract');
    if (comparison.failing.has(route)) return el('span', { class: 'soft' }, 'Every request failed');
    if (comparison.missing.has(route))
      return el('span', { class: 'state bad' }, `No counterpart in ${comparison.successor}`);
    const status = comparison.observed.get(route);
    if (status !== undefined)
      return el(
        'span',
        { class: 'state bad' },
        `${comparison.successor} answers ${status}, so responses do not link to it`,
      );
    if (comparison.notKnown.has(route)) return el('span', { class: 'soft' }, 'Not known (no contract)');
    const areListsComplete = [comparison.missing, comparison.observed, comparison.notKnown].every(
      ({ size }) => size < maxMissing,
    );
    const isKnown = isCompared(row) && areListsComplete;
    if (comparison.successor === undefined || !isKnown) return el('span', { class: 'soft' }, '–');
    return el('span', { class: 'soft' }, 'Has a counterpart');
  };
  /**
   * @param {readonly RouteRow[]} rows
   * @param {string} successor
   * @param {string} period `last 7 days`
   */
  const summaryOf = (rows, successor, period) => {
    const missingCount = rows.filter(({ route }) => isMissing(route)).length;
    const notKnownCount = rows.filter(({ route }) => comparison.notKnown.has(route)).length;
    const { missing, observed, notKnown } = comparison;
    const isComplete = missing.size + observed.size < maxMissing && rows.every(isCompared);
    const sentences = [];
    if (missingCount > 0)
      sentences.push(
        `${isComplete ? '' : 'At least '}${missingCount} of ${plural(rows.length, 'route')} in the ${period} have no counterpart in ${successor}. Their clients need a replacement before they can move.`,
      );
    if (notKnownCount > 0)
      sentences.push(
        `It is not known whether ${successor} has ${notKnownCount === rows.length ? 'these routes' : `${notKnownCount} of these routes in the ${period}`}: contracts of both versions, or rows under moved, would tell.`,
      );
    const areAllKnown = rows.length > 0 && isComplete && notKnown.size === 0;
    if (sentences.length === 0 && areAllKnown)
      sentences.push(
        `Every route of ${version} that clients called in the ${period} has a counterpart in ${successor}.`,
      );
    return sentences.join(' ');
  };
  const emptyNotice = el('div');
  const summary = el('p', { class: 'soft' });
  return {
    root: el('div', {}, emptyNotice, summary, table.root),
    /**
     * @param {readonly RouteRow[]} rows
     * @param {Facts} facts
     * @param {number} now
     * @param {Period} period
     */
    fill(rows, facts, now, period) {
      const { failing_routes: failing, successor } = facts;
      const { routes_missing_in_successor: observed = [], routes_with_unknown_counterpart: notKnown = [] } = facts;
      comparison = {
        missing: new Set(facts.routes_without_counterpart.map(({ route }) => route)),
        observed: new Map(observed.map(({ route, status }) => [route, status])),
        notKnown: new Set(notKnown.map(({ route }) => route)),
        failing: new Map(failing.map((one) => [one.route, one.in_contract])),
        comparedSince: Date.parse(facts.since),
        since: period.since,
        now,
        successor: successor?.version,
      };
      table.root.hidden = rows.length === 0;
      emptyNotice.replaceChildren(
        ...(rows.length === 0 ? [emptyMessage(`No route of ${version} was called in the ${period.words}.`)] : []),
      );
      summary.textContent = successor ? summaryOf(rows, successor.version, period.words) : '';
      table.fill(rows);
    },
  };
}
