import { ApiError, post, usageUrl } from './api.js';
import { clientIdentifier, columns, migrationLabels } from './clientCells.js';
import { el, emptyMessage } from './dom.js';
import { dayMs, plural, withCommas } from './format.js';
import { sortable } from './table.js';

/** @import { Period } from './periodChoice.js' */
/** @import { ClientRow, Usage } from './types.js' */

/** Delay between the last key press in the filter and the request. */
const typingDelayMs = 250;

/**
 * The table of the clients that call a version, with a filter by name and state. A version may have many thousands of clients,
 * so the gateway filters, sorts and pages the rows.
 * @param {string} version
 * @param {string|undefined} successor
 * @param {boolean} isRetired
 * @param {() => void} onQueryChange called when other rows are needed
 * @param {(client: ClientRow) => HTMLElement|null} renameButton creates the button to name a client; null where that is not allowed
 */
export function clients(version, successor, isRetired, onQueryChange, renameButton) {
  let now = 0;
  let dayCount = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const labels = migrationLabels(version, successor);
  const table = sortable(
    `Clients of ${version}`,
    columns(labels, isRetired, () => ({ now, dayCount }), renameButton),
    { sortedBy: 'Requests', keyOf: ({ client }) => client },
    onQueryChange,
  );
  const onFilterChange = () => {
    table.resetRowLimit();
    onQueryChange();
  };
  const filterInput = el('input', {
    type: 'search',
    id: 'client-filter',
    placeholder: 'Name or part of it',
    autocomplete: 'off',
    spellcheck: 'false',
    input: () => {
      clearTimeout(timer);
      timer = setTimeout(onFilterChange, typingDelayMs);
    },
  });
  // Its text is set by `fill`.
  const hereOption = el('option', { value: 'here' });
  const stateSelect = el(
    'select',
    { id: 'client-state', change: onFilterChange },
    isRetired && el('option', { value: 'refused' }, 'Refused'),
    hereOption,
    ...Object.entries(labels).map(([value, text]) => el('option', { value }, text)),
    el('option', { value: 'any' }, 'All clients'),
  );
  const matchCount = el('p', { class: 'soft', role: 'status' });
  const emptyNotice = el('div');
  const warnings = el('div', { class: 'warnings' });
  const csvLink = el('a', {}, 'Export as CSV');
  const root = el(
    'div',
    {},
    warnings,
    el(
      'div',
      { class: 'tools' },
      el('label', { for: 'client-filter', class: 'soft' }, 'Filter'),
      filterInput,
      el('label', { for: 'client-state', class: 'visually-hidden' }, 'Clients to show'),
      stateSelect,
      matchCount,
      csvLink,
    ),
    emptyNotice,
    table.root,
  );
  return {
    root,
    draw: table.draw,
    /** The URL of the rows to show. @param {Period} period */
    url({ since }) {
      const { sort, limit } = table.query;
      const filter = filterInput.value.trim();
      const parameters = { by: 'client', version, since, state: stateSelect.value, sort, limit: String(limit) };
      return usageUrl(filter === '' ? parameters : { ...parameters, filter });
    },
    /**
     * @param {Usage<'client'>} answer
     * @param {Period} period
     */
    fill(answer, { since, ms, words }) {
      const { rows, total, total_unfiltered: unfilteredTotal, until } = answer;
      now = Date.parse(until);
      dayCount = Math.round(ms / dayMs);
      // Two days are no chart.
      root.classList.toggle('no-days', dayCount < 3);
      hereOption.textContent = isRetired ? `Called ${version} in the ${words}` : `Still on ${version}`;
      csvLink.setAttribute('href', usageUrl({ by: 'client', version, since }, '/api/usage.csv'));
      csvLink.setAttribute('download', `clients-of-${version}-${since}.csv`);
      warnings.replaceChildren(...usageWarnings(answer, words));
      const matchText = `${withCommas(total)} of ${plural(unfilteredTotal, 'client')}, ${words}`;
      // A screen reader reads the text aloud whenever it is set, even if it has not changed.
      if (matchCount.textContent !== matchText) matchCount.textContent = matchText;
      table.root.hidden = total === 0;
      const noMatchText =
        isRetired && stateSelect.value === 'refused' ? `No client was refused in the ${words}.` : 'No client matches.';
      const text = unfilteredTotal > 0 ? noMatchText : `No client called ${version} in the ${words}.`;
      emptyNotice.replaceChildren(...(total > 0 ? [] : [emptyMessage(text)]));
      table.fill(rows, total);
    },
  };
}

