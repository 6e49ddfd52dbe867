import { ApiError, getJson, LatestRequest, ledgerTimeoutMs } from './api.js';
import { clientIdentifier } from './clientCells.js';
import { byId, el, errorNotice, fact, timeAgo } from './dom.js';
import { dateTime, plural, withCommas } from './format.js';
import { showPeriod } from './periodChoice.js';
import { sortable } from './table.js';

/** @import { BrownoutReport, RefusedClient } from './types.js' */

/** For each class of clients: its name in the report, its label, and the CSS class of its mark. */
const classes = /** @type {const} */ ([
  ['kept retrying', 'Kept retrying', 'stayed'],
  ['both', 'Both', 'between'],
  ['came back', 'Came back', 'bad'],
  ['moved', 'Moved', 'good'],
  ['silent since', 'Silent since', 'silent'],
]);

/** What clients did after a brownout of a version refused them. Hidden if no brownout of the version has begun. */
export class BrownoutCard {
  #request = new LatestRequest(ledgerTimeoutMs);
  #version = '';
  /** The number of the brownout; '': the last one that has begun. */
  #window = '';
  #drawnData = '';

  clear() {
    // Aborts an open request: its response is about another version.
    this.#request.start();
    this.#drawnData = '';
    byId('brownout-card').hidden = true;
  }

  /** @param {string} version */
  async refresh(version) {
    if (version !== this.#version) this.#window = '';
    this.#version = version;
    const request = this.#request.start();
    try {
      const query = this.#window === '' ? '' : `?window=${this.#window}`;
      /** @type {BrownoutReport} */
      const report = await getJson(`/api/brownouts/${encodeURIComponent(version)}${query}`, request.signal);
      if (!request.isOutdated) this.#draw(report);
    } catch (error) {
      if (request.isOutdated || !(error instanceof ApiError)) return;
      this.#drawnData = '';
      byId('brownout').replaceChildren(errorNotice(error));
    }
  }

  /** @param {BrownoutReport} report */
  #draw(report) {
    // The table shows times relative to `asked_at`. If nothing else changes, it is redrawn once an hour.
    const hour = Math.floor(Date.parse(report.asked_at) / 3_600_000);
    const json = JSON.stringify({ ...report, asked_at: hour });
    byId('brownout-card').hidden = report.number === null;
    if (json === this.#drawnData || report.number === null) return;
    this.#drawnData = json;
    const hadFocus = document.activeElement?.id === 'brownout-window';
    byId('brownout').replaceChildren(...[this.#picker(report), summary(report)].filter((one) => one !== null));
    if (hadFocus) byId('brownout-window').focus();
  }

  /** The selection of a brownout, if there are several. @param {BrownoutReport} report */
  #picker({ brownouts, number, asked_at: now }) {
    const begun = brownouts.filter(({ at }) => Date.parse(at) <= Date.parse(now));
    if (begun.length < 2) return null;
    const options = begun.map((one) =>
      el('option', { value: one.number, selected: one.number === number }, dateTime(Date.parse(one.at))),
    );
    /** @param {Event} event */
    const change = ({ currentTarget }) => {
      this.#window = /** @type {HTMLSelectElement} */ (currentTarget).value;
      void this.refresh(this.#version);
    };
    return el(
      'p',
      { class: 'choice' },
      el('label', { for: 'brownout-window' }, 'Brownout of '),
      el('select', { id: 'brownout-window', change }, ...options),
    );
  }
}

/** @param {BrownoutReport} report */
function summary(report) {
  const {
    version,
    brownouts,
    number,
    refused,
    // Refused requests of clients that the ledger counts together as `other clients`.
    folded,
    client_count: clientCount,
    not_refused_count: notRefusedCount,
    notes,
  } = report;
  const brownout = brownouts.find((one) => one.number === number);
  const when = brownout ? `${dateTime(Date.parse(brownout.at))} to ${dateTime(Date.parse(brownout.end))}` : '';
  showPeriod('brownout', when);
  const isOver = brownout !== undefined && Date.parse(brownout.end) <= Date.parse(report.asked_at);
  const spared = report.not_refused.filter((client) => client.spared).map(({ client, name }) => name ?? client);
  const table = clientTable(Date.parse(report.asked_at));
  table.fill(report.clients);
  return el(
    'div',
    { class: 'brownout' },
    el('p', { class: 'summary' }, `${when}: ${plural(refused, 'request')} to ${version} refused.`),
    notes.length > 0 && el('ul', { class: 'notes' }, ...notes.map(({ text }) => el('li', {}, text))),
    el(
      'dl',
      { class: 'facts' },
      fact(
        'Clients',
        `${folded > 0 ? 'at least ' : ''}${withCommas(clientCount)}`,
        `${withCommas(notRefusedCount)} not refused`,
      ),
      ...(isOver ? classes.map(([name, label]) => fact(label, withCommas(report.classes[name] ?? 0), '')) : []),
    ),
    clientCount > 0 && table.root,
    clientCount > report.clients.length &&
      el(
        'p',
        { class: 'soft' },
        `The ${withCommas(report.clients.length)} clients with the most refused requests are listed.`,
      ),
    spared.length > 0 && el('p', { class: 'soft' }, `Spared: ${spared.join(', ')}.`),
  );
}

/** @param {number} now */
function clientTable(now) {
  /** @type {readonly import('./table.js').Column<RefusedClient>[]} */
  const columns = [
    {
      title: 'Client',
      sort: ({ client, name }) => name ?? client,
      cell: ({ client, name }) =>
        el(
          'span',
          { class: 'client' },
          ...(name === null ? clientIdentifier(client) : [name]),
          name !== null && el('small', {}, ...clientIdentifier(client)),
        ),
    },
    {
      title: 'Refused',
      number: true,
      sort: ({ refused }) => refused,
      cell: ({ refused }) => withCommas(refused),
    },
    {
      title: 'Since then',
      sort: (one) => classes.findIndex(([name]) => name === one.class),
      cell: (one) => {
        // A client has a class once the brownout is over.
        const [, label, style] = classes.find(([name]) => name === one.class) ?? ['', 'Not over', ''];
        return el('span', { class: `state ${style}` }, label);
      },
    },
    {
      title: 'Last call',
      number: true,
      sort: ({ last_call: at }) => Date.parse(at),
      cell: ({ last_call: at }) => timeAgo(at, now),
    },
    {
      title: 'Successor',
      number: true,
      sort: ({ successor_use: at }) => (at === null ? 0 : Date.parse(at)),
      cell: ({ successor_use: at }) => (at === null ? '–' : timeAgo(at, now)),
    },
  ];
  return sortable('Clients that the brownout refused', columns, {
    sortedBy: 'Refused',
    keyOf: ({ client }) => client,
  });
}
