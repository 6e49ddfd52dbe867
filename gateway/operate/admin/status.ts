import type { Snapshot, Version } from '../../config/snapshot.ts';
import { isoText, isoTextOrNull } from '../../shared/instant.ts';
import { addressesOf } from '../../shared/targetAddress.ts';
import { plural } from '../../shared/text.ts';
import { type StopBlocker, stopEvidence } from '../../usage/evidence/stopEvidence.ts';
import type { LedgerState } from '../../usage/ledger/writableLedger.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import type { RecentTraffic } from '../../usage/observability/recentTraffic.ts';
import type { ConfigStatus, ServingReport, TargetReport, VersionReport } from '../../usage/observability/report.ts';
import { runningWaivers, stageOf, stageWithWaivers } from '../../versions/lifecycle/stage.ts';
import { unreachableVersions } from '../../versions/lifecycle/unreachableVersions.ts';
import type { AdminContext, FleetOperations } from './operations.ts';
import type {
  AdapterJson,
  ConfigJson,
  FeatureStatusJson,
  GatewayIdentityJson,
  LedgerJson,
  StatusJson,
  TargetJson,
  TrafficJson,
  VersionJson,
  WorkerJson,
} from './statusJson.ts';

/** The body of `GET /api/status`. */
export async function statusJson({ source, operations, lastUse, traffic }: AdminContext): Promise<StatusJson> {
  const { configuration, live, clock, features } = operations;
  const isSampleDue = traffic.isDue;
  const reported = await live.report({ withMetrics: isSampleDue });
  if (isSampleDue) traffic.add(reported);
  const report = await lastUse.addTo(reported, source.current, clock.now());
  const blockersInFleet = await askFleet(live.fleet, source.current, report, clock.now());
  const ofFeatures: FeatureStatusJson = Object.assign({}, ...features.map((feature) => feature.status?.()));
  return {
    gateway: gatewayStatus(operations.identity?.()),
    config: configStatus(configuration.status),
    workers: workerList(report),
    usage: ledgerStatus(live.ledger, clock.now()),
    versions: versionList(source.current, report, clock.now(), blockersInFleet, configuration.status),
    traffic: trafficStatus(traffic.recent),
    ...ofFeatures,
  };
}

/** Null: it is embedded in another program. */
function gatewayStatus(gateway: AnsweringGateway | undefined): GatewayIdentityJson | null {
  if (gateway === undefined) return null;
  const { name, host, admin, file } = gateway;
  return { name, host, admin, file };
}

function configStatus({ fingerprint, generation, loadedAt, trigger, forced, lastFailure }: ConfigStatus): ConfigJson {
  return {
    fingerprint,
    generation,
    loaded_at: isoText(loadedAt),
    trigger,
    forced,
    last_failure: lastFailure ? { ...lastFailure, at: isoText(lastFailure.at) } : null,
  };
}

function workerList({ workers }: ServingReport): WorkerJson[] {
  return workers.map(({ pid, since, unresponsiveSince }) => ({
    pid,
    since: isoText(since),
    unresponsive_since: isoTextOrNull(unresponsiveSince),
  }));
}

// An incident at night is still shown the next morning.
const recentIncidentMs = 24 * 3_600_000;

/** Null: usage is not recorded. */
function ledgerStatus(
  ledger: Pick<LedgerState, 'problem' | 'lastIncident' | 'unwrittenRows'> | undefined,
  now: number,
): LedgerJson | null {
  if (!ledger) return null;
  const { problem, lastIncident, unwrittenRows } = ledger;
  const isRecent = lastIncident && Math.abs(now - lastIncident.at) < recentIncidentMs;
  const recentIncident = isRecent ? lastIncident.text : null;
  return { problem: problem ?? recentIncident, held_rows: unwrittenRows };
}

/** Null: the rates are not known yet. */
function trafficStatus(recent: RecentTraffic | undefined): TrafficJson | null {
  if (!recent) return null;
  return {
    span_ms: Math.round(recent.spanMs),
    versions: recent.versions.map(({ version, requestsPerSecond, errorShare, p50, p99 }) => ({
      version,
      requests_per_second: Number(requestsPerSecond.toPrecision(4)),
      error_share: errorShare ?? null,
      p50_ms: rounded(p50),
      p99_ms: rounded(p99),
    })),
  };
}

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Number(ms.toPrecision(3));
}

