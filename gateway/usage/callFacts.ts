import {
  type CallEvidence,
  type CallsAsked,
  callEvidence,
  type LiveFacts,
  noLiveFacts,
} from './evidence/callEvidence.ts';
import { type Coverage, coverageOfSizes, firstCoveredDay } from './evidence/coverage.ts';
import type { UsageQueries } from './usageQueries.ts';

type CoverageQueries = Pick<UsageQueries, 'coverage' | 'problem'>;

/**
 * Gathers the facts about the calls of a version in a period, and decides whether it was called. Every question about calls goes
 * through here. To be called after the queries whose rows the answer is about: a query that failed returned no rows, as if no client had
 * called. `live`: absent for a ledger that is read without a gateway.
 */
export async function evidenceOf(
  queries: CoverageQueries,
  asked: CallsAsked,
  live: LiveFacts = noLiveFacts,
): Promise<CallEvidence> {
  const coverage = await queries.coverage(asked.version, asked.quiet);
  return callEvidence({ ...asked, coverage, problem: queries.problem, live });
}

/**
 * The same about a period that has ended at `until`, epoch ms. Calls that were lost later do not matter. But the last heartbeat before
 * `until` may be old, and then only the present run shows that the gateway counted up to it.
 */
export async function evidenceUntil(
  queries: CoverageQueries,
  asked: CallsAsked,
  until: number,
  live: LiveFacts = noLiveFacts,
): Promise<CallEvidence> {
  const coverageNow = await queries.coverage(asked.version, asked.quiet);
  const coverageThen = await queries.coverage(asked.version, asked.quiet, until);
  const { problem } = queries;
  const isCovered = (coverage: Coverage): boolean =>
    callEvidence({ ...asked, coverage, problem: undefined, live: noLiveFacts }).missing.length === 0;
  const coverage = isCovered(coverageThen) ? coverageThen : coverageNow;
  return callEvidence({ ...asked, coverage, problem, live });
}

/** What may be missing to know the sizes of the requests of a version in a period. */
export async function sizeEvidenceOf(
  queries: CoverageQueries & Pick<UsageQueries, 'sizesSince'>,
  asked: CallsAsked,
  live: LiveFacts = noLiveFacts,
): Promise<CallEvidence> {
  const ofCalls = await queries.coverage(asked.version, asked.quiet);
  const coverage = coverageOfSizes(ofCalls, await queries.sizesSince(), asked.now);
  return callEvidence({ ...asked, coverage, problem: queries.problem, live });
}

/** The start of the first day (UTC) since which every call of a version is in the ledger, epoch ms. Undefined: it is empty. */
export async function completeDaysSince(queries: CoverageQueries, version: string): Promise<number | undefined> {
  return firstCoveredDay(await queries.coverage(version));
}
