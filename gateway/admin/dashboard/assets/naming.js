import { Refused, tell } from './api.js';
import { clientName } from './clientName.js';
import { el } from './dom.js';

/** @import { ClientRow } from './shapes.js' */

/** Lets an operator who holds the token name a client; the gateway writes the name into usage.names. */
export class Naming {
  #saved;
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
        'It is stored in the file of ',
        el('code', {}, 'usage.names'),
        '. Leave it empty to remove the name.',
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

  /** @param {() => void} saved */
  constructor(saved) {
    this.#saved = saved;
    document.body.append(this.#dialog);
  }

  /** @param {string} by what admitted this browser: naming needs the token, by a session or in a header */
  access(by) {
    this.#isAllowed = by !== 'machine';
  }

  /**
   * The button that names a client; null where this browser may not.
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
      const answer = await tell('/api/usage/names', body);
      if (answer.status === 200) {
        this.#dialog.close();
        this.#saved();
      } else this.#outcome.replaceChildren(...refusal(new Refused(answer.status, answer.body), answer.body.line));
    } catch {
      this.#outcome.replaceChildren(
        el('p', { class: 'problem' }, 'The gateway does not answer. The name may not be saved.'),
      );
    }
    this.#save.disabled = false;
  }
}

/**
 * @param {Refused} refused
 * @param {string|undefined} line what to add to the file by hand
 */
function refusal(refused, line) {
  return [
    el('p', { class: 'problem' }, refused.message),
    ...(line === undefined ? [] : [el('p', { class: 'soft' }, 'The line to add by hand:'), el('pre', {}, line)]),
  ];
}
