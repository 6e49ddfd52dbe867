import { extname } from 'node:path';
import type { Contract, Snapshot, Version } from '../config/snapshot.ts';

/** RFC 9727 §2: at the root of the host, whatever the base path. */
export const catalogPath = '/.well-known/api-catalog';

const contracts = '/contracts/';
const guides = '/guides/';
const guideName = /^v(?:0|[1-9]\d*)-to-v(?:0|[1-9]\d*)(?:\.md)?$/;
const contractName = /^v(?:0|[1-9]\d*)\.(?:yaml|json)$/;

/**
 * Whether `path` (as received, without its query) is answered here and not by a version.
 * Asked of every request, so it compares in place; names that are almost right are left to the gateway's own 400 and 404.
 */
export function isDiscovery(path: string, snapshot: Snapshot): boolean {
  if (path === catalogPath) return true;
  const base = snapshot.gateway.basePath;
  if (!path.startsWith(base)) return false;
  if (path.length <= base.length + 1) return path.length === base.length || path.endsWith('/');
  if (path.startsWith(guides, base.length)) return guideName.test(path.slice(base.length + guides.length));
  return path.startsWith(contracts, base.length) && contractName.test(path.slice(base.length + contracts.length));
}

/** Where a version answers, root-relative. */
export function versionPath(version: Version, snapshot: Snapshot): string {
  return `${snapshot.gateway.basePath}/${version.name}`;
}

export function indexPath(snapshot: Snapshot): string {
  return snapshot.gateway.basePath || '/';
}

/** The file name under which a version's contract is published; undefined when there is none or it is hidden. */
export function publishedName(version: Version): string | undefined {
  if (version.contract?.publish !== true) return undefined;
  return `${version.name}.${isJson(version.contract) ? 'json' : 'yaml'}`;
}

export function contractPath(version: Version, snapshot: Snapshot): string | undefined {
  const name = publishedName(version);
  return name && `${snapshot.gateway.basePath}${contracts}${name}`;
}

/**
 * The registered types of RFC 9512 and RFC 8259. `application/openapi+yaml` and `+json` say more,
 * but are an Internet-Draft still, and tools that do not know them would refuse the document.
 */
export function contractType(contract: Contract): string {
  return isJson(contract) ? 'application/json' : 'application/yaml';
}

function isJson(contract: Contract): boolean {
  return extname(contract.file).toLowerCase() === '.json';
}
