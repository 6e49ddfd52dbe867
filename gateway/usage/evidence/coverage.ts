import { baseOf, everyVersionIn } from '../../config/api.ts';
import { rfc3339 } from '../../shared/instant.ts';

/** The time in which one gateway process counted requests. Epoch ms. */
export interface Run {
  readonly began: number;
  /** When the run was last known to have counted everything. */
  readonly seen: number;
  /** It has ended, and everything that it counted is in the ledger. False: it still counts, or it ended in another way. */
  readonly closed: boolean;
}

/** Calls of a version that may be missing in the ledger. Epoch ms. */
export interface Loss {
  /** The id, `v1`; '' for all versions, `orders/` for those of one API. */
  readonly version: string;
  /** The first and the last instant at which a missing call may have come. */
  readonly from: number;
  readonly until: number;
  /** A sentence for the operator. */
  readonly reason: string;
}

/** What the ledger covers. */
export interface Coverage {
  /** Since when every call is in the ledger, epoch ms; undefined: the ledger is empty. */
  readonly since: number | undefined;
  /** Why it does not begin earlier: the losses and unclean ends that touch the recorded time, the latest first. */
  readonly losses: readonly Loss[];
}

export interface CoverageLimits {
  /** Coverage never begins before this, epoch ms: older rows are deleted, or coverage was restarted. 0: no limit. */
  readonly notBefore: number;
  /** A pause between a closed run and the next run is tolerated if it is at most this long, ms. */
  readonly maxGap: number;
  /** Only the time before this counts, epoch ms. Undefined: up to the last run. */
  readonly until?: number | undefined;
}

/** The coverage of the sizes of requests, which were recorded from `since` on (epoch ms; 0: always). */
export function coverageOfSizes(coverage: Coverage, since: number, now: number): Coverage {
  if (coverage.since === undefined || since <= coverage.since) return coverage;
  const until = Math.min(since, now);
  const reason = 'An earlier release did not record the sizes of requests.';
  return { since: until, losses: [{ version: '', from: 0, until, reason }, ...coverage.losses] };
}

const dayMs = 86_400_000;
/** A gateway writes at least once a minute. If it has not for this long, it has probably ended. */
export const longestSilenceMs = 600_000;
const severalWriters =
  'Two gateways write this ledger at the same time, or one of two ended without recording its last calls.';
const uncleanEnd = 'A gateway ended without recording its last calls.';

/**
 * Since when the ledger has every call of `version`, or of all versions. A pause between two runs is tolerated only after a run that
 * was closed: then no request was served. After any other end, calls between the last write and the next start may be missing. Where
 * the next start knows which versions were called in that time, it closes the run and records a loss for each of these versions.
 *
 * `runs` may overlap: the gateways of a fleet share a ledger. If several runs of a file are open, each is of another gateway, which may
 * have calls that it has not written yet.
 */
export function coverageOf(
  runs: readonly Run[],
  losses: readonly Loss[],
  { notBefore, maxGap, until }: CoverageLimits,
  version?: string,
): Coverage {
  const end = until ?? Number.POSITIVE_INFINITY;
  const sortedRuns = runs.toSorted((a, b) => b.seen - a.seen);
  const relevant = [...losses, ...unwrittenOfOthers(sortedRuns)]
    .filter((one) => one.from < end && (version === undefined || isOf(version, one)))
    .toSorted((a, b) => b.until - a.until);
  let since = until;
  const found: Loss[] = [];
  for (const { began, seen, closed } of sortedRuns) {
    if (until !== undefined && began > until) continue;
    if (since !== undefined && since > seen) {
      if (since - seen > maxGap) break;
      // The latest run may still count, so its end is not a gap.
      if (!closed && since !== until) {
        found.push({ version: '', from: seen, until: since, reason: uncleanEnd });
        break;
      }
    }
    since = Math.min(began, since ?? began);
  }
  if (since === undefined) return { since: undefined, losses: relevant };
  const lastLoss = Math.min(relevant[0]?.until ?? 0, end);
  return { since: Math.max(since, notBefore, lastLoss), losses: [...relevant, ...found] };
}

function isOf(version: string, loss: Loss): boolean {
  return ['', everyVersionIn(baseOf(version)), version].includes(loss.version);
}

/** What the other gateways may not have written yet, if several runs are open. `sortedRuns`: the latest first. */
function unwrittenOfOthers(sortedRuns: readonly Run[]): Loss[] {
  const [latest, ...others] = sortedRuns.filter(({ closed }) => !closed);
  return others.map(({ seen }) => {
    const until = Math.min(latest?.seen ?? seen, seen + longestSilenceMs);
    return { version: '', from: seen, until, reason: severalWriters };
  });
}

/**
 * The time since the last write to a ledger that no gateway is heard to write. A gateway that runs writes at least once a minute, so
 * clients may have called in vain. A pause of at most `maxGap` ms is tolerated, as between two runs. If the last write is dated later than
 * `now`, it is not known when it was. Empty for a new ledger.
 */
export function unwrittenTime(runs: readonly Run[], now: number, maxGap: number): Loss[] {
  const from = runs.reduce((latest, { seen }) => Math.max(latest, seen), Number.NEGATIVE_INFINITY);
  if (runs.length === 0 || Math.abs(now - from) <= maxGap) return [];
  if (from > now) {
    const ahead = `The last write to this ledger is dated ${rfc3339(from)}, which is in the future: a clock was wrong.`;
    return [{ version: '', from: 0, until: now, reason: ahead }];
  }
  const reason = `No gateway has written this ledger since ${rfc3339(from)}: ask the gateway that clients call now.`;
  return [{ version: '', from, until: now, reason }];
}

/** The start of the first day (UTC) of which the ledger has every call, epoch ms. Undefined: the ledger is empty. */
export function firstCoveredDay({ since }: Coverage): number | undefined {
  return since === undefined ? undefined : Math.ceil(since / dayMs) * dayMs;
}
