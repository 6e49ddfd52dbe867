import type { Snapshot } from './config/snapshot.ts';
import type { UseFacts } from './lifecycle/guard.ts';
import { clientsInWords } from './retirement/words.ts';
import type { Serving } from './serving/serving.ts';
import type { UsageQueries } from './usage/queries.ts';

/** How the versions are used right now, for the guard. `now`: epoch ms. */
export async function useFacts(
  serving: Serving,
  usage: UsageQueries | undefined,
  { guard }: Snapshot,
  now: number,
): Promise<UseFacts> {
  const { versions } = await serving.report();
  const since = now - guard.quiet;
  const totals = new Map(usage?.totals(since).map((total) => [total.version, total]));
  return {
    lastServed: (name) => {
      const one = versions.find((version) => version.name === name);
      // A stream that is open is being used, whenever it began.
      if (one && one.inFlight > 0) return now;
      const total = totals.get(name);
      // Of what was before the start only the ledger knows.
      const before = total && total.served > 0 ? total.last : undefined;
      return one?.lastServed === undefined ? before : Math.max(one.lastServed, before ?? 0);
    },
    clients: (name) => usage && clientsInWords(name, usage, since, now),
  };
}
