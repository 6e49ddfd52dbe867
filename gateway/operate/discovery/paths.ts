import { extname } from 'node:path';
import type { Contract, Snapshot, Version } from '../../config/snapshot.ts';

/** RFC 9727 §2: always at the root of the host, not below the base path. */
export const catalogPath = '/.well-known/api-catalog';

const contractsPrefix = '/contracts/';
const guidesPrefix = '/guides/';
const feedsPrefix = '/lifecycle.';
const feedName = /^(?:ics|atom)$/;
const guideName = /^v(?:0|[1-9]\d*)-to-v(?:0|[1-9]\d*)(?:\.md)?$/;
const contractName = /^v(?:0|[1-9]\d*)\.(?:yaml|json)$/;

/**
 * Whether `path` (as received, without its query) belongs to discovery and not to a version. It is called for every request, so most
 * paths are compared without a copy. Similar but invalid names do not match: the gateway answers them with 400 or 404.
 */
export function isDiscovery(path: string, snapshot: Snapshot): boolean {
  if (path === catalogPath) return true;
  const base = snapshot.gateway.basePath;
  if (!path.startsWith(base)) return false;
  if (path.length <= base.length + 1) return path.length === base.length || path.endsWith('/');
  if (path.startsWith(feedsPrefix, base.length)) return feedName.test(path.slice(base.length + feedsPrefix.length));
  if (path.startsWith(guidesPrefix, base.length)) return guideName.test(path.slice(base.length + guidesPrefix.length));
  return (
    path.startsWith(contractsPrefix, base.length) && contractName.test(path.slice(base.length + contractsPrefix.length))
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
export function calendarPath(snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}${feedsPrefix}ics`;
}

/** All dates as an Atom feed (RFC 4287), root-relative. */
export function feedPath(snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}${feedsPrefix}atom`;
}

export function indexPath(snapshot: Snapshot): string {
  return snapshot.gateway.basePath || '/';
}

/** The file name of a published contract: `v1.yaml`. Undefined without a contract, or if it is not published. */
export function publishedName(version: Version): string | undefined {
  if (version.contract?.publish !== true) return undefined;
  return `${version.name}.${isJson(version.contract) ? 'json' : 'yaml'}`;
}

export function contractPath(version: Version, snapshot: Snapshot): string | undefined {
  const name = publishedName(version);
  return name && `${snapshot.gateway.basePath}${contractsPrefix}${name}`;
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
