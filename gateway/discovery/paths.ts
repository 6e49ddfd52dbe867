import { extname } from 'node:path';
import type { Contract, Snapshot, Version } from '../config/snapshot.ts';

/** RFC 9727 §2: at the root of the host, whatever the base path. */
export const catalogPath = '/.well-known/api-catalog';

const contracts = '/contracts/';
const guides = '/guides/';
const lifecycle = '/lifecycle.';
const feedName = /^(?:ics|atom)$/;
const guideName = /^v(?:0|[1-9]\d*)-to-v(?:0|[1-9]\d*)(?:\.md)?$/;
const contractName = /^v(?:0|[1-9]\d*)\.(?:yaml|json)$/;

/**
 * Whether `path` (as received, without its query) belongs to discovery and not to a version. Called for every request, so it
 * compares in place. Similar but invalid names are not matched: the gateway answers them with 400 or 404.
 */
export function isDiscovery(path: string, snapshot: Snapshot): boolean {
  if (path === catalogPath) return true;
  const base = snapshot.gateway.basePath;
  if (!path.startsWith(base)) return false;
  if (path.length <= base.length + 1) return path.length === base.length || path.endsWith('/');
  if (path.startsWith(lifecycle, base.length)) return feedName.test(path.slice(base.length + lifecycle.length));
  if (path.startsWith(guides, base.length)) return guideName.test(path.slice(base.length + guides.length));
  return path.startsWith(contracts, base.length) && contractName.test(path.slice(base.length + contracts.length));
}

/** The path prefix of a version, root-relative. */
export function versionPath(version: Version, snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}/${version.name}`;
}

/**
 * The command with which a client tests whether it ignores unknown members. `base`: the URL of the version, or its path if the host
 * is not known. Undefined if the version has no `grease` or no contract.
 */
export function greaseCommand({ grease, contract }: Version, base: string): string | undefined {
  if (!grease || !contract) return undefined;
  const routes = contract.paths
    .entries()
    .filter(([path, methods]) => /^[\w./-]+$/.test(path) && /\bGET\b/.test(methods));
  const url = `${base.startsWith('/') ? 'http://HOST' : ''}${base}${routes[0]?.[0] ?? ''}`;
  return `curl -i -H 'Prefer: grease' ${url}`;
}

/** All dates as an iCalendar object (RFC 5545), root-relative. */
export function calendarPath(snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}${lifecycle}ics`;
}

/** All dates as an Atom feed (RFC 4287), root-relative. */
export function feedPath(snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}${lifecycle}atom`;
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
  return name && `${snapshot.gateway.basePath}${contracts}${name}`;
}

/**
 * The registered types of RFC 9512 and RFC 8259. `application/openapi+yaml` and `+json` would be more specific, but are still
 * an Internet-Draft, and tools that do not know them would reject the document.
 */
export function contractType(contract: Contract): string {
  return isJson(contract) ? 'application/json' : 'application/yaml';
}

function isJson(contract: Contract): boolean {
  return extname(contract.file).toLowerCase() === '.json';
}
