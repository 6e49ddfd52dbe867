import { ApiError, post } from './api.js';
import { clientName } from './clientCells.js';
import { el } from './dom.js';

/** @import { ClientRow } from './types.js' */

/** The dialog to name a client, for operators with the token. The gateway writes the name to the usage.names file. */
export class NameDialog {
  #onSaved;
  #isAllowed = false;
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
      { class: 'naming', method: 'dialog', submit: (event) => this.#submit(event) },
      this.#title,
      this.#tag,
      el('label', { for: 'client-name' }, 'Name'),
      this.#input,
      el(
        'p',
        { class: 'soft' },
        'It is stored in the ',
        el('code', {}, 'usage.names'),
        ' file. Leave it empty to remove the name.',
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

  /** @param {string} by how this browser is authorized; naming a client requires the token, in a session or a header */
  setAccess(by) {
    this.#isAllowed = by !== 'machine';
  }

  /**
   * Creates the button to name a client; null if this browser is not allowed to.
   * @param {ClientRow} client
   */
  button(client) {
    if (!this.#isAllowed || client.client === 'other clients') return null;
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
    this.#tag.replaceChildren(...clientName(client.client).filter((part) => part !== false));
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
