import { extname } from 'node:path';
import { apiPathOf, baseOfPath, rootBase, segmentOf, servesApi } from '../../config/api.ts';
import type { Contract, Snapshot, Version } from '../../config/snapshot.ts';
import { guideNameOfApi } from '../../versions/lifecycle/guide.ts';

/** RFC 9727 §2: always at the root of the host, not below the base path. */
export const catalogPath = '/.well-known/api-catalog';

const contractsPrefix = '/contracts/';
const guidesPrefix = '/guides/';
const feedsPrefix = '/lifecycle.';
const feedName = /^(?:ics|atom)$/;
const guideName = /^v(?:0|[1-9]\d*)-to-(?:(.+)-)?v(?:0|[1-9]\d*)(?:\.md)?$/;
const contractName = /^v(?:0|[1-9]\d*)\.(?:yaml|json)$/;

/**
 * Whether `path` (as received, without its query) belongs to discovery and not to a version. Similar but invalid names do not match:
 * the gateway answers them with 400 or 404.
 */
export function isDiscovery(path: string, snapshot: Snapshot): boolean {
  if (path === catalogPath) return true;
  const { basePath } = snapshot.gateway;
  if (!path.startsWith(basePath)) return false;
  const base = baseOfPath(path, snapshot);
  const below = path.slice(basePath.length + base.length);
  if (below.length <= 1) return below === '' || below === '/';
  if (below.startsWith(feedsPrefix)) return feedName.test(below.slice(feedsPrefix.length));
  if (!servesApi(base, snapshot)) return false;
  if (below.startsWith(guidesPrefix)) return isGuideName(below.slice(guidesPrefix.length), base, snapshot);
  return below.startsWith(contractsPrefix) && contractName.test(below.slice(contractsPrefix.length));
}

/** `v1-to-v2`, or `v1-to-orders-v1` if the host has another API with the base `/orders`. */
function isGuideName(name: string, base: string, { apis }: Snapshot): boolean {
  const [match, successorApi] = guideName.exec(name) ?? [];
  if (match === undefined || successorApi === undefined) return match !== undefined;
  return [...apis.keys()].some(
    (other) => other !== base && other !== rootBase && guideNameOfApi(other) === successorApi,
  );
}

/** The path prefix of a version, root-relative. */
export function versionPath(version: Version, snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}/${version.name}`;
}

/**
 * The command with which a client tests whether it ignores unknown members. `base`: the URL of the version, or its path if the host
 * is not known. `mayNameRoute`: whether the command may contain a route of the contract. Undefined if the version has no `grease` or no contract.
 */
export function greaseCurlCommand(
  { grease, contract, adapter }: Version,
  base: string,
  { mayNameRoute }: { readonly mayNameRoute: boolean },
): string | undefined {
  if (!grease || !contract) return undefined;
  const adaptedRoutes = adapter?.mode === 'serve' ? adapter.routes : undefined;
  // An adapter answers 410 for the routes that it does not list, or lists as `gone`.
  const isServed = (path: string): boolean =>
    adaptedRoutes?.some((route) => route.method === 'GET' && route.path === path && !('gone' in route)) ?? true;
  const entries = mayNameRoute ? contract.paths.entries() : [];
  // The first route with GET whose path can be called as it is, without parameters.
  const [path = ''] =
    entries.find(([path, methods]) => /^[\w./-]+$/.test(path) && /\bGET\b/.test(methods) && isServed(path)) ?? [];
  const url = `${base.startsWith('/') ? 'http://HOST' : ''}${base}${path}`;
  return `curl -i -H 'Prefer: grease' ${url}`;
}

/** All dates as an iCalendar object (RFC 5545), root-relative. */
export function calendarPath(apiPath: string): string {
  return `${apiPath}${feedsPrefix}ics`;
}

/** All dates as an Atom feed (RFC 4287), root-relative. */
export function feedPath(apiPath: string): string {
  return `${apiPath}${feedsPrefix}atom`;
}

export function indexPath(apiPath: string): string {
  return apiPath || '/';
}

/** The file name of a published contract: `v1.yaml`. Undefined without a contract, or if it is not published. */
export function publishedName(version: Version): string | undefined {
  if (version.contract?.publish !== true) return undefined;
  return `${segmentOf(version.name)}.${isJson(version.contract) ? 'json' : 'yaml'}`;
}

export function contractPath(version: Version, snapshot: Snapshot): string | undefined {
  const name = publishedName(version);
  return name && `${apiPathOf(version.name, snapshot)}${contractsPrefix}${name}`;
}

/**
 * The registered types of RFC 9512 and RFC 8259. `application/openapi+yaml` and `+json` would be more specific. But they are still an
 * Internet-Draft, and tools that do not know them would reject the document.
 */
export function contractType(contract: Contract): string {
  return isJson(contract) ? 'application/json' : 'application/yaml';
}

function isJson(contract: Contract): boolean {
  return extname(contract.file).toLowerCase() === '.json';
}
