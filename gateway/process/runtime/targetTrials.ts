import type { Snapshot } from '../../config/snapshot.ts';
import type { LedgerClient } from '../../operate/admin/reading/ledgerClient.ts';
import type { OwnListener } from '../../proxy/trial/ownAddress.ts';
import { RecentPaths } from '../../proxy/trial/recentPaths.ts';
import { type TrialQuery, type TrialResult, tryNewTargets } from '../../proxy/trial/trial.ts';
import { pathsToTry } from '../../proxy/trial/trialRoutes.ts';
import type { Clock } from '../../shared/clock.ts';
import { recentMs } from '../../usage/evidence/recentPeriod.ts';
import type { UsageBatch } from '../../usage/usageRow.ts';

interface TrialParts {
  /** Undefined: the gateway keeps no ledger. */
  readonly ledger: () => LedgerClient | undefined | Promise<LedgerClient | undefined>;
  readonly clock: Clock;
  readonly notice: (line: string) => void;
  /** The listeners with their bound ports. */
  readonly listeners: () => readonly OwnListener[];
}

/** Tries the new targets of edits, with recent paths from the ledger and from memory. */
export class TargetTrials {
  readonly #parts: TrialParts;
  readonly #recentPaths = new RecentPaths();
  readonly #closing = new AbortController();

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  /** Remembers paths of the batch for later trials. */
  note(batch: UsageBatch): void {
    this.#recentPaths.note(batch, this.#parts.clock.now());
  }

  tryNewTargets(query: TrialQuery): Promise<TrialResult> {
    const { notice, listeners } = this.#parts;
    const recentPaths = (versions: readonly string[]) => this.#pathsOf(versions, query.before);
    return tryNewTargets(query, { listeners: listeners(), recentPaths, notice, signal: this.#closing.signal });
  }

  /** Ends the trials that run. */
  close(): void {
    this.#closing.abort();
  }

  async #pathsOf(versions: readonly string[], current: Snapshot): Promise<ReadonlyMap<string, readonly string[]>> {
    const { ledger, clock } = this.#parts;
    const now = clock.now();
    // Without an answer of the ledger, the connection, the health path and the paths in memory are tried.
    const answered = await (await ledger())
      ?.query('answeredPaths', current, { versions, since: now - recentMs })
      .catch(() => undefined);
    return new Map(
      versions.map((name) => {
        const known = [...(answered?.get(name) ?? []), ...adaptedPaths(current, name)];
        return [name, pathsToTry(known, this.#recentPaths.of(name, now))];
      }),
    );
  }
}

/** The paths below a version that the adapters of other versions ask for. */
function adaptedPaths({ sortedVersions }: Snapshot, name: string): string[] {
  const serving = sortedVersions.flatMap(({ adapter }) =>
    adapter?.mode === 'serve' && adapter.from === name ? [adapter] : [],
  );
  const targets = serving.flatMap(({ routes }) => routes.flatMap((route) => ('gone' in route ? [] : [route.to])));
  return targets.filter(({ method, path }) => method === 'GET' && !path.includes('{')).map(({ path }) => path);
}
