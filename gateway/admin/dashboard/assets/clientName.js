import { el } from './dom.js';

// A tag has 17 characters with its #. Longer words have to be broken somewhere on a small screen.
const longestUnbroken = 24;

/**
 * What the ledger calls a client, `x-api-key:#4f2a91c07be05d3a`: a line may end after the colon, and nowhere else.
 * @param {string} client
 */
export function clientName(client) {
  const colon = client.indexOf(':') + 1;
  return [client.slice(0, colon), client.slice(colon)].flatMap((part, index) => [
    index > 0 && colon > 0 && el('wbr'),
    el('span', { class: part.length > longestUnbroken ? '' : 'unbroken' }, part),
  ]);
}
