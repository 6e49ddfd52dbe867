import { el } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { sparkline } from './sparkline.js';
import { usedRoutes } from './usedRoutes.js';

/** @import { ClientRow } from './shapes.js' */

/**
 * @param {Record<string, string>} words
 * @param {() => number} now
 * @returns {import('./sortable.js').Column<ClientRow>[]}
 */
export function columns(words, now) {
  /** @type {Set<string>} */
  const unfolded = new Set();
  return [
    {
      title: 'Client',
      name: 'client',
      sort: nameOf,
      cell: (one) =>
        el('span', { class: 'client' }, one.name ?? one.client, one.name !== null && el('small', {}, one.client)),
    },
    {
      title: 'Requests',
      name: 'requests',
      number: true,
      sort: ({ requests }) => requests,
      cell: ({ requests }) => count(requests),
    },
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
    { title: '30 days', cell: ({ days }) => days && sparkline(days, now()) },
  ];
}

/** @param {ClientRow} caller */
const nameOf = ({ name, client }) => name ?? client;
