import type { LedgerClient } from '../admin/reading/ledgerClient.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { UseFacts } from '../lifecycle/reloadGuard.ts';
import type { Serving } from './serving.ts';

// Requests that arrive while the ledger is queried may be newer than `now`.
const skewMs = 5_000;

/**
 * How the versions are used now, for the reload guard. It follows the rules of `can-retire` as far as the ledger answers.
 * `now`: epoch ms.
 */
export async function versionUsage(
  snapshot: Snapshot,
  serving: Pick<Serving, 'flush' | 'report'>,
  ledger: LedgerClient | undefined,
  now: number,
): Promise<UseFacts> {
  const isFlushed = await serving.flush();
  const { versions } = await serving.report();
  const since = now - snapshot.guard.quiet;
  // A reload does not wait for a ledger that does not answer; the reports of the processes are used in its place.
  const rows = await ledger?.query('recentUse', snapshot, { since, now }).catch(() => undefined);
  const isComplete = isFlushed && rows !== undefined && ledger?.problem === undefined && ledger?.held === 0;
  const recorded = new Map(rows?.map((row) => [row.version, row]));
  return {
    lastAsked: (name) => {
      const reported = versions.find((version) => version.name === name);
      // An open stream is use, no matter when it started.
      if (reported && reported.inFlight > 0) return now;
      const last = recorded.get(name)?.last;
      // Processes cannot tell which clients are ignored, so their times count only if the ledger is incomplete.
      const known = isComplete ? [last] : [last, reported?.lastServed, reported?.lastRefused];
      // Times in the future come from before the clock was set back. The ledger also has a plausible time for these calls.
      const times = known.filter((at): at is number => at !== undefined && at <= now + skewMs);
      return times.length === 0 ? undefined : Math.max(...times);
    },
    clients: (name) => recorded.get(name)?.clients,
  };
}
