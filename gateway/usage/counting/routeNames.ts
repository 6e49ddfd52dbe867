import { type Apis, baseOf, segmentOf } from '../../config/api.ts';
import { nearest } from '../../config/nearest.ts';
import type { Version } from '../../config/snapshot.ts';
import { versionId } from '../../routing/requestTarget.ts';
import { type PathTable, withoutFinalSlash } from '../../shared/pathTable.ts';
import type { RouteQueries, UsageQueries } from '../usageQueries.ts';
import { otherRoute } from '../usageRow.ts';
import { onlyFails } from './countedExchange.ts';
import { TwoGenerationCache } from './twoGenerationCache.ts';

const maxTemplateLength = 300;
// The cached names of all methods are dropped when a request has yet another method.
const maxMethods = 40;

/** Names the routes of one version, `GET /drinks/{id}`, up to a limit; further routes are named `other`. */
export class RouteNames {
  readonly #max: number;
  readonly #names = new Set<string>();
  /** For each method, the name of each path that was looked up. */
  readonly #cachesByMethod = new Map<string, TwoGenerationCache>();
  #paths: PathTable<unknown> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** `paths`: of the version's contract, if it has one. `status`: of the response. */
  nameOf(method: string, path: string, paths: PathTable<unknown> | undefined, status: number): string {
    if (paths !== this.#paths) {
      this.#paths = paths;
      this.#cachesByMethod.clear();
    }
    const cache = this.#cachesByMethod.get(method);
    return cache?.get(path) ?? this.#nameForPath(method, path, status, cache ?? this.#cacheFor(method));
  }

