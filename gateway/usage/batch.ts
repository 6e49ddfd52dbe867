/** What one client did with one route in one hour, as far as one process has seen. Instants in epoch ms. */
export interface UsageRow {
  /** The segment as it was asked for, `v1`; '' where the path names no version that is known. */
  readonly version: string;
  /** How the ledger calls the client: `user-agent:curl`, `x-api-key:#4f2a91c07be05d3a`. */
  readonly client: string;
  /** Method and path template: `GET /drinks/{id}`. */
  readonly route: string;
  /** When the hour begins. */
  readonly hour: number;
  /** Those that began in this hour. 0: only requests of an earlier hour went on. */
  requests: number;
  /** Of these, those that were answered 4xx or 5xx by anybody. */
  errors: number;
  /** Of the requests, those that reached a backend: 410, 404 and other refusals of the gateway are not served. */
  served: number;
  /** Of the requests, those that were answered 4xx; see `outcomeOf`. */
  failing: number;
  /** Of the requests, those that the gateway refused because the version is retired or not in routes.yaml. */
  refused: number;
  first: number;
  last: number;
  /** When the last request that did not fail came; 0 if all failed. */
  used: number;
}

export type UsageBatch = readonly UsageRow[];
