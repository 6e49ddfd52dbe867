import type { RouteQueries } from '../../usage/usageQueries.ts';

/** At most this many routes of a version are tried. */
export const maxTriedRoutes = 20;
// Routes with parameters are tried first, up to this number, so that many routes without parameters do not leave them out.
const maxWithParameters = 6;

// Only such paths are sent: no parameter, nothing that has to be escaped.
const plainPath = /^\/(?!\/)[\w~!$&'()+,;=:@./-]*$/;

/** The paths of recent GET routes without parameters that were answered 2xx or 3xx, most requests first. */
export async function answeredPaths(
  queries: Pick<RouteQueries, 'routes'>,
  version: string,
  since: number,
): Promise<readonly string[]> {
  const routes = await queries.routes(version, since);
  return routes
    .filter(({ route, requests, errors }) => route.startsWith('GET /') && requests > errors)
    .map(({ route }) => route.slice('GET '.length))
    .filter((path) => plainPath.test(path))
    .slice(0, maxTriedRoutes);
}

/** `recent`: paths of routes with parameters. */
export function pathsToTry(answered: readonly string[], recent: readonly string[]): readonly string[] {
  const withParameters = recent.slice(0, Math.max(maxWithParameters, maxTriedRoutes - answered.length));
  return [...new Set([...withParameters, ...answered])].slice(0, maxTriedRoutes);
}
