import type { ProblemCode } from '../../problems/catalogue.ts';
import type { PathTable } from '../../shared/pathTable.ts';
import type { IdentifiedClient } from './identification.ts';

/** The properties of a request that the collector counts. The request has ended or is still open. */
export interface CountedExchange {
  /** The path segment, `v1`, even if routes.yaml does not list it; '' for other paths. */
  readonly version: string;
  /** True if the path names a version that routes.yaml does not list. */
  readonly unlisted?: boolean;
  readonly method: string;
  /** The path below the version, without the query: `/drinks/7`. */
  readonly resource: string;
  /** The paths of the version's contract, if it has one. */
  readonly paths: PathTable<unknown> | undefined;
  /** Names and values alternate, as received. */
  readonly rawHeaders: readonly string[];
  readonly address: string;
  /** Set if the client was identified before the request was forwarded. */
  readonly identified?: IdentifiedClient | undefined;
  /** 0 before there is a response. */
  readonly status: number;
  /** The problem, if the gateway answered with one. */
  readonly problem?: ProblemCode | undefined;
  /** The start of the brownout that refused the request, epoch ms. */
  readonly brownout?: number | undefined;
  /** True if a backend answered the request. */
  readonly served: boolean;
  /** When the request began, epoch ms. */
  readonly at: number;
  /** The sizes that the limits of the gateway apply to, in bytes. The body counts as far as it has arrived. */
  readonly bodySize: number;
  readonly targetSize: number;
  readonly headSize: number;
}

/**
 * How the ledger counts a request:
 * - `failing`: answered 4xx (except 408, 425, 429 and 499), so the client does not benefit from the version
 * - `refused`: refused by the gateway, because its version is retired, not in routes.yaml, frozen or in a brownout
 * - `used`: everything else, including 5xx of a backend, a 502 because the backend is down, and a 499 because the client
 *   disconnected. The clients of these requests depend on the version, and an outage must not hide them.
 */
export type Outcome = 'failing' | 'refused' | 'used';

// After 408, 425 and 429 a client may repeat the same request; 499 records that the client disconnected.
const temporaryStatuses: ReadonlySet<number> = new Set([408, 425, 429, 499]);

const refusalCodes: ReadonlySet<ProblemCode> = new Set([
  'VERSION_RETIRED',
  'UNKNOWN_VERSION',
  'VERSION_FROZEN',
  'VERSION_BROWNOUT',
]);

export function outcomeOf(status: number, problem: ProblemCode | undefined): Outcome {
  if (problem !== undefined && refusalCodes.has(problem)) return 'refused';
  return isFailing(status) ? 'failing' : 'used';
}

export function isFailing(status: number): boolean {
  return status >= 400 && status < 500 && !temporaryStatuses.has(status);
}

export function isAccepted(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True if all requests failed. False without a request, as in the later hours of a stream, which is counted in its first hour. */
export function onlyFails({ requests, failing, hasEarlierUse = false }: OutcomeCounts): boolean {
  return failing > 0 && requests === failing && !hasEarlierUse;
}

interface OutcomeCounts {
  readonly requests: number;
  readonly failing: number;
  /** As in `RouteUse`. */
  readonly hasEarlierUse?: boolean | undefined;
}