/** What other gateways need the backends of a version for. */
type BlockersInFleet = (
  version: string,
  targets: readonly { readonly url: string }[],
  isAdapted: boolean,
) => readonly StopBlocker[];

/** Undefined: the gateway is not in a fleet. While no version has ended, no backend is safe to stop, so the store is not asked. */
async function askFleet(
  fleet: FleetOperations | undefined,
  snapshot: Snapshot,
  { versions }: ServingReport,
  now: number,
): Promise<BlockersInFleet | undefined> {
  if (fleet === undefined) return undefined;
  const mayBeSafe =
    versions.some(({ name }) => !snapshot.versions.has(name)) ||
    snapshot.sortedVersions.some((version) => hasEnded(version, now));
  const areRead = !mayBeSafe || (await fleet.readGateways());
  return (version, targets, isAdapted) => fleet.stopBlockers(version, targets, isAdapted, areRead);
}

/** The versions of routes.yaml, and removed ones that still have requests in flight. */
function versionList(
  snapshot: Snapshot,
  report: ServingReport,
  now: number,
  blockersInFleet: BlockersInFleet | undefined,
  { formerTargets = new Map() }: ConfigStatus,
): VersionJson[] {
  const { sortedVersions, versions } = snapshot;
  const unreachable = new Map(unreachableVersions(snapshot, report, now).map((one) => [one.version, one]));
  // An unresponsive worker does not report its requests in flight.
  const isInFlightKnown = report.workers.every(({ unresponsiveSince }) => unresponsiveSince === undefined);
  const statusWithTargets = (
    name: string,
    version: Version | undefined,
    versionReport: VersionReport | undefined,
  ): VersionJson => {
    const targets = version?.targets ?? versionReport?.targets ?? [];
    const former = hasEnded(version, now) ? (formerTargets.get(name) ?? []) : [];
    const blockers = blockersOf(name, [...targets, ...former], snapshot, report, now, blockersInFleet);
    return {
      ...versionStatus(name, version, versionReport, now, {
        isInFlightKnown,
        isInFleet: blockersInFleet !== undefined,
        blockers,
      }),
      unreachable: unreachable.has(name),
      stopped_before_retired: unreachable.get(name)?.wasStoppedBeforeRetired ?? false,
      targets: versionReport?.targets.map(targetStatus) ?? [],
    };
  };
  const reports = new Map(report.versions.map((one) => [one.name, one]));
  const removed = report.versions.filter(({ name }) => !versions.has(name));
  return [
    ...sortedVersions.map((version) => statusWithTargets(version.name, version, reports.get(version.name))),
    ...removed.map((one) => statusWithTargets(one.name, undefined, one)),
  ];
}

/**
 * What still needs the backend of a version that has ended, or that an adapter serves: other versions, their adapters, their open
 * requests, and other gateways of the fleet. The version's own requests are not included.
 */
function blockersOf(
  name: string,
  targets: readonly { readonly url: string }[],
  snapshot: Snapshot,
  report: ServingReport,
  now: number,
  blockersInFleet: BlockersInFleet | undefined,
): StopBlocker[] {
  const addresses = new Set(addressesOf(targets));
  const usesBackend = (others: readonly { readonly url: string }[]): boolean =>
    addressesOf(others).some((address) => addresses.has(address));
  const version = snapshot.versions.get(name);
  const isAdapted = version !== undefined && isServedByAdapter(version, now);
  const users = snapshot.sortedVersions.filter(
    (one) => one.name !== name && usesBackend(targetsInUse(one, snapshot, now)),
  );
  const blockers = users.map((one): StopBlocker => {
    const user = isServedByAdapter(one, now) ? `the adapter of /${one.name}` : `/${one.name}`;
    return { text: `used by ${user}`, used: 'yes' };
  });
  const named = new Set([name, ...users.map((one) => one.name)]);
  for (const one of report.versions) {
    const open = one.inFlight + one.waiting;
    // Its targets are those that its requests go to, also after its end: of an adapted version, those of another version.
    if (named.has(one.name) || open === 0 || !usesBackend(one.targets)) continue;
    blockers.push({ text: `used by ${plural(open, 'open request')} of /${one.name}`, used: 'yes' });
  }
  if (targets.length === 0) blockers.push(unknownBackend);
  return [...blockers, ...(blockersInFleet?.(name, targets, isAdapted) ?? [])];
}

