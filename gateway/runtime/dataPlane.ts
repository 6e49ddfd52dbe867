import type { Snapshot } from '../config/snapshot.ts';
import type { Discovery } from '../discovery/app.ts';
import { isDiscovery } from '../discovery/paths.ts';
import type { ServingReport, TargetReport, VersionReport } from '../observability/report.ts';
import { Draining } from '../pipeline/draining.ts';
import type { VersionUse } from '../pipeline/inFlight.ts';
import { activate, type GatewayContext, newPseudonym } from '../pipeline/live.ts';
import { type Clock, ClockWatch, systemClock } from '../shared/clock.ts';
import type { Pool } from '../upstream/pool.ts';
import { Registry } from '../upstream/registry.ts';
import type { Target } from '../upstream/target.ts';

/** A snapshot in working order, with no listener of its own. */
export interface Assembly {
  readonly context: GatewayContext;
  readonly uses: ReadonlyMap<string, VersionUse>;
  readonly draining: Draining;
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
  const draining = new Draining(uses);
  const poolsFor = (one: Snapshot) => (forwards ? registry.poolsFor(one) : new Map<string, Pool>());
  const start = activate(snapshot, poolsFor(snapshot), uses);
  const context: GatewayContext = {
    live: start,
    now: () => clock.now(),
    pseudonym: newPseudonym(),
    unrecorded: 0,
    draining: false,
    isDiscovery: discovery ? isDiscovery : () => false,
    discovery: discovery?.(
      {
        get current() {
          return context.live.snapshot;
        },
      },
      clock,
    ),
  };
  const clockWatch = new ClockWatch(clock);
  const look = (): void => {
    const { jump } = clockWatch.look();
    if (jump !== 0) for (const use of uses.values()) use.clockWasSet(jump);
    draining.look(context.live, clock.now());
  };
  const timer = setInterval(look, lookMs).unref();
  return {
    context,
    uses,
    draining,
    apply: (next) => {
      context.live = activate(next, poolsFor(next), uses);
      look();
    },
    report: () => ({ versions: versionsOf(uses, context, clock.now()), workers: [{ pid: process.pid, since }] }),
    close: () => {
      clearInterval(timer);
      registry.close();
    },
  };
}

function versionsOf(uses: ReadonlyMap<string, VersionUse>, { live }: GatewayContext, now: number): VersionReport[] {
  return [...uses].map(([name, use]) => {
    const targets = live.activeVersions.get(name)?.pool.targets ?? [];
    return {
      name,
      inFlight: use.inFlightCount,
      waiting: use.queue.length,
      lastServed: use.lastServed(now),
      lastRefused: use.lastRefused,
      targets: [...targets.map((target) => target.report()), ...leftBehind(use, targets)],
    };
  });
}

/** Targets that are in the file no more, and still have something to finish. */
function leftBehind(use: VersionUse, targets: readonly Target[]): TargetReport[] {
  const gone = new Set<Target>();
  for (const { target } of use.inFlight) if (target && !targets.includes(target)) gone.add(target);
  return [...gone].map((target) => ({ ...target.report(), health: 'removed' as const }));
}
