import type { Stage } from '../lifecycle/stage.ts';
import type { PastClient } from '../usage/pastClients.ts';
import type { ClientUse, RouteUse } from '../usage/queries.ts';
import type { Trend } from './trend.ts';

/** All that the verdict about one version rests on. Instants in epoch ms, durations in ms. */
export interface RetirementFacts {
  /** The segment: `v1`. */
  readonly version: string;
  readonly now: number;
  /** `removed`: routes.yaml lists it no more, and its clients get 404. */
  readonly stage: Stage | 'removed';
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  /** How long nobody may have asked. */
  readonly quiet: number;
  /** Where the quiet period begins: the start of an hour, as the ledger counts by hours. */
  readonly since: number;
  /** Of all requests, 0 to 1. */
  readonly maxShare: number;
  /** How long the ledger remembers. */
  readonly retention: number;
  readonly coveredSince: number | undefined;
  /** What keeps the ledger from being written or read. */
  readonly problem: string | undefined;
  /**
   * Requests to any version since then. What named no version, and what failed, is left out: noise would hide who is
   * left.
   */
  readonly allRequests: number;
  /** Who counts, is told apart and has not only failed; most requests first. */
  readonly clients: readonly ClientUse[];
  /** What clients that are too many to be told apart did together; some of `clients` may be among them. */
  readonly others: ClientUse | undefined;
  /** Clients that asked and only failed: every request was answered 4xx. They do not count. */
  readonly failing: readonly ClientUse[];
  /**
   * Of these, the ones that were still served shortly before the last request that anybody was served, on routes that
   * fail now: more likely the backend is broken than all of them wrong. Empty while somebody is served.
   */
  readonly lostService: readonly ClientUse[];
  /** Clients that were answered 410, or 404 where the version is removed; most refusals first. */
  readonly refused: readonly ClientUse[];
  /** Clients that have not called for as long as that, as they usually do, and are not overdue; the latest first. */
  readonly infrequent: readonly PastClient[];
  /** The other clients that used it before that and not since, the latest first. */
  readonly gone: readonly PastClient[];
  /** `retire.ignore_clients`, as far as they asked. */
  readonly ignored: readonly ClientUse[];
  /** Who was first seen after the deprecation; undefined where that cannot be known. */
  readonly newClients: readonly ClientUse[] | undefined;
  readonly trend: Trend;
  /** Routes in use that the successor does not have. */
  readonly lost: readonly RouteInContract[];
  /** Routes on which every request failed. */
  readonly failingRoutes: readonly RouteInContract[];
  readonly inFlight: number;
  readonly waiting: number;
  readonly successor: SuccessorFacts | undefined;
}

export interface RouteInContract extends RouteUse {
  /** Whether the version's contract has its path; undefined: there is no contract. */
  readonly inContract: boolean | undefined;
}

export interface SuccessorFacts {
  /** The segment: `v2`. */
  readonly version: string;
  readonly targets: number;
  /** Of these, in rotation and reachable. */
  readonly healthy: number;
}

/** Whether a client has used the version since then. A request without an outcome is still open, or was at a crash. */
export function isUsing({ used = 0, failing, last }: ClientUse, since: number): boolean {
  return used >= since || (failing === 0 && last >= since);
}

/** Requests that did not fail. */
export function requestsOf(uses: readonly Pick<ClientUse, 'requests' | 'failing'>[]): number {
  return uses.reduce((sum, { requests, failing }) => sum + requests - failing, 0);
}

export function refusedOf(clients: readonly ClientUse[]): number {
  return clients.reduce((sum, { refused }) => sum + refused, 0);
}

/** Whose requests count: those that are told apart, and those that are not. */
export function askers({ clients, others }: Pick<RetirementFacts, 'clients' | 'others'>): readonly ClientUse[] {
  return others === undefined ? clients : [...clients, others];
}

/** Of all requests, 0 to 1; nothing of nothing is 0. */
export function shareOf(facts: Pick<RetirementFacts, 'clients' | 'others' | 'allRequests'>): number {
  return facts.allRequests === 0 ? 0 : requestsOf(askers(facts)) / facts.allRequests;
}
