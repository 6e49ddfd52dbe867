import { isMap, membersOf } from '../shared/json.ts';
import { ExpandedText } from './expand.ts';
import { gatewaySections, type Source, valueAt } from './source.ts';

/** The sections that an API has of its own; all others belong to the gateway. */
export const apiSections = ['routes', 'defaults', 'guard', 'retire', 'brownout', 'compat', 'notify'] as const;

const headKeys: ReadonlySet<string> = new Set(['listed']);

/** What an API says about itself: the keys that a file does not have. */
export function headOf(apiTree: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(membersOf(apiTree)).filter(([key]) => headKeys.has(key)));
}

/**
 * Each API below `apis` as a document of its own: its sections, completed by those of the gateway's file. So all rules for a file hold
 * for an API, and `pathInFile` gives the place of each value.
 */
export function apiSources(source: Source): Source[] {
  return Object.entries(membersOf(valueAt(source.tree, ['apis']))).flatMap(([base, tree]) =>
    // The base of the API at the root is empty.
    isPlainMap(tree) && base !== '' ? [{ ...source, tree: composed(source.tree, tree), api: { base, tree } }] : [],
  );
}

function composed(gatewayTree: unknown, apiTree: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { apis: _apis, routes: _routes, notify: _notify, guard, ...inherited } = membersOf(gatewayTree);
  // A reason to bypass the guard names one version.
  const { force: _force, ...limits } = membersOf(guard);
  // Sections of the gateway in an API are reported, and otherwise ignored.
  const own = Object.entries(apiTree).filter(([key]) => !headKeys.has(key) && !gatewaySections.has(key));
  return merged(isPlainMap(guard) || guard === undefined ? { ...inherited, guard: limits } : inherited, own);
}

/** Key by key: a map replaces only the keys that it has; a list replaces the whole list. */
function merged(
  base: Readonly<Record<string, unknown>>,
  own: readonly (readonly [key: string, value: unknown])[],
): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = Object.assign(Object.create(null), base);
  for (const [key, value] of own) {
    const inherited = Object.hasOwn(base, key) ? base[key] : undefined;
    if (isPlainMap(inherited) && value === null) continue;
    const bothMaps = isPlainMap(inherited) && isPlainMap(value);
    result[key] = bothMaps ? merged(inherited, Object.entries(value)) : value;
  }
  return result;
}

/** A text with variables is an object, but no map. */
function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isMap(value) && !(value instanceof ExpandedText);
}
