import type { FleetSettings } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { inLargestUnit, plural, printableExcerpt } from '../../shared/text.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { StopBlocker } from '../../usage/evidence/stopEvidence.ts';
import { hourMs } from '../../usage/ledger/spans.ts';
import type { FleetFacts } from '../../versions/retirement/facts.ts';
import {
  type GatewayRow,
  type GatewayRows,
  isSilent,
  leftOrGoneAt,
  type MistimedRun,
  maxSkewMs,
  type StoredVersionLoad,
} from './membership.ts';

/**
 * `heard`: within `fleet.silent_after`. `left`: it has stopped, and all its counts are in the store. `gone`: it does not exist
 * any more, or an operator has marked it as gone. `silent`: none of these; it may still serve clients.
 */
export type InstanceState = 'heard' | 'silent' | 'left' | 'gone';

/** A gateway of the fleet. */
export interface FleetInstance {
  readonly name: string;
  readonly state: InstanceState;
  /** ms since it was last heard; undefined: never. */
  readonly heardAgo: number | undefined;
  /** Undefined for an address in `fleet.members` from which no gateway was heard. */
  readonly row: GatewayRow | undefined;
  /** Heard, and its configuration is not the most common one. */
  readonly hasOtherConfig: boolean;
}

/** What the fleet thread reports after every heartbeat. */
export interface FleetRows extends GatewayRows {
  /** Addresses in `fleet.members` from which no gateway was heard. */
  readonly unheardAddresses: readonly string[];
}

/** A clock in ms that is never set, the same in all threads. */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

// For the verdict, the difference may be up to an hour, because the ledger counts by hours, but at most this share of the quiet
// period.
const maxSkewShare = 0.1;

/** All gateways of the fleet, as they were at the last heartbeat. */
export class FleetView {
  readonly #silentAfter: number;
  readonly #monotonic: () => number;
  #report: FleetRows = { now: 0, rows: [], mistimedRuns: [], unheardAddresses: [] };
  #askedAt: number | undefined;
  #storeProblem: string | undefined;

  constructor(silentAfter: number, monotonic: () => number = monotonicNow) {
    this.#silentAfter = silentAfter;
    this.#monotonic = monotonic;
  }

  /** `askedAt`: when the store was asked. A process that was suspended reads a report long after it was sent. */
  update(report: FleetRows, askedAt: number = this.#monotonic()): void {
    const rows = [...report.rows.map((row) => this.#currentRowOf(row)), ...this.#runningWithoutRow(report)];
    this.#report = { ...report, rows };
    this.#askedAt = askedAt;
    this.#storeProblem = undefined;
  }

  /**
   * Returns the stored row. But if it says that the gateway ended, and this gateway was heard later, the store was set back, for
   * example restored from a backup. Then returns the known row, because the gateway may serve clients without the store.
   */
  #currentRowOf(row: GatewayRow): GatewayRow {
    const knownRow = this.#report.rows.find(({ instance }) => instance === row.instance);
    const endedAt = leftOrGoneAt(row);
    return knownRow !== undefined && mayRun(knownRow) && endedAt !== undefined && endedAt < knownRow.heard
      ? knownRow
      : row;
  }

  /** Gateways that run, and whose rows the store has lost. Maintenance deletes only rows of gateways that have left or are gone. */
  #runningWithoutRow({ rows }: FleetRows): GatewayRow[] {
    const stored = new Set(rows.map(({ instance }) => instance));
    return this.#report.rows.filter((row) => mayRun(row) && !stored.has(row.instance));
  }

  /** Records that the store did not answer. The known rows of the gateways are kept. */
  fail(problem: string): void {
    this.#storeProblem = problem;
  }

