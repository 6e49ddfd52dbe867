import { el, empty, timeAgo } from './dom.js';
import { count } from './format.js';
import { sortable } from './table.js';

/** @import { Facts, RouteRow } from './types.js' */

/**
 * The table of the routes of a version that are in use, and whether its successor has them.
 * @param {string} version
 */
export function routes(version) {
  /** @type {{ missing: ReadonlySet<string>, failing: ReadonlyMap<string, boolean|null>, now: number, successor: string|undefined }} */
  let facts = { missing: new Set(), failing: new Map(), now: 0, successor: undefined };
  const table = sortable(
    `Routes of ${version}`,
    /** @type {import('./table.js').Column<RouteRow>[]} */ ([
      { title: 'Route', sort: ({ route }) => route, cell: ({ route }) => el('code', {}, route) },
      { title: 'Requests', number: true, sort: ({ requests }) => requests, cell: ({ requests }) => count(requests) },
      { title: 'Clients', number: true, sort: ({ clients }) => clients, cell: ({ clients }) => count(clients) },
      {
        title: 'Last seen',
        number: true,
        sort: ({ last }) => Date.parse(last),
        cell: ({ last }) => timeAgo(last, facts.now),
      },
      {
        title: 'In the successor',
        sort: ({ route }) => (facts.missing.has(route) ? 1 : 0),
        number: false,
        cell: ({ route }) => counterpart(route),
      },
    ]),
    1,
    ({ route }) => route,
  );
  /** @param {string} route */
  const counterpart = (route) => {
    if (facts.failing.get(route) === false) return el('span', { class: 'soft' }, 'Not in the contract');
    if (facts.failing.has(route)) return el('span', { class: 'soft' }, 'Only answered with errors');
    if (facts.successor === undefined) return el('span', { class: 'soft' }, '–');
    if (facts.missing.has(route))
      return el('span', { class: 'state went-back' }, `No counterpart in ${facts.successor}`);
    return el('span', { class: 'soft' }, 'Has a counterpart');
  };
  const emptyNotice = el('div');
  const summary = el('p', { class: 'soft' });
  return {
    root: el('div', {}, emptyNotice, summary, table.root),
    /**
     * @param {readonly RouteRow[]} rows
     * @param {Facts} verdictFacts
     * @param {number} now
     */
    fill(rows, { routes_without_counterpart: withoutCounterpart, failing_routes: failing, successor }, now) {
      facts = {
        missing: new Set(withoutCounterpart.map(({ route }) => route)),
        failing: new Map(failing.map((one) => [one.route, one.in_contract])),
        now,
        successor: successor?.version,
      };
      table.root.hidden = rows.length === 0;
      emptyNotice.replaceChildren(
        ...(rows.length === 0 ? [empty(`No route of ${version} was called in the last 30 days.`)] : []),
      );
      const missing = rows.filter(({ route }) => facts.missing.has(route)).length;
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
