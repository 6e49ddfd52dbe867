import type { Identifier, Snapshot, Version } from '../../config/snapshot.ts';
import { httpDate } from '../../shared/httpDate.ts';
import { Brownouts } from './brownout.ts';
import { Freeze } from './freeze.ts';
import type { Refused, RestrictedRequest, Restriction, RestrictionKind, Waived, Waivers } from './restriction.ts';

/** The restrictions of a version, in the order in which they decide. */
const factories: readonly ((version: Version, snapshot: Snapshot) => readonly Restriction[])[] = [
  Freeze.of,
  Brownouts.of,
];

/** The waivers and restrictions of one version. */
export class ClientRestrictions implements Waivers {
  /** The request fields that identify a client, in lower case. */
  readonly vary: readonly string[];
  /** Whether a client may be identified by its address. Then shared caches must not store responses; see `CacheVariation`. */
  readonly isPrivate: boolean;
  readonly #waivers: ReadonlyMap<string, Waived>;
  readonly #restrictions: readonly Restriction[];
  readonly #lastWaiverEnd: number;

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
    this.#lastWaiverEnd = Math.max(0, ...waivers.map(({ until }) => until));
    this.vary = [...new Set(identify.map(fieldOf))].filter((name) => name !== undefined);
    this.isPrivate = identify.some(({ by }) => by === 'address');
  }

  /** Undefined without waivers and restrictions: then no client is identified before its request is forwarded. */
  static of(version: Version, snapshot: Snapshot): ClientRestrictions | undefined {
    const restrictions = factories.flatMap((create) => create(version, snapshot));
    if (version.waivers.length + restrictions.length === 0) return undefined;
    return new ClientRestrictions(version.waivers, restrictions, snapshot.usage.identify);
  }

  waiverOf(client: string, now: number): Waived | undefined {
    const waiver = this.#waivers.get(client);
    return waiver !== undefined && now < waiver.until ? waiver : undefined;
  }

  /** Whether the waiver of some client has not ended. */
  hasWaiver(now: number): boolean {
    return now < this.#lastWaiverEnd;
  }

  /** Asks the restrictions of a version that is not retired. Undefined: none of them applies. */
  rulingOn(
    request: RestrictedRequest,
  ): { readonly by: RestrictionKind; readonly problem: Refused['problem'] } | undefined {
    for (const restriction of this.#restrictions) {
      const ruling = restriction.rulingOn(request);
      if (ruling) return { by: restriction.kind, problem: ruling.problem };
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
  switch (identifier.by) {
    case 'header':
      return identifier.name;
    case 'jwt':
      return 'authorization';
    case 'user-agent':
      return 'user-agent';
    case 'address':
      return undefined;
  }
}
