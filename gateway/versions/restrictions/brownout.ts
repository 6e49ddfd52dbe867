import { apiOf, segmentOf } from '../../config/api.ts';
import type { BrownoutWindow } from '../../config/clientRules.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { Problem } from '../../problems/problem.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { withoutFinalSlash } from '../../shared/pathTable.ts';
import { pathWithoutIds } from '../../usage/counting/routeNames.ts';
import { brownoutAt, brownoutKey, nextBrownout } from '../lifecycle/brownouts.ts';
import { problemMembersAboutEnd } from '../lifecycle/guide.ts';
import type { Refused, RestrictedRequest, Restriction } from './restriction.ts';

// If clients had to wait for an hour, their owners would not notice the brownout.
const maxRetryAfterSeconds = 120;

/**
 * The clients and routes that one brownout refuses, for the pipeline, the plan and the estimate of refusals. The choice of
 * clients does not depend on the window: a larger share includes all clients of a smaller share.
 */
export class BrownoutScope {
  readonly window: BrownoutWindow;
  readonly key: string;
  readonly #sparedClients: ReadonlySet<string>;
  readonly #hashSeed: number;
  /** Clients whose hash is below this number are refused. */
  readonly #hashLimit: number;
  readonly #contract: Version['contract'];
  /** Method and template; undefined: all routes. */
  readonly #routes: ReadonlySet<string> | undefined;

  constructor(
    { name, contract }: Pick<Version, 'name' | 'contract'>,
    window: BrownoutWindow,
    sparedClients: readonly string[],
  ) {
    const { routes, clientShare } = window;
    this.window = window;
    this.key = brownoutKey(name, window);
    this.#sparedClients = new Set(sparedClients);
    this.#hashSeed = fnv1a(`${segmentOf(name)} `, fnvOffset);
    this.#hashLimit = clientShare * 2 ** 32;
    this.#contract = contract;
    const keysOf = ({ method, path }: { readonly method: string; readonly path: string }): string[] =>
      (method === 'GET' ? ['GET', 'HEAD'] : [method]).map(
        (refusedMethod) => `${refusedMethod} ${this.#templateOf(path)}`,
      );
    this.#routes = routes && new Set(routes.flatMap(keysOf));
  }

  /** `client`: as in the ledger. */
  includesClient(client: string): boolean {
    return spreadEvenly(fnv1a(client, this.#hashSeed)) < this.#hashLimit && !this.#sparedClients.has(client);
  }

  /** `path`: without version and query, or the path of a route in the ledger. HEAD is refused with GET. */
  includesRoute(method: string, path: string): boolean {
    return this.#routes === undefined || this.#routes.has(`${method} ${this.#templateOf(path)}`);
  }

  /** The template of a path, as in the ledger. For `/drinks/mine`, it is `/drinks/{id}` unless the contract lists `/drinks/mine`. */
  #templateOf(path: string): string {
    if (this.#contract) return this.#contract.paths.find(path)?.template ?? withoutFinalSlash(path);
    // Parameters become numbers, so that `/drinks/{id}.json` gets the same name in the ledger as `/drinks/7.json`.
    return pathWithoutIds(withoutFinalSlash(path).replace(/\{[^{}]*\}/g, '0'));
  }
}

const fnvOffset = 0x811c9dc5;

/** FNV-1a over the UTF-16 code units of `text`. */
function fnv1a(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** Spreads a hash evenly over 0 to 2^32 - 1: FNV alone does not mix the high bits of similar names. */
function spreadEvenly(hash: number): number {
  let mix = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}

/** The brownouts of a version. A brownout that the operating side has not approved refuses no client. */
export class Brownouts implements Restriction {
  readonly kind = 'brownout';
  readonly #version: Version;
  readonly #snapshot: Snapshot;
  readonly #scopes: ReadonlyMap<BrownoutWindow, BrownoutScope>;

  private constructor(version: Version, snapshot: Snapshot) {
    this.#version = version;
    this.#snapshot = snapshot;
    const { spared } = apiOf(version.name, snapshot).brownout;
    this.#scopes = new Map(version.brownouts.map((window) => [window, new BrownoutScope(version, window, spared)]));
  }

  /** None for a version without brownouts. */
  static of(version: Version, snapshot: Snapshot): readonly Restriction[] {
    return version.brownouts.length === 0 ? [] : [new Brownouts(version, snapshot)];
  }

  rulingOn(request: RestrictedRequest): Refused | undefined {
    const scope = this.#scopeOf(request);
    if (scope === undefined || !scope.includesClient(request.client)) return undefined;
    return { kind: 'refused', problem: brownoutProblem(this.#version, this.#snapshot, scope.window, request) };
  }

  mayRefuse(request: Omit<RestrictedRequest, 'client'>): boolean {
    const scope = this.#scopeOf(request);
    return scope !== undefined && scope.window.clientShare > 0;
  }

  /** The brownout that refuses this request if its client is one of the refused ones. */
  #scopeOf({ method, resource, now, state }: Omit<RestrictedRequest, 'client'>): BrownoutScope | undefined {
    const window = brownoutAt(this.#version.brownouts, now);
    const scope = window && this.#scopes.get(window);
    if (scope === undefined || !state.brownouts.has(scope.key)) return undefined;
    return scope.includesRoute(method, resource) ? scope : undefined;
  }
}

function brownoutProblem(
  version: Version,
  snapshot: Snapshot,
  { end }: BrownoutWindow,
  { now, state }: RestrictedRequest,
): Problem {
  const next = nextBrownout(version, state.cancelled, now);
  const remainingSeconds = Math.max(1, Math.ceil((end - now) / 1000));
  const { status } = apiOf(version.name, snapshot).brownout;
  return {
    code: 'VERSION_BROWNOUT',
    ...(status === 503 ? {} : { status }),
    members: {
      version: segmentOf(version.name),
      ends_at: rfc3339(end),
      next: next === undefined ? null : rfc3339(next.at),
      ...problemMembersAboutEnd(version, snapshot, now),
    },
    fields: ['Cache-Control', 'no-store', 'Retry-After', String(Math.min(remainingSeconds, maxRetryAfterSeconds))],
  };
}
