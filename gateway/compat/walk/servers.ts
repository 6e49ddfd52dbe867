import type { Documents } from '../contract/documents.ts';
import { below, entriesOf, isMap, itemsOf, type Located } from '../contract/place.ts';
import type { Route } from './routes.ts';

interface Address {
  readonly host: string;
  /** `/v1`; empty where the host alone is named. */
  readonly path: string;
}

/** Which servers an operation is reached at, and where the contract lists them. */
export interface Servers {
  readonly at: Located;
  readonly addresses: readonly Address[];
}

/**
 * Those of the operation, or of its path, or of the whole API; undefined: nothing is said. `version`: a base path that
 * ends in it means the one without, as a path that begins with it does.
 */
export function serversOf(
  { kind, item, operation }: Route,
  { root }: Documents,
  version?: string,
): Servers | undefined {
  if (kind !== 'route') return undefined;
  const at = [operation, item, root].map((one) => below(one, 'servers')).find((list) => itemsOf(list).length > 0);
  return at && { at, addresses: itemsOf(at).flatMap((server) => addressOf(server, version) ?? []) };
}

/**
 * The base paths under which routes were reached and are no longer, and those that they have now; undefined: none went.
 * Contracts name other hosts for other environments: a base path that goes along with its host says nothing as long as
 * another one stays.
 */
export function movedBases(old: Servers | undefined, now: Servers | undefined): [from: string, to: string] | undefined {
  if (!old || !now) return undefined;
  const [before, after] = comparable(old.addresses, now.addresses);
  if (before.length === 0 || after.length === 0) return undefined;
  const [paths, hosts] = [new Set(after.map(({ path }) => path)), new Set(after.map(({ host }) => host))];
  const gone = before.filter(({ path }) => !paths.has(path));
  const isAllGone = gone.length === before.length;
  const lost = isAllGone ? gone : gone.filter(({ host }) => hosts.has(host));
  return lost.length === 0 ? undefined : [inWords(lost), inWords(after)];
}

/** What is on the developer's own machine counts where there is nothing else. */
function comparable(old: readonly Address[], now: readonly Address[]): [readonly Address[], readonly Address[]] {
  const [before, after] = [old.filter(isRemote), now.filter(isRemote)];
  return before.length + after.length === 0 ? [old, now] : [before, after];
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
