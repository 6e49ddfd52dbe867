import { isMap } from '../shared/json.ts';
import { withoutVersion } from '../shared/pathTable.ts';
import type { Documents } from './document/documents.ts';
import { below, entriesOf, itemsOf, type Located } from './document/located.ts';

/** An operation of a contract. */
export interface Route {
  readonly kind: 'route' | 'webhook' | 'callback';
  /** Upper case. */
  readonly method: string;
  /** As in the contract, without the version; the name of a webhook or callback. */
  readonly path: string;
  readonly operation: Located;
  /** The path item, which applies to all methods of the path. */
  readonly item: Located;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'] as const;

/**
 * The routes and webhooks of a contract. A key consists of kind, method and path: `route GET /drinks`.
 * @param segment of the version, to remove from paths: `/v1/drinks` in the contract of `v1` is the route `/drinks`
 */
export function routesOf(documents: Documents, segment?: string): Map<string, Route> {
  const { root } = documents;
  const routes = new Map<string, Route>();
  for (const [path, item] of entriesOf(below(root, 'paths'))) {
    if (!path.startsWith('/')) continue;
    const name = segment === undefined ? path : withoutVersion(path, segment);
    addOperations('route', name, item, documents, routes);
  }
  for (const [name, item] of entriesOf(below(root, 'webhooks')))
    addOperations('webhook', name, item, documents, routes);
  return routes;
}

/** Adds the operations of one path item. `written`: the path item, possibly with a `$ref`. */
export function addOperations(
  kind: Route['kind'],
  path: string,
  written: Located,
  documents: Documents,
  into: Map<string, Route>,
): void {
  // Operations beside a `$ref` also count. Without a `$ref`, `written` and the resolved item are the same object.
  for (const item of new Set([documents.resolve(written), written])) {
    const standard = methods.map((method) => [method, below(item, method)] as const);
    for (const [method, operation] of [...standard, ...entriesOf(below(item, 'additionalOperations'))]) {
      if (!isMap(operation.value)) continue;
      const route = { kind, method: method.toUpperCase(), path, operation, item };
      into.set(`${kind} ${route.method} ${path}`, route);
    }
  }
}

/** Who sends the requests of an operation. The API does so for webhooks and callbacks. */
export type Caller = 'client' | 'api';

export function callerOf({ kind }: Route): Caller {
  return kind === 'route' ? 'client' : 'api';
}

/** `request`: data sent to the API. `response`: data sent by the API, including the requests of webhooks and callbacks. */
export type Direction = 'request' | 'response';

/** The direction of the data in requests, and of the data in responses. */
export function directionsOf(caller: Caller): { readonly request: Direction; readonly response: Direction } {
  return caller === 'client'
    ? { request: 'request', response: 'response' }
    : { request: 'response', response: 'request' };
}

/** `/drinks/{id}` → `/drinks/{}` */
export function withoutNames(path: string): string {
  return path.replace(/\{[^{}]*\}/g, '{}');
}

/** In the order of the path. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

export type RouteName = Pick<Route, 'kind' | 'method' | 'path'>;

interface ServerAddress {
  /** Empty for a URL without a host. */
  readonly host: string;
  /** `/v1`; empty for a URL without a path. */
  readonly path: string;
}

/** The servers of an operation. */
export interface Servers {
  /** The `servers` in the contract. Undefined: the contract lists none, which means `/`. */
  readonly serverList: Located | undefined;
  readonly addresses: readonly ServerAddress[];
}

/**
 * The servers of the operation. If it lists none, those of its path item, or else those of the whole API.
 * @param version a segment to remove from the end of base paths, as `routesOf` removes it from the start of paths
 */
export function serversOf({ item, operation }: Route, { root }: Documents, version?: string): Servers {
  const serverList = [operation, item, root].map((one) => below(one, 'servers')).find((one) => itemsOf(one).length > 0);
  if (!serverList) return { serverList, addresses: [{ host: '', path: '' }] };
  return { serverList, addresses: itemsOf(serverList).flatMap((server) => serverAddressOf(server, version) ?? []) };
}

/**
 * The old base paths that no longer exist, and all new ones. Undefined: no base path was removed, or the old contract lists no
 * servers. Contracts often list one host for each environment. So if an old base path remains, a missing one counts as removed only
 * if the new contract still lists the host that it had.
 */
export function changedBasePaths(
  old: Servers,
  now: Servers,
): { readonly old: readonly string[]; readonly new: readonly string[] } | undefined {
  if (!old.serverList) return undefined;
  const [before, after] = comparableAddresses(old, now);
  if (before.length === 0 || after.length === 0) return undefined;
  const gone = before.filter(({ path }) => !after.some((one) => one.path === path));
  const isAllGone = gone.length === before.length;
  const remainingHosts = new Set(after.flatMap((one) => hostsOf(one, before)));
  const counted = isAllGone ? gone : gone.filter(({ host }) => remainingHosts.has(host));
  return counted.length === 0 ? undefined : { old: distinctPaths(counted), new: distinctPaths(after) };
}

