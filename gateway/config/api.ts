import type { BrownoutSettings } from './clientRules.ts';
import type { NotifyReceiver } from './notifySettings.ts';

// A host serves one API or more. The id of a version names its API: `v1` is a version of the API at the root, `orders/v1` one of the
// API below `/orders`. This module takes ids apart, for all others.

/** One API of the host: the settings for its own versions and clients. */
export interface Api {
  /** The path of the API below `gateway.base_path`: `/orders`; '' for the API at the root. */
  readonly base: string;
  /** Whether the pages of the host list it. */
  readonly listed: boolean;
  readonly guard: GuardSettings;
  readonly retire: RetireSettings;
  readonly brownout: BrownoutSettings;
  readonly compat: CompatSettings;
  /** The receivers of its events. Empty: nothing is sent. */
  readonly notify: readonly NotifyReceiver[];
}

// In the settings below, durations are in ms and instants in epoch ms.

/** Limits for reloads that change or remove a version in use. */
export interface GuardSettings {
  /** 0 means off. */
  readonly quiet: number;
  /** 0 means off. */
  readonly notice: number;
  /** How long new targets are tried before they get requests, in ms; 0 means off. `connect`: routes are not tried. */
  readonly trial: number | 'connect';
  /** The id of a version → the reason. The file need not list the version. */
  readonly force: ReadonlyMap<string, string>;
}

export interface RetireSettings {
  readonly quiet: number;
  /** A share of the requests to all versions of the API, 0 to 1. */
  readonly maxShare: number;
  /** `on`: if a client usually pauses for about `quiet` or longer, the verdict waits for its next call, for at most twice its usual pause. */
  readonly rhythm: 'on' | 'off';
  readonly ignoreClients: readonly string[];
}

export interface CompatSettings {
  /** Rule id → the configured level, which replaces the built-in level. */
  readonly rules: ReadonlyMap<string, 'error' | 'warn' | 'info' | 'off'>;
  readonly exempt: readonly CompatExemption[];
}

/** A finding that is exempt from the check until a date. */
export interface CompatExemption {
  readonly rule: string;
  /** In the form of the report: `GET /cocktails`. */
  readonly route: string;
  /** The pointer in the form of the report; undefined: the whole route. */
  readonly pointer: string | undefined;
  readonly reason: string;
  readonly until: number;
}

/** The APIs of a host, by their base. The API at the root is always there, even without versions. */
export type Apis<One = Api> = ReadonlyMap<string, One>;

interface Host<One> {
  readonly apis: Apis<One>;
}

/** The base of the API at the root. */
export const rootBase = '';

/** The base of the API of a version: '' of `v1`, `/orders` of `orders/v1`. */
export function baseOf(version: string): string {
  const end = version.lastIndexOf('/');
  return end === -1 ? rootBase : `/${version.slice(0, end)}`;
}

/** The path segment of a version: `v1` of `orders/v1`. */
export function segmentOf(version: string): string {
  return version.slice(version.lastIndexOf('/') + 1);
}

/** The id of the version of an API with this path segment. */
export function idIn(base: string, segment: string): string {
  return `${base}/${segment}`.slice(1);
}

/** A base has at most so many segments. */
export const maxBaseSegments = 4;
const baseSegment = '[A-Za-z0-9._~-]+';

/** The characters of a base. */
export const basePattern = new RegExp(`^(?:/${baseSegment})+$`);

// No segment of a base looks like a version, so the first segment that does ends an id.
const idAtStart = new RegExp(`^(?:(?![vV]\\d)${baseSegment}/){0,${maxBaseSegments}}v(?:0|[1-9]\\d{0,15})(?![^/])`);

/** The form of an id, for a JSON Schema. */
export const idPattern = `${idAtStart.source}$`;

/** Whether a text has the form of an id: `v1`, `orders/v1`. */
export function isId(text: string): boolean {
  return leadingId(text) === text;
}

/** The id with which a text begins: `orders/v1` of `orders/v1/items`. */
export function leadingId(text: string): string | undefined {
  return idAtStart.exec(text)?.[0];
}

