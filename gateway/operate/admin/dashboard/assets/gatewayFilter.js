import { byId, el } from './dom.js';

/** @import { Fleet } from './types.js' */

const urlParameter = 'instance';

/**
 * The selection of one gateway of a fleet, kept in the URL; '' stands for all gateways. Each heading with `data-scope` shows which
 * gateways its figures include: the selection (`selected`), all gateways (`fleet`), or only the gateway that serves this page
 * (`self`).
 */
export class GatewayFilter {
  /** The name in the URL; '' if there is none. If the fleet has no such gateway, the API answers with an error. */
  chosen = new URLSearchParams(location.search).get(urlParameter) ?? '';
  #select = /** @type {HTMLSelectElement} */ (byId('gateway-filter'));
  #onChange;
  /** The options of the select, as JSON: an open list must not be rebuilt every five seconds. */
  #drawnOptions = '';

  /** @param {(gateway: string) => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#select.addEventListener('change', () => this.#choose(this.#select.value));
  }

  /** @param {Fleet|null|undefined} fleet */
  setFleet(fleet) {
    byId('filter').hidden = !fleet;
    if (!fleet && this.chosen !== '') this.#choose('');
    // The list may contain addresses from which no gateway was heard. These have no counts.
    const heard = (fleet?.gateways ?? []).filter((one) => one.heard !== null).map(({ name }) => name);
    // A selected name stays, even if the fleet has no such gateway: then the error of the API lists the names of its gateways.
    const gatewayNames = [...new Set([...heard, this.chosen])].filter((name) => name !== '').sort();
    const options = JSON.stringify([Boolean(fleet), gatewayNames]);
    if (options === this.#drawnOptions) return;
    this.#drawnOptions = options;
    this.#select.replaceChildren(
      el('option', { value: '' }, 'All gateways'),
      ...gatewayNames.map((name) => el('option', { value: name }, name)),
    );
    this.#select.value = this.chosen;
    this.#drawScopes({ isFleet: Boolean(fleet) });
  }

  /** @param {string} gateway */
  #choose(gateway) {
    this.chosen = gateway;
    const url = new URL(location.href);
    if (gateway === '') url.searchParams.delete(urlParameter);
    else url.searchParams.set(urlParameter, gateway);
    history.replaceState(null, '', url);
    this.#drawScopes({ isFleet: true });
    this.#onChange(gateway);
  }

  /** @param {{ isFleet: boolean }} options */
  #drawScopes({ isFleet }) {
    const allGateways = 'all gateways';
    /** @type {Record<string, string>} */
    const texts = { selected: this.chosen || allGateways, fleet: allGateways, self: 'this gateway' };
    for (const scope of document.querySelectorAll('[data-scope]'))
      scope.textContent = isFleet ? (texts[scope.getAttribute('data-scope') ?? ''] ?? '') : '';
  }
}
