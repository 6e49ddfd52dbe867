import type { ProblemCode } from '../problems/catalogue.ts';

/**
 * How the ledger counts a request:
 * - `failing`: answered 4xx, so that its client gets no use out of the version
 * - `refused`: answered 410 or 404 by the gateway, since its version is retired or not in routes.yaml
 * - `used`: everything else. A 5xx, a 502 of a backend that is down and a client that did not wait are among them: these
 *   clients would be served, and an outage must not make them look gone.
 */
export type Outcome = 'failing' | 'refused' | 'used';

// Answers to a client that may repeat the same request: 408, 425, 429; and 499, which says that the client has left.
const temporary: ReadonlySet<number> = new Set([408, 425, 429, 499]);

export function outcomeOf(status: number, problem: ProblemCode | undefined): Outcome {
  if (problem === 'VERSION_RETIRED' || problem === 'UNKNOWN_VERSION') return 'refused';
  return isFailing(status) ? 'failing' : 'used';
}

export function isFailing(status: number): boolean {
  return status >= 400 && status < 500 && !temporary.has(status);
}

/** Whether all these requests failed. A stream that goes on is in later hours a use without a request. */
export function onlyFails({ requests, failing }: { readonly requests: number; readonly failing: number }): boolean {
  return failing > 0 && requests === failing;
}
