import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isMap, itemsOf, type Located } from '../document/located.ts';
import type { Route } from './routes.ts';

interface Address {
  /** Empty: whichever serves the contract. */
  readonly host: string;
  /** `/v1`; empty where the host alone is named. */
  readonly path: string;
}

/** Which servers an operation is reached at. */
export interface Servers {
  /** Where the contract lists them; undefined: it does not, which means `/`. */
  readonly at: Located | undefined;
  readonly addresses: readonly Address[];
}

/**
 * Those of the operation, or of its path, or of the whole API. `version`: a base path that ends in it means the one
 * without, as a path that begins with it does.
 */
export function serversOf({ item, operation }: Route, { root }: Documents, version?: string): Servers {
  const at = [operation, item, root].map((one) => below(one, 'servers')).find((list) => itemsOf(list).length > 0);
  if (!at) return { at, addresses: [{ host: '', path: '' }] };
  return { at, addresses: itemsOf(at).flatMap((server) => addressOf(server, version) ?? []) };
}

/** The base paths of a contract as a whole, once each; those of this machine count where nothing else is listed. */
export function basePathsOf({ root }: Documents): string[] {
  const addresses = itemsOf(below(root, 'servers')).flatMap((server) => addressOf(server, undefined) ?? []);
  const remote = addresses.filter(isRemote);
  const paths = (remote.length > 0 ? remote : addresses).map(({ path }) => path);
  return [...new Set(paths.length > 0 ? paths : [''])];
}

/**
 * The base paths under which routes were reached and are no longer, and those that they have now; undefined: none went.
 * Contracts name other hosts for other environments: a base path that goes along with its host says nothing as long as
 * another one stays. A list where there was none tells of where the API has been all along.
 */
export function movedBases(old: Servers, now: Servers): [from: string, to: string] | undefined {
  if (!old.at) return undefined;
  const [before, after] = comparable(old, now);
  if (before.length === 0 || after.length === 0) return undefined;
  const gone = before.filter(({ path }) => !after.some((one) => one.path === path));
  const isAllGone = gone.length === before.length;
  const hosts = new Set(after.flatMap((one) => hostsOf(one, before)));
  const lost = isAllGone ? gone : gone.filter(({ host }) => hosts.has(host));
  return lost.length === 0 ? undefined : [inWords(lost), inWords(after)];
}

/** What is on the developer's own machine counts where nothing else is listed. */
function comparable(old: Servers, now: Servers): [readonly Address[], readonly Address[]] {
  const listed = [old, now].flatMap(({ at, addresses }) => (at ? addresses : []));
  if (!listed.some(isRemote)) return [old.addresses, now.addresses];
  return [old.addresses.filter(isRemote), now.addresses.filter(isRemote)];
}

/** A base path without a host is that of every host that had it. */
function hostsOf({ host, path }: Address, before: readonly Address[]): readonly string[] {
  return host === '' ? [host, ...before.filter((one) => one.path === path).map((one) => one.host)] : [host];
}

function isRemote({ host }: Address): boolean {
  return !/^(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(:|$)/i.test(host);
}

function inWords(addresses: readonly Address[]): string {
  return [...new Set(addresses.map(({ path }) => `\`${path || '/'}\``))].join(', ');
}

/** With the defaults of its variables. */
function addressOf(server: Located, version: string | undefined): Address | undefined {
  const { value } = below(server, 'url');
  if (typeof value !== 'string') return undefined;
  const variables = new Map(entriesOf(below(server, 'variables')));
  const url = value.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = variables.get(name)?.value;
    return isMap(variable) && typeof variable['default'] === 'string' ? variable['default'] : whole;
  });
  const [, host = '', rest = ''] = /^(?:(?:[a-z][a-z\d+.-]*:)?\/\/([^/?#]*))?([^?#]*)/i.exec(url) ?? [];
  const path = `/${rest}`.replace(/\/(\.?\/)+/g, '/').replace(/\/\.?$/, '');
  return { host: host.toLowerCase(), path: withoutLast(path, version) };
}

function withoutLast(path: string, version: string | undefined): string {
  return version !== undefined && path.endsWith(`/${version}`) ? path.slice(0, -version.length - 1) : path;
}
