import type { Problem } from '../../problems/problem.ts';
import type { RouteAnswersReport } from '../../usage/evidence/missingRoutes.ts';
import type { CancelledBrownouts } from '../lifecycle/brownouts.ts';
import type { KnownClients } from './knownClients.ts';

/** The parts of a request by which restrictions decide. */
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

/** The request is answered with this problem. */
export interface Refused {
  readonly kind: 'refused';
  readonly problem: Problem;
}

/** No restriction refuses the client until this instant (epoch ms), not even the retirement of the version. */
export interface Waived {
  readonly kind: 'waived';
  readonly until: number;
  /** The same as an IMF-fixdate. */
  readonly sunset: string;
}

/** A freeze or a brownout: refuses some clients of a version. It is not applied to a retired version, or to a client with a waiver. */
export interface Restriction {
  readonly kind: Exclude<RestrictionKind, 'waiver'>;
  /** Undefined: the restriction does not apply to the request. */
  rulingOn(request: RestrictedRequest): Refused | undefined;
  /** Whether the restriction would refuse the request for some client. For preflights, which do not identify their client. */
  mayRefuse(request: Omit<RestrictedRequest, 'client'>): boolean;
}

/** The waivers of a version. */
export interface Waivers {
  /** Undefined: the client has no waiver, or its waiver has ended. */
  waiverOf(client: string, now: number): Waived | undefined;
}

/** What the operating side has told a process that serves clients, besides the configuration. Kept over reloads. */
export interface RestrictionState {
  /** The `freezeKey` of a freeze → the clients first seen before it. A freeze that is missing is inactive and refuses no client. */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>;
  /** The keys of the brownouts that may refuse clients: `v1 2027-03-02T14:00:00Z`. A brownout whose key is missing refuses no client. */
  readonly brownouts: ReadonlySet<string>;
  /** The brownouts that were skipped or stopped, so that they are no longer announced. */
  readonly cancelled: CancelledBrownouts;
  /** The keys of the shadows, and of the drift comparisons, that an operator has stopped. */
  readonly stoppedComparisons: ReadonlySet<string>;
}

export const noRestrictionState: RestrictionState = {
  known: new Map(),
  brownouts: new Set(),
  cancelled: new Map(),
  stoppedComparisons: new Set(),
};

/** What the operating side tells every process that serves clients. A structured clone preserves it. */
export interface RestrictionUpdate extends Partial<Omit<RestrictionState, 'known'>> {
  readonly known?: KnownClients;
  /** What all processes have observed about the routes of the versions. It restricts no client. */
  readonly routeAnswers?: RouteAnswersReport;
  /** The paths at which versions were served before an edit, each with its version: `/api/v2` and `v2`. It restricts no client. */
  readonly formerPaths?: ReadonlyMap<string, string>;
}
