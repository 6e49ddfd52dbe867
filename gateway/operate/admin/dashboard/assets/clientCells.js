import { colorOf, el, svg, timeAgo } from './dom.js';
import { dayMs, withCommas } from './format.js';

/** @import { Column } from './table.js' */
/** @import { ClientRow } from './types.js' */

/** State of migration → the CSS class of its mark. @type {Record<string, string>} */
const markOf = { moved: 'good', both: 'between', 'went back': 'bad' };

/**
 * @param {Record<string, string>} labels a label for each state of migration
 * @param {boolean} isRetired whether requests get 410
 * @param {() => { now: number, dayCount: number }} shown the time of the rows, and the number of days that they cover
 * @param {(client: ClientRow) => HTMLElement|null} renameButton null where naming a client is not allowed
 * @returns {Column<ClientRow>[]}
 */
export function columns(labels, isRetired, shown, renameButton) {
  /** The clients whose routes are disclosed. @type {Set<string>} */
  const openClients = new Set();
  return [
    {
      title: 'Client',
      name: 'client',
      sort: nameOf,
      cell: (one) =>
        el(
          'span',
          { class: 'client' },
          ...(one.name === null ? clientIdentifier(one.client) : [one.name]),
          renameButton(one),
          one.name !== null && el('small', {}, ...clientIdentifier(one.client)),
        ),
    },
    {
      title: 'Requests',
      name: 'requests',
      number: true,
      sort: ({ requests }) => requests,
      cell: ({ requests }) => withCommas(requests),
    },
    ...(isRetired ? [refusedColumn] : []),
    {
      title: 'Last seen',
      name: 'last',
      sort: ({ last }) => (last === null ? 0 : Date.parse(last)),
      number: true,
      cell: ({ last }) => timeAgo(last, shown().now),
    },
    {
      title: 'Migration',
      name: 'state',
      sort: ({ state = '' }) => labels[state] ?? state,
      cell: ({ state = '' }) => el('span', { class: `state ${markOf[state] ?? ''}` }, labels[state] ?? state),
    },
    {
      title: 'Routes',
      name: 'routes',
      sort: ({ routes }) => routes,
      cell: (caller) => usedRoutes(caller, openClients),
    },
    {
      title: 'Errors',
      name: 'errors',
      number: true,
      sort: ({ errors }) => errors,
      cell: ({ errors }) => withCommas(errors),
    },
    { title: 'By day', cell: ({ version, days }) => days && sparkline(version, days, shown()) },
  ];
}

/** Requests that got 410. @type {Column<ClientRow>} */
const refusedColumn = {
  title: 'Refused',
  name: 'refused',
  number: true,
  sort: (caller) => caller.refused,
  cell: (caller) => withCommas(caller.refused),
};

/** @param {ClientRow} caller */
const nameOf = ({ name, client }) => name ?? client;

/**
 * A label for each state of migration.
 * @param {string} version
 * @param {string|undefined} successor
 * @returns {Record<string, string>}
 */
export function migrationLabels(version, successor) {
  if (successor === undefined) return { stayed: `${version} only`, failing: 'Only errors (4xx)' };
  return {
    stayed: `${version} only`,
    both: `${version} and ${successor}`,
    'went back': `Went back to ${version}`,
    moved: `Moved to ${successor}`,
    'successor only': `${successor} only`,
    failing: 'Only errors (4xx)',
  };
}

// In characters. A tag has 17 with its #, and stays on one line. A longer text has to wrap on a small screen.
const maxUnbrokenLength = 24;

/**
 * The identifier of a client in the ledger, `x-api-key:#4f2a91c07be05d3a`. A line may break after the colon only.
 * @param {string} client
 */
export function clientIdentifier(client) {
  const colon = client.indexOf(':') + 1;
  return [client.slice(0, colon), client.slice(colon)].flatMap((part, index) => [
    index > 0 && colon > 0 && el('wbr'),
    el('span', { class: part.length > maxUnbrokenLength ? '' : 'unbroken' }, part),
  ]);
}

/**
 * The routes that a client uses: the first one, and the others behind a disclosure.
 * @param {ClientRow} caller
 * @param {Set<string>} openClients the clients whose routes are disclosed
 */
function usedRoutes({ client, routes, top_routes: topRoutes }, openClients) {
  const [first] = topRoutes;
  if (!first) return withCommas(routes);
  if (topRoutes.length === 1 && routes <= 1) return el('code', { class: 'path' }, first.route);
  const unlistedCount = routes - topRoutes.length;
  const onToggle = (/** @type {Event} */ { currentTarget }) => {
    if (/** @type {HTMLDetailsElement} */ (currentTarget).open) openClients.add(client);
    else openClients.delete(client);
  };
  return el(
    'details',
    { class: 'routes', open: openClients.has(client), toggle: onToggle },
    el(
      'summary',
      {},
      el('code', { class: 'path' }, first.route),
      ' ',
      el('span', { class: 'soft' }, `+${withCommas(routes - 1)}`),
    ),
    el(
      'ul',
      {},
      ...topRoutes
        .slice(1)
        .map(({ route, requests }) =>
          el('li', {}, el('code', { class: 'path' }, route), ' ', el('span', { class: 'soft' }, withCommas(requests))),
        ),
      unlistedCount > 0 && el('li', { class: 'soft' }, `${withCommas(unlistedCount)} more`),
    ),
  );
}

// The size of a sparkline in pixels.
const [width, height] = [96, 24];

/**
 * The requests per day as a small line chart. It is hidden from screen readers, as the table has the total.
 * @param {string} version
 * @param {readonly { at: string, requests: number }[]} days
 * @param {{ now: number, dayCount: number }} shown
 */
function sparkline(version, days, { now, dayCount }) {
  const today = Math.floor(now / dayMs);
  const counts = Array.from({ length: dayCount }, () => 0);
  for (const { at, requests } of days) {
    const index = dayCount - 1 - (today - Math.floor(Date.parse(at) / dayMs));
    if (index in counts) counts[index] = requests;
  }
  const maxCount = Math.max(1, ...counts);
  // A margin of 2 px at the sides, and of 3 px above and below.
  const points = counts.map((requests, index) => {
    const x = 2 + (index / (dayCount - 1)) * (width - 4);
    const y = height - 3 - (requests / maxCount) * (height - 6);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return svg(
    'svg',
    {
      class: `spark version-${colorOf(version)}`,
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      'aria-hidden': true,
      focusable: 'false',
    },
    svg('polygon', { points: `2,${height - 3} ${points.join(' ')} ${width - 2},${height - 3}` }),
    svg('polyline', { points: points.join(' ') }),
  );
}
