import type { AdaptedRoute, AdapterSettings } from '../../../../gateway/config/adapterSettings.ts';

const drinks = { method: 'GET', path: '/drinks' };

/** An adapter of `GET /drinks`, and the operations on its responses. */
export function drinksAdapter(responses: AdaptedRoute['responses']): AdapterSettings {
  const request = { path: [], query: [], body: [] };
  const routes = [{ ...drinks, to: drinks, request, responses }];
  return { from: 'v2', mode: 'serve', body: 1e6, pairs: 1, derivedFromContracts: undefined, routes };
}