  /** Why the states of the other gateways are not known; undefined: they are known. */
  get problem(): string | undefined {
    if (this.#storeProblem !== undefined) return this.#storeProblem;
    if (this.#askedAt === undefined) return 'no answer yet';
    const age = this.#monotonic() - this.#askedAt;
    return age > this.#silentAfter ? `no answer for ${inLargestUnit(age)}` : undefined;
  }

  /** Whether the rows are those of a read that began at `instant` or later, by `monotonicNow`. */
  isReadSince(instant: number): boolean {
    return this.#askedAt !== undefined && this.#askedAt >= instant;
  }

  /** The time of the database; 0 before its first answer. */
  get now(): number {
    const { now } = this.#report;
    // While the store does not answer, no gateway can be heard, so the states are those of the last answer.
    return this.#askedAt === undefined || this.problem !== undefined
      ? now
      : now + Math.round(this.#monotonic() - this.#askedAt);
  }

  /** The runs that have ended, and whose clock was wrong. */
  get mistimedRuns(): readonly MistimedRun[] {
    return this.#report.mistimedRuns ?? [];
  }

  get instances(): readonly FleetInstance[] {
    return instancesOf(this.#report, this.now, this.#silentAfter);
  }
}

/** `now`: the time of the database, epoch ms. `silentAfter`: for rows without a value of their own, ms. */
export function instancesOf(
  { rows, unheardAddresses = [] }: Pick<FleetRows, 'rows'> & Partial<FleetRows>,
  now: number,
  silentAfter: number,
): FleetInstance[] {
  const withStates = rows.map((row) => ({ row, state: stateOf(row, now, silentAfter) }));
  const commonConfig = mostCommonConfig(withStates.filter(({ state }) => state === 'heard').map(({ row }) => row));
  return [
    ...withStates.map(({ row, state }) => ({
      name: row.name,
      state,
      heardAgo: Math.max(0, now - row.heard),
      row,
      hasOtherConfig: state === 'heard' && row.config !== commonConfig,
    })),
    ...unheardAddresses.map((name) => ({
      name,
      state: 'silent' as const,
      heardAgo: undefined,
      row: undefined,
      hasOtherConfig: false,
    })),
  ];
}

function mayRun(row: GatewayRow): boolean {
  return leftOrGoneAt(row) === undefined;
}

function stateOf(row: GatewayRow, now: number, silentAfter: number): InstanceState {
  if (row.leftAt !== undefined) return 'left';
  if (row.goneAt !== undefined) return 'gone';
  return isSilent(row, now, silentAfter) ? 'silent' : 'heard';
}

/** The most common configuration. If several are equally common, the one that a gateway has applied last. */
function mostCommonConfig(heard: readonly GatewayRow[]): string | undefined {
  const groups = Map.groupBy(heard, ({ config }) => config);
  const latestSince = (rows: readonly GatewayRow[]): number => Math.max(...rows.map(({ configSince }) => configSince));
  const [firstGroup] = [...groups].sort(([, a], [, b]) => b.length - a.length || latestSince(b) - latestSince(a));
  return firstGroup?.[0];
}

/** The version whose backends are to be stopped. */
export interface StoppedVersion {
  /** The path segment, `v1`. */
  readonly version: string;
  /** Its targets in this gateway, as `host:port`. Other gateways may have others for the same version. */
  readonly addresses: readonly string[];
  /** True if this gateway serves it through an adapter, and so without its own backends. */
  readonly isAdapted: boolean;
}

/**
 * Why the backends of a version are not safe to stop: each gateway that serves the version, has requests in flight, was not heard, or
 * uses one of the backends for another version. Empty if they are safe to stop.
 */
export function stopBlockers(view: Pick<FleetView, 'problem' | 'instances'>, stopped: StoppedVersion): StopBlocker[] {
  if (view.problem !== undefined)
    return [mayUse(`the shared store does not answer (${printableExcerpt(view.problem, 200)})`)];
  const { version, isAdapted } = stopped;
  const current = view.instances.filter(({ state }) => state === 'heard' || state === 'silent');
  const known = current.flatMap(({ row }) => row?.versions[version] ?? []);
  const ownAddresses = known.filter(({ adapted }) => adapted !== true).flatMap(({ targets = [] }) => targets);
  const addresses = new Set([...stopped.addresses, ...ownAddresses]);
  const blockers = current.flatMap((one) => {
    const blocker = (isAdapted ? unheardBlocker(one) : blockerOf(one, version)) ?? backendUse(one, version, addresses);
    return blocker === undefined ? [] : [blocker];
  });
  // Gateways report their requests to the backends of other versions, but not those to its former backends.
  if (isAdapted) return [...blockers, mayUse('other gateways may have requests in flight from before the adapter')];
  if (blockers.length > 0) return blockers;
  // The gateways wrote their rows at different times. So each gateway must be heard after the last gateway became idle.
  const rows = current.flatMap(({ row }) => row ?? []);
  const idleSince = Math.max(...rows.map((row) => idleSinceOf(row, version)));
  const awaitedNames = rows.filter(({ heard }) => heard <= idleSince).map(({ name }) => printableExcerpt(name));
  if (rows.length === 0) return [mayUse('no gateway was heard yet')];
  return awaitedNames.length === 0 ? [] : [mayUse(`waiting for the next heartbeat of ${awaitedNames.join(', ')}`)];
}

function uses(text: string): StopBlocker {
  return { text, used: 'yes' };
}

function mayUse(text: string): StopBlocker {
  return { text, used: 'not known' };
}

/** The store did not tell in time which gateways run. */
export const unreadBlocker = mayUse('the shared store did not tell in time which gateways run now');

function unheardBlocker({ state, row, heardAgo = 0, ...instance }: FleetInstance): StopBlocker | undefined {
  const name = printableExcerpt(instance.name);
  if (row === undefined) return mayUse(`a gateway at ${name} was never heard`);
  return state === 'silent' ? mayUse(`${name} not heard for ${inLargestUnit(heardAgo)}`) : undefined;
}

/** For which version, under whatever name, a gateway uses one of these backends: it serves it, or it still has requests to it. */
function backendUse(
  { name, row }: FleetInstance,
  stopped: string,
  addresses: ReadonlySet<string>,
): StopBlocker | undefined {
  const shownName = printableExcerpt(name);
  for (const [version, load] of Object.entries(row?.versions ?? {})) {
    const { targets, incomplete = false } = load;
    const open = load.in_flight + load.waiting;
    if (!isServed(load) && open === 0 && !incomplete) continue;
    const shownVersion = `/${printableExcerpt(version)}`;
    if (targets === undefined) {
      if (version === stopped) continue;
      return mayUse(`${shownName} has an earlier release, which does not report the backends of ${shownVersion}`);
    }
    const address = targets.find((one) => addresses.has(one));
    if (address === undefined) continue;
    const backend = printableExcerpt(address);
    if (isServed(load)) return uses(`${shownName} uses ${backend} for ${shownVersion}`);
    if (open > 0) return uses(`${shownName} has ${plural(open, 'request')} of ${shownVersion} to ${backend}`);
    return mayUse(
      `${shownName} has a worker that does not answer, and may have requests of ${shownVersion} to ${backend}`,
    );
  }
  return undefined;
}

/** Whether a gateway sends new requests of a version to a backend. */
export function isServed({ stage }: StoredVersionLoad): boolean {
  return stage !== 'retired' && stage !== 'removed';
}

function blockerOf(instance: FleetInstance, version: string): StopBlocker | undefined {
  const { row } = instance;
  const name = printableExcerpt(instance.name);
  const unheard = unheardBlocker(instance);
  if (unheard !== undefined) return unheard;
  // A gateway reports every version that it has had since its start.
  const load = row?.versions[version];
  if (load === undefined) return undefined;
  if (isServed(load)) return uses(`${name} still serves it`);
  const openRequests = load.in_flight + load.waiting;
  if (openRequests > 0) return uses(`${name} has ${plural(openRequests, 'request')} in flight`);
  return load.idle_since === null ? mayUse(`${name} has a worker that does not answer`) : undefined;
}

function idleSinceOf({ versions, started }: GatewayRow, version: string): number {
  return versions[version]?.idle_since ?? started;
}

/** The requests of a version in the other gateways. `self`: the id of this gateway in the store. */
export function loadElsewhere(
  instances: readonly FleetInstance[],
  version: string,
  self: string | undefined,
): Pick<StoredVersionLoad, 'in_flight' | 'waiting'> {
  const loads = instances
    .filter(({ state, row }) => state === 'heard' && row?.instance !== self)
    .flatMap(({ row }) => row?.versions[version] ?? []);
  const sum = (key: 'in_flight' | 'waiting'): number => loads.reduce((total, load) => total + load[key], 0);
  return { in_flight: sum('in_flight'), waiting: sum('waiting') };
}

/** Why calls of the quiet period may be missing in the shared ledger; empty if no call can be missing. `quiet` in ms. */
export function ledgerGaps(
  { problem, instances, now, mistimedRuns = [] }: ViewOfGaps,
  silentAfter: number,
  quiet: number,
): Remark[] {
  if (problem !== undefined) {
    const text = `The shared ledger cannot be reached: ${printableExcerpt(problem, 200)}.`;
    return [{ code: 'store_unreachable', text }];
  }
  const gaps = instances.flatMap((one) => gapOf(one, now, one.row?.silentAfter ?? silentAfter, quiet) ?? []);
  const ended = mistimedRuns
    .filter((one) => now - one.ended < quiet && isWrongClock(one.skewMs, quiet))
    .map(({ name, skewMs, ended }): Remark => {
      const text = `The clock of gateway ${printableExcerpt(name)} was ${differenceInWords(skewMs)} in a run that ended ${inLargestUnit(Math.max(0, now - ended))} ago: its calls have the wrong time.`;
      return { code: 'clock_differed', text, since: ended };
    });
  return [...gaps, ...ended];
}

type ViewOfGaps = Pick<FleetView, 'problem' | 'instances' | 'now'> & Partial<Pick<FleetView, 'mistimedRuns'>>;

/** Whether the calls of a gateway with such a clock may be outside the quiet period by mistake. */
function isWrongClock(skewMs: number, quiet: number): boolean {
  return Math.abs(skewMs) > Math.max(maxSkewMs, Math.min(hourMs, quiet * maxSkewShare));
}

function differenceInWords(skewMs: number): string {
  return `${inLargestUnit(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
}

function gapOf(instance: FleetInstance, now: number, silentAfter: number, quiet: number): Remark | undefined {
  const { state, row, heardAgo = 0 } = instance;
  const name = printableExcerpt(instance.name);
  const missingCalls = 'its calls are missing from this ledger';
  if (row === undefined) {
    const text = `A gateway at ${name} was never heard, although fleet.members lists it; ${missingCalls}.`;
    return { code: 'gateway_never_heard', text };
  }
  if (state === 'silent') {
    return {
      code: 'gateway_silent',
      text: `Gateway ${name} has not been heard for ${inLargestUnit(heardAgo)}; ${missingCalls}.`,
    };
  }
  // `spooled`: the number of rows of counts that this ledger does not have yet.
  const { spooled, spooledSince, skewMs } = row;
  if (state === 'gone') return goneGap(row, now, quiet);
  if (state !== 'heard') return undefined;
  if (isWrongClock(skewMs, quiet)) {
    const text = `The clock of gateway ${name} is ${differenceInWords(skewMs)}: its calls have the wrong time.`;
    return { code: 'clock_differs', text };
  }
  if (spooled === 0) return undefined;
  // `spooledSince` is a time by the clock of the gateway, and `now` a time by the clock of the database.
  const age = spooledSince === undefined ? 0 : now - (spooledSince - skewMs);
  // The age is negative if the clock of the gateway was set back after the row began to wait. The real age is then not known, and
  // `silentAfter` is reported instead.
  if (Math.abs(age) <= silentAfter) return undefined;
  const text = `Gateway ${name} has ${plural(spooled, 'row')} of counts that are not in this ledger yet; the oldest is from ${inLargestUnit(Math.max(age, silentAfter))} ago.`;
  return { code: 'counts_waiting', text };
}

/**
 * The losses of the ledger have the same, but only until the gateway is heard again. It may be heard between the reading of the rows and
 * that of the ledger, and nobody has waited for its counts.
 */
function goneGap({ name, endedAt, goneAt }: GatewayRow, now: number, quiet: number): Remark | undefined {
  const ended = endedAt ?? goneAt ?? now;
  if (now - ended >= quiet) return undefined;
  const text = `Gateway ${printableExcerpt(name)} is gone: its calls until ${rfc3339(ended)} are not known.`;
  return { code: 'gateway_gone', text, until: ended + quiet };
}

/** What is not known of a gateway that is gone: its calls after its last report, until it ended. */
function goneNote({ name, row }: FleetInstance, now: number, quiet: number): Remark[] {
  if (row === undefined) return [];
  const { goneAt = now, heard, goneReason, spooled } = row;
  const ended = row.endedAt ?? goneAt;
  if (now - ended >= quiet) return [];
  const why = goneReason === undefined ? '' : ` (${printableExcerpt(goneReason, 200)})`;
  const end =
    row.endedAt === undefined ? `was marked as gone at ${rfc3339(goneAt)}` : `ended at ${rfc3339(ended)}, as reported`;
  const unsent = spooled === 0 ? '' : `, and ${plural(spooled, 'row')} of its counts never reached this ledger`;
  const period = inLargestUnit(Math.max(1_000, ended - heard));
  const text = `Gateway ${printableExcerpt(name)} is gone${why}. It was last heard at ${rfc3339(heard)} and ${end}: its calls of this time (${period}) are not known${unsent}.`;
  const remedy =
    row.endedAt === undefined
      ? 'If you know when it ended, say so: version-gateway fleet forget NAME --ended-at TIME.'
      : undefined;
  return [{ code: 'gateway_gone', text, since: heard, until: ended + quiet, remedy }];
}

/** The facts about the fleet for the verdict on a version, except `remarksOnUnsent`. `quiet` in ms. */
export function fleetFacts(
  view: ViewOfGaps,
  version: string,
  self: string | undefined,
  silentAfter: number,
  quiet: number,
): Omit<FleetFacts, 'remarksOnUnsent'> {
  const { instances } = view;
  const heard = instances.filter(({ state }) => state === 'heard').length;
  const load = loadElsewhere(instances, version, self);
  const notes = instances
    .filter(({ state }) => state === 'gone')
    .flatMap((instance) => goneNote(instance, view.now, quiet));
  // Without the store, the states of the others are old.
  const hung = view.problem === undefined ? hungWorkers(instances, self) : [];
  const gaps = [...ledgerGaps(view, silentAfter, quiet), ...hung];
  return { heard, inFlight: load.in_flight, waiting: load.waiting, gaps, notes };
}

/** Why calls that the workers of other gateways have counted may be missing. */
function hungWorkers(instances: readonly FleetInstance[], self: string | undefined): Remark[] {
  return instances
    .filter(({ state, row }) => state === 'heard' && row !== undefined && row.instance !== self)
    .filter(({ row }) => Object.values(row?.versions ?? {}).some(({ incomplete }) => incomplete === true))
    .map(({ name }): Remark => {
      const text = `Gateway ${printableExcerpt(name)} has a worker that does not answer: calls that the worker has counted may be missing in this ledger.`;
      return { code: 'worker_unresponsive', text };
    });
}

/** With `fleet.start: serve`, calls of gateways that nobody knows may be missing. Parameters as of `unregisteredReason`. */
export function unregisteredGaps(settings: StartSettings, membersProblem: string | undefined): Remark[] {
  const reason = unregisteredReason(settings, membersProblem);
  if (reason === undefined) return [];
  const text = `With fleet.start: serve, a gateway may serve clients before the shared store knows it, and ${reason}, so it is not known which gateways exist.`;
  return [{ code: 'gateways_unknown', text, remedy: 'Set fleet.members, or fleet.start: wait.' }];
}

/** With `fleet.start: serve`, gateways that nobody knows may use any backend. Parameters as of `unregisteredReason`. */
export function unregisteredBlockers(settings: StartSettings, membersProblem: string | undefined): StopBlocker[] {
  const reason = unregisteredReason(settings, membersProblem);
  return reason === undefined ? [] : [mayUse(`gateways that are not known (fleet.start is serve, and ${reason})`)];
}

type StartSettings = Pick<FleetSettings, 'start' | 'members'>;

/**
 * With `fleet.start: serve`, a gateway may serve clients before the store knows it. Only `fleet.members` tells that such a gateway
 * exists. `membersProblem`: why it does not. Undefined: it is known which gateways exist.
 */
function unregisteredReason({ start, members }: StartSettings, membersProblem: string | undefined): string | undefined {
  if (start !== 'serve' || (members !== undefined && membersProblem === undefined)) return undefined;
  const why = members === undefined ? 'fleet.members is not set' : `fleet.members cannot be used: ${membersProblem}`;
  return printableExcerpt(why, 200);
}
