import { answerTo } from '../../gateway/operate/admin/reading/answers.ts';
import type { LedgerClient } from '../../gateway/operate/admin/reading/ledgerClient.ts';
import type { UsageQueries } from '../../gateway/usage/usageQueries.ts';

/** A ledger client that runs its queries in the calling thread. */
export function directLedgerClient(queries: UsageQueries): LedgerClient {
  return {
    get problem() {
      return queries.problem;
    },
    get unwrittenRows() {
      return queries.unwrittenRows;
    },
    unwrittenSince: undefined,
    lastIncident: undefined,
    movedRequests: 0,
    query: async (kind, snapshot, parameters) => answerTo(kind, queries, snapshot, parameters),
  };
}
