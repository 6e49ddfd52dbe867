import { segmentOf } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { problemMembersAboutEnd } from '../lifecycle/guide.ts';
import { canBeNew, freezeKey } from './knownClients.ts';
import type { Refused, RestrictedRequest, Restriction } from './restriction.ts';

/** Refuses the clients that were first seen since the start of the freeze. */
export class Freeze implements Restriction {
  readonly kind = 'freeze';
  readonly #version: Version;
  readonly #snapshot: Snapshot;
  readonly #from: number;
  readonly #key: string;
  readonly #allowed: ReadonlySet<string>;

  private constructor(version: Version, snapshot: Snapshot, freeze: NonNullable<Version['freeze']>) {
    this.#version = version;
    this.#snapshot = snapshot;
    this.#from = freeze.from;
    this.#key = freezeKey(version.name, freeze);
    this.#allowed = new Set(freeze.allow);
  }

  /** Empty if the version has no freeze, or one that only reports new clients, which `FreezeWatch` finds in the ledger. */
  static of(version: Version, snapshot: Snapshot): readonly Restriction[] {
    const { freeze } = version;
    return freeze?.mode === 'refuse' ? [new Freeze(version, snapshot, freeze)] : [];
  }

  rulingOn({ client, now, state }: RestrictedRequest): Refused | undefined {
    const knownClients = now < this.#from ? undefined : state.known.get(this.#key);
    // A user agent or an address cannot be new, because many clients share it.
    if (knownClients === undefined || knownClients.has(client) || this.#allowed.has(client) || !canBeNew(client))
      return undefined;
    const members = {
      version: segmentOf(this.#version.name),
      frozen_since: rfc3339(this.#from),
      ...problemMembersAboutEnd(this.#version, this.#snapshot, now),
    };
    // The answer depends on the client, so no cache may give it to another one.
    return { kind: 'refused', problem: { code: 'VERSION_FROZEN', members, fields: ['Cache-Control', 'no-store'] } };
  }

  mayRefuse({ now, state }: Omit<RestrictedRequest, 'client'>): boolean {
    return now >= this.#from && state.known.has(this.#key);
  }
}