/** The major of a version: 12 of `v12` and of `orders/v12`. */
export function majorOf(id: string): number {
  return Number(segmentOf(id).slice(1));
}

/** Sorts ids by API, the API at the root first, then by major. */
export function compareIds(a: string, b: string): number {
  const [baseOfA, baseOfB] = [baseOf(a), baseOf(b)];
  if (baseOfA !== baseOfB) return baseOfA < baseOfB ? -1 : 1;
  return majorOf(a) - majorOf(b);
}

/** How many segments the longest id of the host may have. */
export function segmentsOfIds({ apis }: Host<unknown>): number {
  return Math.max(...[...apis.keys()].map((base) => base.split('/').length));
}

/** What precedes the segment of a version in a path of this host: `/orders` below the base path of the gateway. */
export function apiPathOf(version: string, { gateway }: { readonly gateway: { readonly basePath: string } }): string {
  return gateway.basePath + baseOf(version);
}

/** The API at the root, whose settings are also the defaults of all others. */
export function rootApi<One>({ apis }: Host<One>): One {
  const root = apis.get(rootBase);
  if (root === undefined) throw new Error('A host without the API at the root.');
  return root;
}

/** The API of a version. A version of an API that the host does not have is treated as one of the root. */
export function apiOf<One>(version: string, host: Host<One>): One {
  return host.apis.get(baseOf(version)) ?? rootApi(host);
}

/** The next higher major of the same API. `sorted`: the versions of all APIs, in the order of `compareIds`. */
export function nextInApi<Version extends { readonly name: string }>(
  version: Version,
  sorted: readonly Version[],
): Version | undefined {
  const base = baseOf(version.name);
  for (let at = sorted.indexOf(version) + 1; at < sorted.length; at += 1) {
    const following = sorted[at];
    if (following && baseOf(following.name) === base) return following;
  }
  return undefined;
}

/**
 * The totals of a version and of the listed versions of its API. Beside the requests to a large API, each version of a small one would
 * have hardly any share, although its clients still call it.
 */
export function totalsOfApi<Total extends { readonly version: string }>(
  version: string,
  totals: readonly Total[],
  { versions }: { readonly versions: ReadonlyMap<string, unknown> },
): Total[] {
  const base = baseOf(version);
  return totals.filter((one) => one.version === version || (versions.has(one.version) && baseOf(one.version) === base));
}

/** The longest quiet period of all APIs, ms: `guard.quiet` or `retire.quiet`. */
export function longestQuiet({ apis }: Host<Api>, section: 'guard' | 'retire'): number {
  return Math.max(...[...apis.values()].map((api) => api[section].quiet));
}

/**
 * Which API ignores which client, to store and to compare: `retire.ignore_clients`. What the API at the root ignores is listed as it is,
 * what another one ignores with its base and a line break before it, which is in no name of a client.
 */
export function ignoredClientsOf({ apis }: Host<Pick<Api, 'base' | 'retire'>>): string[] {
  const ignored = [...apis.values()].flatMap(({ base, retire }) =>
    retire.ignoreClients.map((client) => (base === rootBase ? client : `${base}\n${client}`)),
  );
  return [...new Set(ignored)];
}

/** The receivers of all APIs. Those of the root are first. */
export function receiversOf(host: Host<Api>): ApiReceiver[] {
  const others = [...host.apis.values()].filter(({ base }) => base !== rootBase);
  const ofOthers = others.flatMap(({ base, notify }) => notify.map((one) => ({ ...one, api: base })));
  return [...rootApi(host).notify, ...ofOthers];
}

/** A receiver, and whose it is. */
export interface ApiReceiver extends NotifyReceiver {
  /** The base of its API. Undefined: it is one of the root, and gets the events of all APIs. */
  readonly api?: string;
}

/** The API of a version in metrics, log lines, spans and events, which do not name the root. Undefined: the root. */
export function namedApiOf(version: string): string | undefined {
  return baseOf(version) || undefined;
}

