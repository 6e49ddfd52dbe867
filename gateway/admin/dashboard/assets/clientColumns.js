import { clientName } from './clientName.js';
import { el } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { sparkline } from './sparkline.js';
import { usedRoutes } from './usedRoutes.js';

/** @import { ClientRow } from './shapes.js' */

/**
 * @param {Record<string, string>} words how each state of migration is called
 * @param {boolean} isRetired whether the requests are refused
 * @param {() => number} now
 * @param {(client: ClientRow) => HTMLElement|null} rename
 * @returns {import('./sortable.js').Column<ClientRow>[]}
 */
export function columns(words, isRetired, now, rename) {
  /** @type {Set<string>} */
  const unfolded = new Set();
  return [
    {
      title: 'Client',
      name: 'client',
      sort: nameOf,
      cell: (one) =>
        el(
          'span',
          { class: 'client' },
          ...(one.name === null ? clientName(one.client) : [one.name]),
          rename(one),
          one.name !== null && el('small', {}, ...clientName(one.client)),
        ),
    },
    {
      title: 'Requests',
      name: 'requests',
      number: true,
      sort: ({ requests }) => requests,
      cell: ({ requests }) => count(requests),
    },
    ...(isRetired ? [refused] : []),
    {
      title: 'Last seen',
      name: 'last',
      sort: ({ last }) => (last === null ? 0 : Date.parse(last)),
      number: true,
      cell: ({ last }) => moment(last, now()),
    },
    {
      title: 'Migration',
      name: 'state',
      sort: ({ state = '' }) => words[state] ?? state,
      cell: ({ state = '' }) => el('span', { class: `state ${state.replace(' ', '-')}` }, words[state] ?? state),
    },
    { title: 'Routes', name: 'routes', sort: ({ routes }) => routes, cell: (caller) => usedRoutes(caller, unfolded) },
    {
      title: 'Errors',
      name: 'errors',
      number: true,
      sort: ({ errors }) => errors,
      cell: ({ errors }) => count(errors),
    },
    { title: '30 days', cell: ({ version, days }) => days && sparkline(version, days, now()) },
  ];
}

/** Requests that were answered with 410. @type {import('./sortable.js').Column<ClientRow>} */
const refused = {
  title: 'Refused',
  name: 'refused',
  number: true,
  sort: (caller) => caller.refused,
  cell: (caller) => count(caller.refused),
};

/** @param {ClientRow} caller */
const nameOf = ({ name, client }) => name ?? client;