/** Without addresses of the local machine, unless nothing else is listed. */
function comparableAddresses(old: Servers, now: Servers): [readonly ServerAddress[], readonly ServerAddress[]] {
  const listed = [old, now].flatMap(({ serverList, addresses }) => (serverList ? addresses : []));
  if (!listed.some(isRemote)) return [old.addresses, now.addresses];
  return [old.addresses.filter(isRemote), now.addresses.filter(isRemote)];
}

/** The hosts of a new address. An address without a host counts for every host that had the same path in the old contract. */
function hostsOf({ host, path }: ServerAddress, before: readonly ServerAddress[]): readonly string[] {
  return host === '' ? [host, ...before.filter((one) => one.path === path).map((one) => one.host)] : [host];
}

function isRemote({ host }: ServerAddress): boolean {
  return !/^(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(:|$)/i.test(host);
}

function distinctPaths(addresses: readonly ServerAddress[]): string[] {
  return [...new Set(addresses.map(({ path }) => path || '/'))];
}

/** Variables in the URL are replaced by their defaults. */
function serverAddressOf(server: Located, version: string | undefined): ServerAddress | undefined {
  const { value } = below(server, 'url');
  if (typeof value !== 'string') return undefined;
  const variables = new Map(entriesOf(below(server, 'variables')));
  const url = value.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = variables.get(name)?.value;
    return isMap(variable) && typeof variable['default'] === 'string' ? variable['default'] : whole;
  });
  // `https://api.example.com:8443/v1?a=b`, `//api.example.com/v1` or `/v1`: the host with its port, and the path without the query.
  const [, host = '', rawPath = ''] = /^(?:(?:[a-z][a-z\d+.-]*:)?\/\/([^/?#]*))?([^?#]*)/i.exec(url) ?? [];
  // `//v1/./` becomes `/v1`: without empty segments, `.` segments and a slash at the end.
  const path = `/${rawPath}`.replace(/\/(\.?\/)+/g, '/').replace(/\/\.?$/, '');
  return { host: host.toLowerCase(), path: withoutLastSegment(path, version) };
}

function withoutLastSegment(path: string, segment: string | undefined): string {
  return segment !== undefined && path.endsWith(`/${segment}`) ? path.slice(0, -segment.length - 1) : path;
}

/** The majors of two contracts as URL segments: `v67` and `v68`. */
export interface Majors {
  readonly old: string;
  readonly new: string;
}

/**
 * Recognizes the contracts of two majors of one API: the URLs of each contract contain one version, the version of the new
 * contract is higher, and without the version both have a base path in common. Undefined: the second contract is a revision
 * of the first, or describes another API.
 */
export function majorsBetween(old: Documents, now: Documents): Majors | undefined {
  const [before, after] = [versionIn(old), versionIn(now)];
  if (!before || !after || after.major <= before.major) return undefined;
  if (!before.basePaths.some((path) => after.basePaths.includes(path))) return undefined;
  return { old: `v${before.major}`, new: `v${after.major}` };
}

interface VersionInUrls {
  readonly major: number;
  /** Without the version. */
  readonly basePaths: readonly string[];
}

/** The version at the end of every base path, or at the start of every path. */
function versionIn(documents: Documents): VersionInUrls | undefined {
  const basePaths = basePathsOf(documents);
  const majorInBasePaths = commonMajor(basePaths.map((path) => /\/v(0|[1-9]\d*)$/.exec(path)?.[1]));
  if (majorInBasePaths !== undefined)
    return { major: majorInBasePaths, basePaths: basePaths.map((path) => path.replace(/\/v\d+$/, '')) };
  const paths = [...routesOf(documents).values()].filter(({ kind }) => kind === 'route').map(({ path }) => path);
  const majorInPaths = commonMajor(paths.map((path) => /^\/v(0|[1-9]\d*)(?=\/|$)/.exec(path)?.[1]));
  return majorInPaths === undefined ? undefined : { major: majorInPaths, basePaths };
}

/** The distinct base paths of the whole API. Local addresses count only if nothing else is listed. */
function basePathsOf({ root }: Documents): string[] {
  const addresses = itemsOf(below(root, 'servers')).flatMap((server) => serverAddressOf(server, undefined) ?? []);
  const remote = addresses.filter(isRemote);
  const paths = (remote.length > 0 ? remote : addresses).map(({ path }) => path);
  return [...new Set(paths.length > 0 ? paths : [''])];
}

function commonMajor(majors: readonly (string | undefined)[]): number | undefined {
  const [first] = majors;
  return first !== undefined && majors.every((one) => one === first) ? Number(first) : undefined;
}
