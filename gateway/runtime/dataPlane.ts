import type { Snapshot } from '../config/snapshot.ts';
import type { Discovery } from '../discovery/app.ts';
import { isDiscovery } from '../discovery/paths.ts';
import type { ServingReport, TargetReport, VersionReport } from '../observability/report.ts';
import { Endings } from '../pipeline/endings.ts';
import { bring, newPseudonym, type Surroundings } from '../pipeline/live.ts';
import { type Clock, ClockWatch, systemClock } from '../shared/clock.ts';
import type { Pool } from '../upstream/pool.ts';
import { Registry } from '../upstream/registry.ts';
import type { Target } from '../upstream/target.ts';
import type { VersionUse } from '../usage/versionUse.ts';

/** A snapshot in working order, with no listener of its own. */
export interface Assembly {
  readonly surroundings: Surroundings;
  readonly uses: ReadonlyMap<string, VersionUse>;
  readonly endings: Endings;
  /** Puts another snapshot in its place: what began with the old one ends with it. */
  apply(snapshot: Snapshot): void;
  report(): ServingReport;
  close(): void;
}

// A version may end by its date alone: how often that is looked at.
const lookMs = 1000;

export interface AssemblyOptions {
  readonly clock?: Clock;
  /** Answers the index, the contracts, the guides and the API catalog; undefined: nobody does. */
  readonly discovery?: Discovery | undefined;
  /** Whether requests are forwarded. Without, no target is called or checked. */
  readonly forwards?: boolean;
}

/** The only place that creates pools and pipeline. */
export function assemble(
  snapshot: Snapshot,
  { clock = systemClock, discovery, forwards = true }: AssemblyOptions = {},
): Assembly {
  const since = clock.now();
  const registry = new Registry();
  const uses = new Map<string, VersionUse>();
  const endings = new Endings(uses);
  const poolsFor = (one: Snapshot) => (forwards ? registry.poolsFor(one) : new Map<string, Pool>());
  const start = bring(snapshot, poolsFor(snapshot), uses);
  const surroundings: Surroundings = {
    live: start,
    now: () => clock.now(),
    pseudonym: newPseudonym(),
    unrecorded: 0,
    draining: false,
    isDiscovery: discovery ? isDiscovery : () => false,
    discovery: discovery?.(
      {
        get current() {
          return surroundings.live.snapshot;
        },
      },
      clock,
    ),
  };
  const clockWatch = new ClockWatch(clock);
  const look = (): void => {
    const { jump } = clockWatch.look();
    if (jump !== 0) for (const use of uses.values()) use.clockWasSet(jump);
    endings.look(surroundings.live, clock.now());
  };
  const timer = setInterval(look, lookMs).unref();
  return {
    surroundings,
    uses,
    endings,
    apply: (next) => {
      surroundings.live = bring(next, poolsFor(next), uses);
      look();
    },
    report: () => ({ versions: versionsOf(uses, surroundings, clock.now()), workers: [{ pid: process.pid, since }] }),
    close: () => {
      clearInterval(timer);
      registry.close();
    },
  };
}

function versionsOf(uses: ReadonlyMap<string, VersionUse>, { live }: Surroundings, now: number): VersionReport[] {
  return [...uses].map(([name, use]) => {
    const targets = live.served.get(name)?.pool.targets ?? [];
    return {
      name,
      inFlight: use.inFlight,
      waiting: use.waiting.length,
      lastServed: use.lastServed(now),
      lastRefused: use.lastRefused,
      targets: [...targets.map((target) => target.report()), ...leftBehind(use, targets)],
    };
  });
}

/** Targets that are in the file no more, and still have something to finish. */
function leftBehind(use: VersionUse, targets: readonly Target[]): TargetReport[] {
  const gone = new Set<Target>();
  for (const { target } of use.underway) if (target && !targets.includes(target)) gone.add(target);
  return [...gone].map((target) => ({ ...target.report(), health: 'removed' as const }));
}