  #nameForPath(method: string, path: string, status: number, cache: TwoGenerationCache): string {
    const template = this.#paths?.find(path)?.template.slice(0, maxTemplateLength) ?? pathWithoutIds(path);
    const route = `${/^[A-Z-]{1,20}$/.test(method) ? method : 'OTHER'} ${template}`;
    const name = this.#admit(route, status) ? route : otherRoute;
    // A path that returned 404 may exist later. Then it may get a name, so `other` is not cached for it.
    if (name === route || status !== 404) cache.set(path, name);
    return name;
  }

  /** Routes that return 404 get at most half of the names, so that a scanner leaves names for the routes that exist. */
  #admit(route: string, status: number): boolean {
    if (this.#names.has(route)) return true;
    const limit = status === 404 ? Math.ceil(this.#max / 2) : this.#max;
    if (this.#names.size >= limit) return false;
    this.#names.add(route);
    return true;
  }

  #cacheFor(method: string): TwoGenerationCache {
    if (this.#cachesByMethod.size >= maxMethods) this.#cachesByMethod.clear();
    const cache = new TwoGenerationCache();
    this.#cachesByMethod.set(method.slice(0, 64), cache);
    return cache;
  }
}

const maxSegments = 10;
const maxSegmentLength = 40;

/** Segments that vary between requests: numbers, dates, UUIDs, and keys made of letters and many digits. */
const idPatterns: readonly RegExp[] = [
  /^[+-]?\d+(?:[.,:]\d+)*$/,
  /^\d{4}-\d{2}(?:-\d{2})?(?:T[\d:.+Z-]*)?$/,
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^(?=.*\d)[0-9a-f]{8,}$/i,
  // `order-17`
  /^[A-Za-z]+[-_.:]\d+$/,
  // Four digits anywhere.
  /\d\D*\d\D*\d\D*\d/,
  // No word has 24 characters without a separator, and no name mixes capitals, small letters and digits in this way.
  /[A-Za-z0-9]{24,}/,
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{10,}$/,
];

/**
 * Replaces each id in a path: `/drinks/17` becomes `/drinks/{}`. Segments with other characters, such as e-mail addresses
 * or percent-encoding, count as ids, too, so that the result is short and safe to print anywhere.
 */
export function pathWithoutIds(path: string): string {
  const segments = path.slice(path.startsWith('/') ? 1 : 0).split('/', maxSegments + 1);
  const folded = segments.slice(0, maxSegments).map(segmentWithoutId);
  return `/${folded.join('/')}${segments.length > maxSegments ? '/*' : ''}`;
}

function segmentWithoutId(segment: string): string {
  if (segment.length > maxSegmentLength || !/^[\w.~:+$-]*$/.test(segment)) return '{}';
  const [, stem = segment, extension = ''] = /^(.+)(\.[A-Za-z]{2,5})$/.exec(segment) ?? [];
  return idPatterns.some((id) => id.test(stem)) ? `{}${extension}` : segment;
}

/** A route as an operator names it. */
export interface NamedRoute {
  readonly method: string;
  /** Below the version: `/drinks/{id}`. */
  readonly path: string;
}

/** A route of a version, and the names under which its requests are counted. */
export interface LedgerRoute extends NamedRoute {
  /** `GET /v1/drinks/{id}` */
  readonly text: string;
  /** Its names in the ledger. GET includes HEAD, unless HEAD is a route of its own. */
  readonly names: readonly string[];
  /** Undefined: the version has no contract. */
  readonly inContract: boolean | undefined;
}

/** `GET /drinks/{id}`; undefined: `text` is not a route. */
export function parseRoute(text: string): NamedRoute | undefined {
  const [, method, path] = /^([A-Za-z-]{1,20}) +(\/[^\s?#]*)$/.exec(text.trim()) ?? [];
  return method === undefined || path === undefined ? undefined : { method: method.toUpperCase(), path };
}

/** `ends`: the routes whose end is announced before that of the version. */
type RoutesOfVersion = Pick<Version, 'contract' | 'ends'>;

/**
 * A route exists if the contract or `ends` lists it, or if a client has used it. `listed`: the version in routes.yaml; undefined
 * if that file is not known. @returns the route, or a sentence that explains why it does not exist
 */
export async function routeOrReason(
  version: string,
  { method, path }: NamedRoute,
  listed: RoutesOfVersion | undefined,
  queries: UsageQueries,
): Promise<LedgerRoute | string> {
  const contractPaths = listed?.contract?.paths;
  const found = contractPaths?.find(path);
  const template = found?.template ?? path;
  const contractMethods = found?.value.split(' ') ?? [];
  // The contract decides which final slash a route has. Other paths are counted with the final slash of the request.
  const comparable = (one: string): string => {
    const current = currentPathOf(one, contractPaths);
    return found === undefined ? withoutFinalSlash(current) : current;
  };
  const isSameRoute = (one: string): boolean => comparable(one) === comparable(path);
  const endingMethods = listed?.ends.filter((end) => isSameRoute(end.path)).map((end) => end.method) ?? [];
  const countedMethods =
    method === 'GET' && ![...contractMethods, ...endingMethods].includes('HEAD') ? ['GET', 'HEAD'] : [method];
  const formerPaths = (await usedPaths(version, queries)).filter(isSameRoute);
  const ledgerPaths = [...new Set([template.slice(0, maxTemplateLength), pathWithoutIds(path), ...formerPaths])];
  const names = countedMethods.flatMap((one) => ledgerPaths.map((ledgerPath) => `${one} ${ledgerPath}`));
  // A path item of a contract may be a reference, so that its methods are not known.
  const inContract = contractPaths && found !== undefined && (found.value === '' || contractMethods.includes(method));
  const route = { method, path: template, text: `${method} /${version}${template}`, names, inContract };
  if (inContract === true || endingMethods.includes(method)) return route;
  const lastUsed = await (await queries.ofRoutes(names)).lastUsed();
  if (lastUsed.has(version)) return route;
  if (found !== undefined)
    return `/${version}${template} has no ${method}: its contract lists ${contractMethods.join(', ')}, and the ledger has no use of it.`;
  const knownPaths = contractPaths?.entries().map(([one]) => one) ?? (await usedPaths(version, queries));
  const similar = nearest(template, knownPaths);
  const suggestion = similar === undefined ? '' : `  Did you mean ${method} /${version}${similar}?`;
  const unlisted = contractPaths === undefined ? '' : `the contract of /${version} does not list it, and `;
  return `${unlisted}the ledger has no use of ${method} /${version}${template}.${suggestion}`;
}

/** Under which path requests to `path` are counted now. The path may have been another one before a change of the contract. */
export function currentPathOf(path: string, paths: PathTable<unknown> | undefined): string {
  return paths?.find(path)?.template ?? pathWithoutIds(path);
}

/** Under which name a route of the ledger is counted now. The name may have been another one before a change of the contract. */
export function currentNameOf(route: string, paths: PathTable<unknown> | undefined): string {
  const space = route.indexOf(' ');
  return space === -1 ? route : `${route.slice(0, space)} ${currentPathOf(route.slice(space + 1), paths)}`;
}

/** The paths that clients have called, without the paths that are counted as `other`. */
async function usedPaths(version: string, queries: UsageQueries): Promise<string[]> {
  const routes = await queries.routes(version, 0);
  return routes.flatMap(({ route }) => (route.includes(' /') ? [route.slice(route.indexOf(' ') + 1)] : []));
}

/** The requests that may belong to any route, because the version has more routes than are counted separately. */
export async function requestsWithoutRoute(
  queries: Pick<RouteQueries, 'routes'>,
  version: string,
  since: number,
): Promise<number> {
  const others = (await queries.routes(version, since)).find(({ route }) => route === otherRoute);
  if (others === undefined || others.last < since || onlyFails(others)) return 0;
  // At least 1, because a request that began before the period and is still open has no count in it.
  return Math.max(1, others.requests - others.failing);
}

/**
 * The version of one of the APIs that a request path names although routes.yaml does not list it, and the rest of the path: the clients of
 * a version that was removed from routes.yaml are still counted. Undefined: the path has no such version. `segmentsOfIds`: of the host.
 */
export function unlistedVersionIn(
  path: string,
  { gateway: { basePath }, apis }: { readonly gateway: { readonly basePath: string }; readonly apis: Apis<unknown> },
  segmentsOfIds: number,
): { readonly version: string; readonly resource: string } | undefined {
  const version = versionId(path, basePath, segmentsOfIds);
  if (!isCountedUnlisted(version, apis)) return undefined;
  return { version, resource: path.slice(basePath.length + 1 + version.length) };
}

/** Whether the requests to a version that is not listed are counted under its name. */
export function isCountedUnlisted(version: string, apis: Apis<unknown>): boolean {
  return /^v(?:0|[1-9]\d{0,2})$/.test(segmentOf(version)) && apis.has(baseOf(version));
}
