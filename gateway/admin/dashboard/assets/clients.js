import { usage } from './api.js';
import { columns } from './clientColumns.js';
import { el, empty } from './dom.js';
import { count } from './format.js';
import { sortable } from './sortable.js';
import { wording } from './wording.js';

/** @import { ClientRow, Usage } from './shapes.js' */

/** How long to wait for the next letter before the gateway is asked, ms. */
const pause = 250;

/**
 * The table of clients that call a version, with a filter over names and states. There may be many thousands: the
 * gateway filters and sorts them, and one page at a time is drawn.
 * @param {string} version
 * @param {string|undefined} successor
 * @param {boolean} isRetired
 * @param {() => void} changed another page of them is wanted
 * @param {(client: ClientRow) => HTMLElement|null} rename the button that names a client; null: naming is not possible
 */
export function clients(version, successor, isRetired, changed, rename) {
  let now = 0;
  let waits = 0;
  const words = wording(version, successor);
  const table = sortable(
    `Clients of ${version}`,
    columns(words, isRetired, () => now, rename),
    1,
    ({ client }) => client,
    changed,
  );
  const anew = () => {
    table.begin();
    changed();
  };
  const search = el('input', {
    type: 'search',
    id: 'client-filter',
    placeholder: 'Name or part of it',
    autocomplete: 'off',
    spellcheck: 'false',
    input: () => {
      clearTimeout(waits);
      waits = setTimeout(anew, pause);
    },
  });
  const state = el(
    'select',
    { id: 'client-state', change: anew },
    isRetired && el('option', { value: 'refused' }, 'Refused'),
    el('option', { value: 'here' }, isRetired ? `Called ${version} in the last 30 days` : `Still on ${version}`),
    ...Object.entries(words).map(([value, text]) => el('option', { value }, text)),
    el('option', { value: 'any' }, 'All clients'),
  );
  const found = el('p', { class: 'soft', role: 'status' });
  const nobody = el('div');
  const doubts = el('div', { class: 'doubts' });
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
      el('label', { for: 'client-state', class: 'quiet' }, 'Clients to show'),
      state,
      found,
      el('a', { href: csv, download: `clients-of-${version}.csv` }, 'Export as CSV'),
    ),
    nobody,
    table.root,
  );
  return {
    root,
    draw: table.draw,
    /** Where the rows are to be had that the reader wants to see. */
    get wanted() {
      const { sort, limit } = table.wanted;
      const filter = search.value.trim();
      const asked = { by: 'client', version, state: state.value, sort, limit: String(limit) };
      return usage(filter === '' ? asked : { ...asked, filter });
    },
    /**
     * @param {Usage<ClientRow>} answer
     * @param {readonly Node[]} said what limits the answer
     */
    fill({ rows, total = rows.length, total_unfiltered: all = total, until }, said) {
      now = Date.parse(until);
      doubts.replaceChildren(...said);
      const share = `${count(total)} of ${count(all)}`;
      // A screen reader says it aloud whenever it is set, whether it is another or not.
      if (found.textContent !== share) found.textContent = share;
      table.root.hidden = total === 0;
      const none =
        all > 0
          ? isRetired && state.value === 'refused'
            ? 'No client was refused in the last 30 days.'
            : 'No client matches.'
          : `No client called ${version} in the last 30 days.`;
      nobody.replaceChildren(...(total > 0 ? [] : [empty(none)]));
      table.fill(rows, total);
    },
  };
}
