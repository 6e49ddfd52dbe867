import type { LedgerDesk } from './admin/reading/questions.ts';
import type { Snapshot } from './config/snapshot.ts';
import type { UseFacts } from './lifecycle/guard.ts';
import type { Serving } from './serving/serving.ts';

// What happens while the question is being asked.
const skewMs = 5_000;

/** How the versions are used right now, for the guard. `now`: epoch ms. */
export async function useFacts(
  serving: Pick<Serving, 'report'>,
  usage: LedgerDesk | undefined,
  snapshot: Snapshot,
  now: number,
): Promise<UseFacts> {
  const { versions } = await serving.report();
  const since = now - snapshot.guard.quiet;
  // An edit is not to wait for a ledger that does not answer: what the processes know counts all the same.
  const known = await usage?.ask('use', snapshot, { since, now }).catch(() => []);
  const facts = new Map(known?.map((one) => [one.version, one]));
  return {
    lastAsked: (name) => {
      const one = versions.find((version) => version.name === name);
      // A stream that is open is being used, whenever it began.
      if (one && one.inFlight > 0) return now;
      // Of what was before the start only the ledger knows.
      const before = facts.get(name)?.last;
      // Of the time before the clock was set back the ledger knows, too, with a time that is possible.
      const known = [before, one?.lastServed, one?.lastRefused].filter(
        (at): at is number => at !== undefined && at <= now + skewMs,
      );
      return known.length === 0 ? undefined : Math.max(...known);
    },
    clients: (name) => facts.get(name)?.clients,
  };
}
