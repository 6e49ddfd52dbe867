import { answerTo } from '../../gateway/admin/reading/answers.ts';
import type { LedgerDesk } from '../../gateway/admin/reading/questions.ts';
import type { UsageQueries } from '../../gateway/usage/usageQueries.ts';

/** Answers from what a test has at hand, without a thread. */
export function deskOf(queries: UsageQueries): LedgerDesk {
  return {
    get problem() {
      return queries.problem;
    },
    get held() {
      return queries.held;
    },
    incident: undefined,
    foldedHere: 0,
    ask: async (kind, snapshot, question) => answerTo(kind, queries, snapshot, question),
  };
}
