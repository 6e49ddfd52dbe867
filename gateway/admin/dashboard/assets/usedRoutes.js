import { el } from './dom.js';
import { count } from './format.js';

/**
 * The routes that a client uses: the first of them at once, the others when they are asked for.
 * @param {{ client: string, routes: number, top_routes?: readonly { route: string, requests: number }[]|null|undefined }} caller
 * @param {Set<string>} unfolded clients whose routes the reader wants to see
 */
export function usedRoutes({ client, routes, top_routes: named }, unfolded) {
  const [first] = named ?? [];
  if (!named || !first) return count(routes);
  if (named.length === 1 && routes <= 1) return el('code', { class: 'path' }, first.route);
  const unnamed = routes - named.length;
  const toggled = (/** @type {Event} */ { currentTarget }) => {
    if (/** @type {HTMLDetailsElement} */ (currentTarget).open) unfolded.add(client);
    else unfolded.delete(client);
  };
  return el(
    'details',
    { class: 'routes', open: unfolded.has(client), toggle: toggled },
    el(
      'summary',
      {},
      el('code', { class: 'path' }, first.route),
      ' ',
      el('span', { class: 'soft' }, `+${count(routes - 1)}`),
    ),
    el(
      'ul',
      {},
      ...named
        .slice(1)
        .map(({ route, requests }) =>
          el('li', {}, el('code', { class: 'path' }, route), ' ', el('span', { class: 'soft' }, count(requests))),
        ),
      unnamed > 0 && el('li', { class: 'soft' }, `${count(unnamed)} more`),
    ),
  );
}
