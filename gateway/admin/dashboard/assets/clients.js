import { usage } from './api.js';
import { matches, wording } from './callers.js';
import { el, empty } from './dom.js';
import { count } from './format.js';
import { moment } from './moment.js';
import { sortable } from './sortable.js';
import { sparkline } from './sparkline.js';
import { usedRoutes } from './usedRoutes.js';

/** @import { Caller } from './callers.js' */

/**
 * The table of who still calls a version, with a filter over names and states.
 * @param {string} version
 * @param {string|undefined} successor
 */
export function clients(version, successor) {
  /** @type {readonly Caller[]} */
  let all = [];
  let now = 0;
  const words = wording(version, successor);
  const table = sortable(
    `Clients of ${version}`,
    columns(words, () => now),
    1,
    ({ client }) => client,
  );
  const search = el('input', {
    type: 'search',
    id: 'client-filter',
    placeholder: 'Name or part of it',
    autocomplete: 'off',
    spellcheck: 'false',
    input: () => show(),
  });
  const state = el(
    'select',
    { id: 'client-state', change: () => show() },
    el('option', { value: 'here' }, `Still on ${version}`),
    ...Object.entries(words).map(([value, text]) => el('option', { value }, text)),
    el('option', { value: '' }, 'Everybody'),
  );
  const found = el('p', { class: 'soft', role: 'status' });
  const nobody = el('div');
  const doubts = el('div', { class: 'doubts' });
  const show = () => {
    const needle = search.value.trim().toLowerCase();
    const rows = all.filter(
      (one) => `${one.name ?? ''} ${one.client}`.toLowerCase().includes(needle) && matches(one, state.value),
    );
    const share = `${count(rows.length)} of ${count(all.length)}`;
    // A screen reader says it aloud whenever it is set, whether it is another or not.
    if (found.textContent !== share) found.textContent = share;
    table.root.hidden = rows.length === 0;
    nobody.replaceChildren(
      ...(rows.length > 0
        ? []
        : [
            all.some(({ requests }) => requests > 0)
              ? empty('No client matches.')
              : empty(`No call of ${version} is known from the last 30 days.`),
          ]),
    );
    table.fill(rows);
  };
  const csv = usage({ by: 'client', version, since: '30d' }, '/api/usage.csv');
  const root = el(
    'div',
    {},
    doubts,
    el(
      'div',
      { class: 'tools' },
      el('label', { for: 'client-filter', class: 'soft' }, 'Filter'),
      search,
      el('label', { for: 'client-state', class: 'quiet' }, 'State of migration'),
      state,
      found,
      el('a', { href: csv, download: `clients-of-${version}.csv` }, 'Export as CSV'),
    ),
    nobody,
    table.root,
  );
  return {
    root,
    /**
     * @param {readonly Caller[]} callers
     * @param {number} at
     * @param {readonly Node[]} said of them by the ledger itself
     */
    fill(callers, at, said) {
      [all, now] = [callers, at];
      doubts.replaceChildren(...said);
      show();
    },
  };
}

/**
 * @param {Record<string, string>} words
 * @param {() => number} now
 * @returns {import('./sortable.js').Column<Caller>[]}
 */
function columns(words, now) {
  /** @type {Set<string>} */
  const unfolded = new Set();
  return [
    {
      title: 'Client',
      sort: nameOf,
      cell: (one) =>
        el('span', { class: 'client' }, one.name ?? one.client, one.name !== null && el('small', {}, one.client)),
    },
    { title: 'Requests', number: true, sort: ({ requests }) => requests, cell: ({ requests }) => count(requests) },
    {
      title: 'Last seen',
      sort: ({ last }) => (last === null ? 0 : Date.parse(last)),
      number: true,
      cell: ({ last }) => moment(last, now()),
    },
    {
      title: 'Migration',
      sort: ({ state }) => words[state] ?? state,
      cell: ({ state }) => el('span', { class: `state ${state.replace(' ', '-')}` }, words[state] ?? state),
    },
    { title: 'Routes', sort: ({ routes }) => routes, cell: (caller) => usedRoutes(caller, unfolded) },
    { title: 'Errors', number: true, sort: ({ errors }) => errors, cell: ({ errors }) => count(errors) },
    { title: '30 days', cell: ({ days }) => days && sparkline(days, now()) },
  ];
}

/** @param {Caller} caller */
const nameOf = ({ name, client }) => name ?? client;