/**
 * Why the list of clients may be incomplete. A ledger that cannot be written is reported at the top of the page.
 * @param {Usage<'client'>} usage
 * @param {string} period `last 7 days`
 */
function usageWarnings({ problem, folded, problems }, period) {
  return [
    ...problems.filter((text) => text !== problem).map((text) => el('p', { class: 'problem mild' }, text)),
    ...(folded > 0
      ? [
          el(
            'p',
            { class: 'problem mild' },
            `${plural(folded, 'request', 'requests')} in the ${period} came from clients beyond `,
            el('code', {}, 'usage.max_clients'),
            '. They are counted together as other clients.',
          ),
        ]
      : []),
  ];
}

/** The dialog to name a client, for operators with the token. The gateway writes the name to the usage.names file. */
export class NameDialog {
  #onSaved;
  #mayName = false;
  /** @type {ClientRow|undefined} */
  #client;
  #title = el('h2', { id: 'h-naming' });
  #tag = el('p', { class: 'soft' });
  #input = el('input', { type: 'text', id: 'client-name', maxlength: 100, autocomplete: 'off', spellcheck: 'false' });
  #outcome = el('div', { role: 'alert' });
  #save = el('button', { class: 'primary', type: 'submit' }, 'Save');
  #dialog = el(
    'dialog',
    { 'aria-labelledby': 'h-naming' },
    el(
      'form',
      { class: 'dialog-form', method: 'dialog', submit: (event) => this.#submit(event) },
      this.#title,
      this.#tag,
      el('label', { for: 'client-name' }, 'Name'),
      this.#input,
      el(
        'p',
        { class: 'soft' },
        'The name is stored in the ',
        el('code', {}, 'usage.names'),
        ' file. To remove the name, leave the field empty.',
      ),
      this.#outcome,
      el(
        'div',
        { class: 'actions' },
        this.#save,
        el('button', { type: 'button', click: () => this.#dialog.close() }, 'Cancel'),
      ),
    ),
  );

  /** @param {() => void} onSaved */
  constructor(onSaved) {
    this.#onSaved = onSaved;
    document.body.append(this.#dialog);
  }

  /** @param {string} by how this browser is authorized; `machine`: without the token, because it runs on the machine of the gateway */
  setAccess(by) {
    this.#mayName = by !== 'machine';
  }

  /**
   * Creates the button to name a client; null if this browser is not allowed to.
   * @param {ClientRow} client
   */
  button(client) {
    if (!this.#mayName || client.client === 'other clients') return null;
    const label = client.name === null ? 'Name' : 'Rename';
    return el(
      'button',
      { type: 'button', class: 'rename', 'aria-label': `${label} ${client.client}`, click: () => this.#open(client) },
      label,
    );
  }

  /** @param {ClientRow} client */
  #open(client) {
    this.#client = client;
    this.#title.textContent = client.name === null ? 'Name a client' : `Rename ${client.name}`;
    this.#tag.replaceChildren(...clientIdentifier(client.client).filter((part) => part !== false));
    this.#input.value = client.name ?? '';
    this.#outcome.replaceChildren();
    this.#dialog.showModal();
    this.#input.select();
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const client = this.#client;
    if (!client) return;
    this.#save.disabled = true;
    try {
      const body = { client: client.client, name: this.#input.value.trim(), was: client.name ?? '' };
      const response = await post('/api/usage/names', body);
      if (response.status === 200) {
        this.#dialog.close();
        this.#onSaved();
      } else
        this.#outcome.replaceChildren(...errorParts(new ApiError(response.status, response.body), response.body.line));
    } catch {
      this.#outcome.replaceChildren(
        el('p', { class: 'problem' }, 'The gateway does not answer. The name may not have been saved.'),
      );
    }
    this.#save.disabled = false;
  }
}

/**
 * @param {ApiError} error
 * @param {string|undefined} line the line to add to the file by hand
 */
function errorParts(error, line) {
  return [
    el('p', { class: 'problem' }, error.message),
    ...(line === undefined ? [] : [el('p', { class: 'soft' }, 'Add this line by hand:'), el('pre', {}, line)]),
  ];
}
