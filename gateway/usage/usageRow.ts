/** The client name under which the requests of all clients beyond `usage.max_clients` are counted. */
export const otherClients = 'other clients';

/** The route name under which the requests to all routes beyond `usage.max_routes` are counted. */
export const otherRoute = 'other';

/** True for one client, false for `otherClients`. */
export function isSingleClient({ client }: { readonly client: string }): boolean {
  return client !== otherClients;
}

/** What can be added up over rows. Instants in epoch ms. */
export interface Counts {
  /** Requests that began in the hour. 0 if only requests of an earlier hour continued. */
  requests: number;
  /** Requests answered 4xx or 5xx, by a backend or by the gateway. */
  errors: number;
  /** Requests that a backend answered. Those that the gateway answered itself (410, 404, 504, …) are not among them. */
  served: number;
  /** Requests answered 4xx, except 408, 425, 429 and 499. Refused requests are not included. */
  failing: number;
  /** Requests refused because the version is retired, frozen, in a brownout or not in routes.yaml. */
  refused: number;
  first: number;
  last: number;
  /**
   * The last request, except `failing` requests and those that a freeze refused. Other refused requests count, and so does waiting for an
   * answer in a later hour than that of the request. 0: there is none.
   */
  used: number;
  /** The last request that a backend answered 2xx; 0: none. A request in which a header of `usage.identify` occurs twice does not count. */
  accepted: number;
  /**
   * The largest body, request target and head of the requests that a backend answered and that did not fail, in bytes. The head
   * includes the target. 0: there was no such request.
   */
  body: number;
  target: number;
  head: number;
}

/** The requests of one client to one route in one hour, as far as one process has counted them. */
export interface UsageRow extends Counts {
  /** The path segment, `v1`, even if routes.yaml does not list it; '' for other paths. */
  readonly version: string;
  /** The client's name in the ledger: `user-agent:curl`, `x-api-key:#4f2a91c07be05d3a`. */
  readonly client: string;
  /** Method and path template: `GET /drinks/{id}`. */
  readonly route: string;
  /** The start of the hour. */
  readonly hour: number;
  /** The start of the brownout that refused all requests of the row, epoch ms. Undefined: no brownout refused them. */
  readonly brownout?: number | undefined;
  /**
   * The path of one GET of the row that a backend answered 2xx or 3xx, if the route has parameters; else ''. Never stored. Undefined:
   * there was no such request, or there were too many rows.
   */
  example?: string | undefined;
}

export type UsageBatch = readonly UsageRow[];

/** Adds `more` to `sum` in place. */
export function addCounts(sum: Counts, more: Readonly<Counts>): void {
  sum.requests += more.requests;
  sum.errors += more.errors;
  sum.served += more.served;
  sum.failing += more.failing;
  sum.refused += more.refused;
  sum.first = Math.min(sum.first, more.first);
  sum.last = Math.max(sum.last, more.last);
  sum.used = Math.max(sum.used, more.used);
  sum.accepted = Math.max(sum.accepted, more.accepted);
  sum.body = Math.max(sum.body, more.body);
  sum.target = Math.max(sum.target, more.target);
  sum.head = Math.max(sum.head, more.head);
}

/** What was decided about a brownout. A stored record is replaced only if its state is `approved`. Instants in epoch ms. */
export interface BrownoutRecord {
  /** `v1` */
  readonly version: string;
  /** The start of the brownout. */
  readonly at: number;
  readonly state: 'approved' | 'skipped' | 'stopped' | 'ended';
  readonly reason: string | null;
  /** When `state` was set. */
  readonly changed: number;
}

/**
 * Which responses were compared. `shadow`: of a version and of the version that gets copies of its requests. `control`: of a version
 * and the same version again. `adapter`: of a version and its adapter. `drift`: of one version with its own contract.
 */
export type EvidenceKind = 'shadow' | 'control' | 'adapter' | 'drift';

/** What a contract states about a property of responses. '': the property is not of a contract, such as the pair itself. */
export type Listing = 'required' | 'optional' | 'unlisted' | 'no schema' | 'no route' | '';

/** How often compared responses had one property, such as a type at a path of the body, as counted by one process. It contains no values. */
export interface EvidenceRow {
  /** `v1` */
  readonly version: string;
  /** `v2`: the version that `version` is compared with. */
  readonly to: string;
  readonly kind: EvidenceKind;
  /** The hash of both contracts and of the adapter. Rows with different hashes are not added up. */
  readonly hash: string;
  /** `GET /drinks/{id}`, as in the contract of the version. */
  readonly route: string;
  /** The status of the response of `version`; 0 in rows about the status itself. */
  readonly status: number;
  /** A pointer, `/drink/price`; '' is the whole body. Items of a list, keys of a map and keys that look like identifiers are `*`. */
  readonly path: string;
  /** The property, such as `value` (the field exists and is not null) or `type`, and its detail: gateway/contracts/shadow/compare/shapes.ts lists them. */
  readonly what: string;
  readonly detail: string;
  /** What the contract of `version` states about the property. In a row about a status, `optional`: it lists the status. */
  readonly oldListing: Listing;
  /** The same of the other contract. In a row about a status, `required`: it requires a further parameter. */
  readonly newListing: Listing;
  /** Pairs in which both responses could have the property. */
  pairs: number;
  /** Pairs in which the old response has the property more often than the new one, for example in more items of a list. */
  oldMore: number;
  /** Pairs in which the new response has the property more often than the old one. */
  newMore: number;
  /**
   * In each pair, the property occurs in a share (0 to 1) of the old response and in a share of the new one. These are the sums of
   * the shares over all pairs. `drift`: `newShare` is the number of responses that have the property.
   */
  oldShare: number;
  newShare: number;
  /** Epoch ms. */
  first: number;
  last: number;
}
