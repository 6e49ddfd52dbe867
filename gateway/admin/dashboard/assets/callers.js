/** @import { ClientRow, MigrationRow } from './shapes.js' */

/** @typedef {{ client: string, name: string|null, state: string, requests: number, errors: number, routes: number, top_routes: ClientRow['top_routes'], last: string|null, days: ClientRow['days'] }} Caller */

/**
 * What two answers say of the same clients.
 * @param {readonly ClientRow[]} rows
 * @param {readonly MigrationRow[]} movement of the same version
 * @returns {Caller[]}
 */
export function callers(rows, movement) {
  const known = new Map(rows.map((row) => [row.client, row]));
  const states = new Map(movement.map((row) => [row.client, row]));
  return [...new Set([...known.keys(), ...states.keys()])].map((client) => {
    const [row, moved] = [known.get(client), states.get(client)];
    const { requests = 0, errors = 0, routes = 0, days = null } = row ?? {};
    const last = row?.last ?? moved?.last ?? null;
    return {
      client,
      name: row?.name ?? moved?.name ?? null,
      state: moved?.state ?? 'stayed',
      requests,
      errors,
      routes,
      top_routes: row?.top_routes,
      last,
      days,
    };
  });
}

/**
 * How each state of migration is called.
 * @param {string} version
 * @param {string|undefined} successor
 * @returns {Record<string, string>}
 */
export function wording(version, successor) {
  if (successor === undefined) return { stayed: `${version} only` };
  return {
    stayed: `${version} only`,
    both: `${version} and ${successor}`,
    'went back': `Went back to ${version}`,
    moved: `Moved to ${successor}`,
  };
}

/**
 * `here`: whoever still calls the version; '': everybody.
 * @param {Caller} caller
 * @param {string} state
 */
export function matches(caller, state) {
  if (state === '') return true;
  return state === 'here' ? caller.requests > 0 : caller.state === state;
}
