import type { Route } from '../diff/routes.ts';
import { below, isMap, itemsOf, type Located } from '../document/located.ts';
import type { Sample } from './guide.ts';
import type { Side } from './side.ts';

/** The request line of a route in both contracts: its path and the parameters that it cannot do without. */
export function callOf(
  old: Route,
  now: Route,
  sides: { readonly old: Side; readonly now: Side },
  bases: { readonly old: string; readonly now: string },
): Sample | undefined {
  if (old.kind !== 'route') return undefined;
  const before = `${old.method} ${bases.old}${target(old, sides.old)}`;
  const after = `${now.method} ${bases.now}${target(now, sides.now)}`;
  return {
    language: 'http',
    before: { text: before, isMadeUp: false },
    after: { text: after, isMadeUp: false },
  };
}

function target(route: Route, side: Side): string {
  const parameters = parametersOf(route, side);
  const path = route.path.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const found = parameters.find(({ value }) => isMap(value) && value['in'] === 'path' && value['name'] === name);
    const value = found && side.parameter(found);
    return isScalar(value) ? encodeURIComponent(String(value)) : whole;
  });
  const query = parameters.flatMap((parameter) => {
    const { value } = parameter;
    if (!isMap(value) || value['in'] !== 'query' || value['required'] !== true) return [];
    const shown = side.parameter(parameter);
    return [
      `${encodeURIComponent(String(value['name']))}=${isScalar(shown) ? encodeURIComponent(String(shown)) : '…'}`,
    ];
  });
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** Those of the operation count before those of its path. */
function parametersOf({ operation, item }: Route, { documents }: Side): Located[] {
  return [operation, item].flatMap((holder) => {
    return itemsOf(below(holder, 'parameters')).map((written) => documents.resolve(written));
  });
}

function isScalar(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}