/** What stands for all versions of an API where the id of a version may stand: `orders/`; '' for the API at the root, and for all APIs. */
export function everyVersionIn(base: string): string {
  return idIn(base, '');
}

/** How the pages of an API name a version: one of its own by its segment, one of another API by its id. */
export function nameIn(base: string, version: string): string {
  return baseOf(version) === base ? segmentOf(version) : version;
}

/** The base of the API of a path without a version: the longest one of whole segments with which the path begins. */
export function baseOfPath(
  path: string,
  host: Host<unknown> & { readonly gateway: { readonly basePath: string } },
): string {
  const { basePath } = host.gateway;
  let found = rootBase;
  if (!path.startsWith(basePath)) return found;
  let end = basePath.length;
  for (let left = segmentsOfIds(host) - 1; left > 0 && path.charAt(end) === '/'; left -= 1) {
    const next = path.indexOf('/', end + 1);
    end = next === -1 ? path.length : next;
    const base = path.slice(basePath.length, end);
    if (host.apis.has(base)) found = base;
  }
  return found;
}

/** Whether the host serves an API with this base. Beside others, the API at the root is not served if it has no versions. */
export function servesApi(
  base: string,
  { apis, versions }: Host<unknown> & { readonly versions: ReadonlyMap<string, unknown> },
): boolean {
  if (base !== rootBase || apis.size === 1) return apis.has(base);
  for (const version of versions.keys()) if (baseOf(version) === rootBase) return true;
  return false;
}

/** The bases of the APIs that the pages of the host list, without the one at the root. */
export function listedBases({ apis }: Host<Api>): string[] {
  return [...apis.values()].flatMap(({ base, listed }) => (listed && base !== rootBase ? [base] : []));
}

/**
 * The edit, together with the APIs that it removes. An API keeps its running settings, because those of the root may be looser. If its
 * settings are not known, it gets the strictest ones of all APIs. `versions`: the versions about which the guard asks.
 */
export function withRemovedApis<One extends Host<Api>>(
  edit: One,
  running: Host<Api> | undefined,
  versions: Iterable<string>,
): One {
  const bases = new Set([...(running?.apis.keys() ?? []), ...[...versions].map(baseOf)]);
  const removed = [...bases].filter((base) => !edit.apis.has(base));
  if (removed.length === 0) return edit;
  const all = [edit, ...(running ? [running] : [])].flatMap(({ apis }) => [...apis.values()]);
  const root = rootApi(edit);
  const strictest: Api = {
    ...root,
    guard: {
      ...root.guard,
      quiet: Math.max(...all.map(({ guard }) => guard.quiet)),
      notice: Math.max(...all.map(({ guard }) => guard.notice)),
    },
    retire: { ...root.retire, quiet: Math.max(...all.map(({ retire }) => retire.quiet)), ignoreClients: [] },
  };
  const added = removed.map((base): [string, Api] => {
    const api = running?.apis.get(base) ?? strictest;
    // Only a reason that the edit gives can force it.
    return [base, { ...api, base, guard: { ...api.guard, force: new Map() } }];
  });
  return { ...edit, apis: new Map([...edit.apis, ...added]) };
}

/** The reasons in `guard.force` for a version: that of its API, and that of the root, which may name a version of any API. */
export function forceReasons(
  version: string,
  { apis }: Host<{ readonly guard: Pick<GuardSettings, 'force'> }>,
): string[] {
  const reasons = [baseOf(version), rootBase].map((base) => apis.get(base)?.guard.force.get(version));
  return [...new Set(reasons.filter((reason) => reason !== undefined))];
}

/** The id of the version that a key or a reference of an API means: `/v2` is one of its own versions, `/drinks/v2` one of another API. */
export function idOfReference(base: string, reference: string): string {
  return reference.lastIndexOf('/') === 0 ? idIn(base, reference.slice(1)) : reference.slice(1);
}

/** The path of a version in `routes.yaml`. */
export function pathOfVersion(version: string): string[] {
  const base = baseOf(version);
  return [...(base === rootBase ? [] : ['apis', base]), 'routes', `/${segmentOf(version)}`];
}
