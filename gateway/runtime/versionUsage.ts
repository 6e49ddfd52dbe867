import type { LedgerDesk } from '../admin/reading/questions.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { UseFacts } from '../lifecycle/reloadGuard.ts';
import type { Serving } from './serving.ts';

// What happens while the question is being asked.
const skewMs = 5_000;

/**
 * How the versions are used right now, for the guard: by the same rules as the verdict of `can-retire`, as far as the ledger
 * can be asked. `now`: epoch ms.
 */
export async function useFacts(
  serving: Pick<Serving, 'flush' | 'report'>,
  usage: LedgerDesk | undefined,
  snapshot: Snapshot,
  now: number,
): Promise<UseFacts> {
  const isFlushed = await serving.flush();
  const { versions } = await serving.report();
  const since = now - snapshot.guard.quiet;
  // An edit is not to wait for a ledger that does not answer: what the processes know counts all the same.
  const known = await usage?.ask('use', snapshot, { since, now }).catch(() => undefined);
  const isComplete = isFlushed && known !== undefined && usage?.problem === undefined && usage?.held === 0;
  const facts = new Map(known?.map((one) => [one.version, one]));
  return {
    lastAsked: (name) => {
      const one = versions.find((version) => version.name === name);
      // A stream that is open is being used, whenever it began.
      if (one && one.inFlight > 0) return now;
      const recorded = facts.get(name)?.last;
      // The processes do not know which clients count: all of them do.
      const known = isComplete ? [recorded] : [recorded, one?.lastServed, one?.lastRefused];
      // Of the time before the clock was set back the ledger knows, too, with a time that is possible.
      const times = known.filter((at): at is number => at !== undefined && at <= now + skewMs);
      return times.length === 0 ? undefined : Math.max(...times);
    },
    clients: (name) => facts.get(name)?.clients,
  };
}