const unknownBackend: StopBlocker = {
  text: 'its backend is not known: routes.yaml names none, and it named none since the start of the gateway',
  used: 'not known',
};

/** The targets that requests of a version go to: for an adapted version, those of another version, even if that one has ended. */
function targetsInUse(version: Version, { versions }: Snapshot, now: number): Version['targets'] {
  if (stageWithWaivers(version, now) === 'retired') return [];
  return (version.adapter?.mode === 'serve' ? versions.get(version.adapter.from) : version)?.targets ?? [];
}

/** Whether the backends of a version get no new requests. */
function hasEnded(version: Version | undefined, now: number): boolean {
  return version === undefined || stageOf(version, now) === 'retired' || isServedByAdapter(version, now);
}

function isServedByAdapter(version: Version, now: number): boolean {
  return version.adapter?.mode === 'serve' && stageWithWaivers(version, now) !== 'retired';
}

function versionStatus(
  name: string,
  version: Version | undefined,
  report: VersionReport | undefined,
  now: number,
  stopFacts: {
    readonly isInFlightKnown: boolean;
    readonly isInFleet: boolean;
    readonly blockers: readonly StopBlocker[];
  },
): Omit<VersionJson, 'unreachable' | 'stopped_before_retired' | 'targets'> {
  const stage = version ? stageOf(version, now) : 'removed';
  const inFlight = report?.inFlight ?? 0;
  const waiting = report?.waiting ?? 0;
  const waivers = version ? runningWaivers(version, now) : [];
  const isEnded = stage === 'removed' || (stage === 'retired' && waivers.length === 0);
  const isAdapted = version !== undefined && isServedByAdapter(version, now);
  const blockers = isEnded || isAdapted ? stopFacts.blockers : [];
  const open = isAdapted ? requestsToOwnBackend(report) : inFlight + waiting;
  const { isInFlightKnown: isOpenKnown } = stopFacts;
  const safe = stopEvidence({ hasEnded: isEnded || isAdapted, open, isOpenKnown, blockers });
  return {
    version: name,
    stage,
    deprecation: isoTextOrNull(version?.deprecation),
    sunset: isoTextOrNull(version?.sunset),
    in_flight: inFlight,
    waiting,
    last_served: isoTextOrNull(report?.lastInFlight),
    adapter: adapterStatus(version, report),
    waivers: waivers.map(({ client, until, reason }) => ({ client, until: isoText(until), reason })),
    safe_to_stop: safe === 'yes',
    // False: its backends may be safe to stop.
    known: safe !== 'not known',
    ...((blockers.length > 0 || (stopFacts.isInFleet && isEnded)) && { blocked_by: blockers.map(({ text }) => text) }),
  };
}

/**
 * The number of requests to the own backends of a version that an adapter serves: they began before, or wait for them. Its own targets
 * are reported as `removed` while they have open requests; the other targets belong to the version whose backend now answers.
 */
function requestsToOwnBackend(report: VersionReport | undefined): number {
  const own = report?.targets.filter(({ health }) => health === 'removed') ?? [];
  return own.reduce((sum, target) => sum + target.inFlight, report?.waiting ?? 0);
}

/** Null: the version has no adapter, or the adapter is off. */
function adapterStatus(version: Version | undefined, report: VersionReport | undefined): AdapterJson | null {
  const { adapter } = version ?? {};
  if (adapter === undefined || adapter.mode === 'off') return null;
  const failures = (report?.adapterFailures ?? []).map((one) => ({ ...one, at: isoText(one.at) }));
  return { from: adapter.from, mode: adapter.mode, failures, not_adapted: report?.notAdapted ?? 0 };
}

function targetStatus(target: TargetReport): TargetJson {
  return {
    url: target.url,
    health: target.health,
    failing_since: isoTextOrNull(target.failingSince),
    ejected_until: isoTextOrNull(target.ejectedUntil),
    reachable: target.reachable ?? null,
    last_error: target.lastError?.message ?? null,
    last_error_at: isoTextOrNull(target.lastError?.at),
    in_flight: target.inFlight,
    connections: target.connections,
  };
}
