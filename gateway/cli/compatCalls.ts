import { withoutNames } from '../compat/diff/routes.ts';
import type { Judgement } from '../compat/holdAgainst.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { LedgerReader } from '../usage/ledger/reader.ts';
import { otherRoute } from '../usage/usageRow.ts';

const windowMs = 30 * 86_400_000;

interface Calls {
  readonly byRoute: ReadonlyMap<string, number>;
  /** Whether a route without calls is known to have had none. */
  readonly isComplete: boolean;
}

/** How often routes were called, from the usage ledger of the gateway that the file is for; nothing where there is none. */
export function callsIn({ usage }: Snapshot, clock: Clock = systemClock): Judgement['callsOf'] {
  const known = new Map<string, Calls | undefined>();
  return (version, { kind, method, path }) => {
    if (version === undefined || kind !== 'route') return undefined;
    if (!known.has(version)) known.set(version, read(usage.store, version, clock.now() - windowMs));
    const calls = known.get(version);
    return calls?.byRoute.get(withoutNames(`${method} ${path}`)) ?? (calls?.isComplete ? 0 : undefined);
  };
}

function read(store: string, version: string, since: number): Calls | undefined {
  try {
    const ledger = LedgerReader.open(store);
    try {
      const routes = ledger.byRoute(version, since);
      const covered = ledger.coveredSince();
      if (ledger.problem !== undefined || covered === undefined) return undefined;
      const byRoute = new Map<string, number>();
      // A contract may have renamed a parameter since it was called.
      for (const { route, requests } of routes) {
        const key = withoutNames(route);
        byRoute.set(key, requests + (byRoute.get(key) ?? 0));
      }
      return { byRoute, isComplete: covered <= since && !routes.some(({ route }) => route === otherRoute) };
    } finally {
      ledger.close();
    }
  } catch {
    // No gateway has run from here: what nobody counted is not told.
    return undefined;
  }
}
