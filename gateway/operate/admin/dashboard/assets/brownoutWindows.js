import { post } from './api.js';
import { el } from './dom.js';
import { dateTime } from './format.js';
import { head, row, table, updateRows } from './table.js';

/** @import { BrownoutWindow } from './types.js' */

const titles = ['Version', 'From', 'Until', 'Refuses', 'State', 'Action'];

/** For each state: its words, and the CSS class of its mark. @type {Record<string, [words: string, style: string]>} */
const states = {
  planned: ['Planned', 'between'],
  approved: ['Begins soon', 'between'],
  running: ['Running', 'bad'],
  ended: ['Ended', 'good'],
  skipped: ['Skipped', 'silent'],
  stopped: ['Stopped', 'silent'],
  missed: ['Missed: no gateway was running', 'silent'],
};

/**
 * A brownout in words: `Brownout of v1, 2 Mar 2027, 14:00 to 2 Mar 2027, 15:00: Running`.
 * @param {BrownoutWindow} one
 */
export function windowLabel({ version, at, until, state }) {
  const [words] = states[state] ?? [state];
  return `Brownout of ${version}, ${dateTime(Date.parse(at))} to ${dateTime(Date.parse(until))}: ${words}`;
}

/** The brownouts of the configuration, with a button to stop one, for operators with the token. */
export class BrownoutWindows {
  #mayStop = false;
  /** @type {readonly BrownoutWindow[]} */
  #windows = [];
  /** @type {BrownoutWindow|undefined} */
  #chosen;
  #body = el('tbody');
  #question = el('p');
  #outcome = el('div', { role: 'alert' });
  #confirm = el('button', { class: 'primary', type: 'submit' }, 'Stop the brownout');
  #dialog = el(
    'dialog',
    { 'aria-labelledby': 'h-stopping' },
    el(
      'form',
      { class: 'dialog-form', method: 'dialog', submit: (event) => void this.#stop(event) },
      el('h2', { id: 'h-stopping' }, 'Stop a brownout'),
      this.#question,
      this.#outcome,
      el(
        'div',
        { class: 'actions' },
        this.#confirm,
        el('button', { type: 'button', click: () => this.#dialog.close() }, 'Cancel'),
      ),
    ),
  );
  root = table(
    'Brownouts',
    titles.map((title) => head(title)),
    this.#body,
  );

  constructor() {
    document.body.append(this.#dialog);
  }

  /** @param {string} by how this browser is authorized; `machine`: without the token, because it runs on the machine of the gateway */
  setAccess(by) {
    this.#mayStop = by !== 'machine';
    this.fill(this.#windows);
  }

  /** @param {readonly BrownoutWindow[]} windows */
  fill(windows) {
    this.#windows = windows;
    updateRows(
      this.#body,
      windows.map((one) => this.#row(one)),
    );
  }

  /** @param {BrownoutWindow} one */
  #row(one) {
    const { version, at, until, clients, routes, state, reason } = one;
    const [words, style] = states[state] ?? [state, ''];
    const shareText = `${Math.round(clients * 1000) / 10}% of the clients`;
    const canStop = this.#mayStop && ['planned', 'approved', 'running'].includes(state);
    const label = `Stop the brownout of ${version} at ${dateTime(Date.parse(at))}`;
    const cells = [
      version,
      el('time', { datetime: at }, dateTime(Date.parse(at))),
      el('time', { datetime: until }, dateTime(Date.parse(until))),
      [shareText, routes && el('small', {}, ` on ${routes.join(', ')}`)],
      [el('span', { class: `state ${style}` }, words), reason !== null && el('small', {}, ` ${reason}`)],
      canStop ? el('button', { type: 'button', 'aria-label': label, click: () => this.#open(one) }, 'Stop') : '–',
    ];
    return row(
      `${version} ${at} ${state} ${this.#mayStop}`,
      cells.map((content, index) => ({ title: titles[index] ?? '', content })),
    );
  }

  /** @param {BrownoutWindow} one */
  #open(one) {
    this.#chosen = one;
    this.#outcome.replaceChildren();
    this.#question.textContent = `The brownout of /${one.version} at ${dateTime(Date.parse(one.at))} ends at once, in all workers and gateways. It does not start again.`;
    this.#dialog.showModal();
  }

  /** @param {Event} event */
  async #stop(event) {
    event.preventDefault();
    if (!this.#chosen) return;
    const { version, at } = this.#chosen;
    this.#confirm.disabled = true;
    try {
      const { status, body } = await post('/api/brownouts/stop', { version, at });
      const isStored = status === 200 && body.stored === true;
      const notStored =
        'The brownout is stopped here, but the decision could not be stored: other gateways may still refuse clients.';
      if (isStored) this.#dialog.close();
      else this.#outcome.replaceChildren(el('p', { class: 'problem' }, status === 200 ? notStored : body.detail));
    } catch {
      this.#outcome.replaceChildren(el('p', { class: 'problem' }, 'The gateway does not answer.'));
    } finally {
      this.#confirm.disabled = false;
    }
  }
}
