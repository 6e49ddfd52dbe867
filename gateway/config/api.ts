import type { BrownoutSettings } from './clientRules.ts';
import type { NotifyReceiver } from './notifySettings.ts';

// A host serves one API or more. The id of a version names its API: `v1` is a version of the API at the root, `orders/v1` one of the
// API below `/orders`. This module takes ids apart, for all others.

/** One API of the host: the settings for its own versions and clients. */
export interface Api {
  /** The path of the API below `gateway.base_path`: `/orders`; '' for the API at the root. */
  readonly base: string;
  readonly guard: GuardSettings;
  readonly retire: RetireSettings;
  readonly brownout: BrownoutSettings;
  readonly compat: CompatSettings;
  /** The receivers of its events. Empty: nothing is sent. */
  readonly notify: readonly NotifyReceiver[];
  /** Who answers for the API, for reports. */
  readonly owner?: string | undefined;
  /** False: left out where the APIs of the host are listed. */
  readonly listed?: boolean;
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

/** The next higher major of the same API. `sorted`: the versions of all APIs, lowest major first. */
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

/** The clients whose calls at least one API does not count: `retire.ignore_clients`. */
export function clientsIgnoredSomewhere({ apis }: Host<Api>): string[] {
  return [...new Set([...apis.values()].flatMap(({ retire }) => retire.ignoreClients))];
}

/** The receivers of all APIs. */
export function receiversOf({ apis }: Host<Api>): NotifyReceiver[] {
  return [...apis.values()].flatMap(({ notify }) => notify);
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
