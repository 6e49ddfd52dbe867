import type { Identifier, Snapshot, Version } from '../config/snapshot.ts';
import type { Problem } from '../problems/problem.ts';
import { httpDate } from '../shared/httpDate.ts';

/** A request, as restrictions see it. */
export interface RestrictedRequest {
  /** As in the ledger: `x-api-key:#4f2a91c07be05d3a`. */
  readonly client: string;
  readonly method: string;
  /** The path below the version, without the query. */
  readonly resource: string;
  /** Epoch ms. */
  readonly now: number;
  readonly state: RestrictionState;
}

export type RestrictionKind = 'waiver' | 'freeze' | 'brownout';

/** What a restriction decides about a request. */
export type Ruling =
  /** It is answered with this problem. */
  { readonly kind: 'refused'; readonly problem: Problem } | Waived;

/** No restriction refuses the client until this instant (epoch ms), not even the retirement of the version. */
export interface Waived {
  readonly kind: 'waived';
  readonly until: number;
  /** The same as an IMF-fixdate. */
  readonly sunset: string;
}

/** A rule of a version that refuses some of its clients. A retired version does not ask it. */
export interface Restriction {
  readonly kind: RestrictionKind;
  /** Undefined: it does not apply to the request. */
  rule(request: RestrictedRequest): Ruling | undefined;
  /** Whether it would refuse the request for some client. A preflight does not identify its client. */
  mayRefuse(request: Omit<RestrictedRequest, 'client'>): boolean;
}

/** What the operating side tells every process that serves clients. Kept over reloads. A structured clone preserves it. */
export interface RestrictionState {
  /** By version: the clients first seen before its freeze. A version that is missing refuses nobody: its freeze is inactive. */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>;
  /** The brownouts that may refuse, by `v1 2027-03-02T14:00:00Z`. A window that is missing refuses nobody. */
  readonly brownouts: ReadonlySet<string>;
}

export const noRestrictionState: RestrictionState = { known: new Map(), brownouts: new Set() };

/** The freeze and brownouts of a version, in the order in which they are asked. */
const factories: readonly ((version: Version, snapshot: Snapshot) => readonly Restriction[])[] = [];

/** The waivers and restrictions of one version. */
export class ClientRestrictions {
  /** The request fields that identify a client, in lower case. */
  readonly vary: readonly string[];
  /** Whether a client may be identified by its address. */
  readonly isPrivate: boolean;
  readonly #waivers: ReadonlyMap<string, Waived>;
  readonly #restrictions: readonly Restriction[];
  readonly #lastEnd: number;

  private constructor(
    waivers: Version['waivers'],
    restrictions: readonly Restriction[],
    identify: readonly Identifier[],
  ) {
    // The earliest first, so that a client with two waivers has the later end.
    this.#waivers = new Map(
      waivers
        .toSorted((a, b) => a.until - b.until)
        .flatMap(({ clients, until }): [string, Waived][] => {
          const waived = { kind: 'waived', until, sunset: httpDate(until) } as const;
          return clients.map((client) => [client, waived]);
        }),
    );
    this.#restrictions = restrictions;
    this.#lastEnd = Math.max(0, ...waivers.map(({ until }) => until));
    this.vary = [...new Set(identify.map(fieldOf))].filter((name) => name !== undefined);
    this.isPrivate = identify.some(({ by }) => by === 'address');
  }

  /** Undefined for a version without restrictions: its clients are not identified before their requests are forwarded. */
  static of(version: Version, snapshot: Snapshot): ClientRestrictions | undefined {
    const restrictions = factories.flatMap((create) => create(version, snapshot));
    if (version.waivers.length + restrictions.length === 0) return undefined;
    return new ClientRestrictions(version.waivers, restrictions, snapshot.usage.identify);
  }

  /** Undefined: the client has no waiver, or its waiver has ended. */
  waiverOf(client: string, now: number): Waived | undefined {
    const waiver = this.#waivers.get(client);
    return waiver !== undefined && now < waiver.until ? waiver : undefined;
  }

  /** Whether the waiver of some client has not ended. */
  hasWaiver(now: number): boolean {
    return now < this.#lastEnd;
  }

  /** Asks the restrictions of a version that is not retired. Undefined: none of them applies. */
  rule(request: RestrictedRequest): { readonly by: RestrictionKind; readonly problem: Problem } | undefined {
    for (const restriction of this.#restrictions) {
      const ruling = restriction.rule(request);
      if (ruling?.kind === 'refused') return { by: restriction.kind, problem: ruling.problem };
      if (ruling) return undefined;
    }
    return undefined;
  }

  /** Whether a restriction of a version that is not retired would refuse the request for some client. */
  mayRefuse(request: Omit<RestrictedRequest, 'client'>): boolean {
    return this.#restrictions.some((restriction) => restriction.mayRefuse(request));
  }
}

/** The request field that an identifier reads; undefined: none. */
function fieldOf(identifier: Identifier): string | undefined {
  if (identifier.by === 'header') return identifier.name;
  if (identifier.by === 'jwt') return 'authorization';
  return identifier.by === 'address' ? undefined : identifier.by;
}
