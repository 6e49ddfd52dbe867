import type { FleetFacts, Remark } from '../retirement/facts.ts';
import { inLargestUnit, plural, printableExcerpt } from '../shared/text.ts';
import { hourMs } from '../usage/ledger/spans.ts';
import { type GatewayRow, type GatewayRows, isSilent, leftOrGoneAt, type StoredVersionLoad } from './membership.ts';

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

/** The clock of a gateway may differ from that of the store by this much, ms. */
export const maxSkewMs = 5_000;
// For the verdict, the difference may be up to an hour, because the ledger counts by hours, but at most this share of the quiet
// period.
const maxSkewShare = 0.1;

/** All gateways of the fleet, as they were at the last heartbeat. */
export class FleetView {
  readonly #silentAfter: number;
  readonly #monotonic: () => number;
  #report: FleetRows = { now: 0, rows: [], unheardAddresses: [] };
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

  /** The time of the database; 0 before its first answer. */
  get now(): number {
    const { now } = this.#report;
    // While the store does not answer, no gateway can be heard, so the states are those of the last answer.
    return this.#askedAt === undefined || this.problem !== undefined
      ? now
      : now + Math.round(this.#monotonic() - this.#askedAt);
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

/**
 * Why a version is not safe to stop: each gateway that serves it, has requests in flight or was not heard. Empty if it is safe.
 * `version`: the path segment, `v1`.
 */
export function reasonsNotToStop(view: Pick<FleetView, 'problem' | 'instances'>, version: string): string[] {
  if (view.problem !== undefined) return [`the shared store does not answer (${printableExcerpt(view.problem, 200)})`];
  const current = view.instances.filter(({ state }) => state === 'heard' || state === 'silent');
  const blockers = current.flatMap((one) => {
    const problem = blockerOf(one, version);
    return problem === undefined ? [] : [problem];
  });
  if (blockers.length > 0) return blockers;
  // The gateways wrote their rows at different times. So each gateway must be heard after the last gateway became idle.
  const rows = current.flatMap(({ row }) => row ?? []);
  const idleSince = Math.max(...rows.map((row) => idleSinceOf(row, version)));
  const awaitedNames = rows.filter(({ heard }) => heard <= idleSince).map(({ name }) => printableExcerpt(name));
  if (rows.length === 0) return ['no gateway was heard yet'];
  return awaitedNames.length === 0 ? [] : [`waiting for the next heartbeat of ${awaitedNames.join(', ')}`];
}

function blockerOf(instance: FleetInstance, version: string): string | undefined {
  const { state, row } = instance;
  const name = printableExcerpt(instance.name);
  if (row === undefined) return `a gateway at ${name} was never heard`;
  if (state === 'silent') return `${name} not heard for ${inLargestUnit(instance.heardAgo ?? 0)}`;
  // A gateway reports every version that it has had since its start.
  const load = row.versions[version];
  if (load === undefined) return undefined;
  if (load.stage !== 'retired' && load.stage !== 'removed') return `${name} still serves it`;
  const openRequests = load.in_flight + load.waiting;
  if (openRequests > 0) return `${name} has ${plural(openRequests, 'request')} in flight`;
  return load.idle_since === null ? `${name} has a worker that does not answer` : undefined;
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
  { problem, instances, now }: Pick<FleetView, 'problem' | 'instances' | 'now'>,
  silentAfter: number,
  quiet: number,
): Remark[] {
  if (problem !== undefined) {
    const text = `The shared ledger cannot be reached: ${printableExcerpt(problem, 200)}.`;
    return [{ code: 'store_unreachable', text }];
  }
  return instances.flatMap((one) => {
    const gap = gapOf(one, now, one.row?.silentAfter ?? silentAfter, quiet);
    return gap === undefined ? [] : [gap];
  });
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
  if (state === 'heard' && Math.abs(skewMs) > Math.max(maxSkewMs, Math.min(hourMs, quiet * maxSkewShare))) {
    const difference = `${inLargestUnit(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
    return {
      code: 'clock_differs',
      text: `The clock of gateway ${name} is ${difference}: its calls have the wrong time.`,
    };
  }
  if (spooled === 0) return undefined;
  const rowsInWords = plural(spooled, 'row');
  if (state === 'heard') {
    // `spooledSince` is a time by the clock of the gateway, and `now` a time by the clock of the database.
    const age = spooledSince === undefined ? 0 : now - (spooledSince - skewMs);
    // The age is negative if the clock of the gateway was set back after the row began to wait. The real age is then not known, and
    // `silentAfter` is reported instead.
    if (Math.abs(age) <= silentAfter) return undefined;
    const text = `Gateway ${name} has ${rowsInWords} of counts that are not in this ledger yet; the oldest is from ${inLargestUnit(Math.max(age, silentAfter))} ago.`;
    return { code: 'counts_waiting', text };
  }
  if (heardAgo >= quiet) return undefined;
  const text = `Gateway ${name} is gone, last heard ${inLargestUnit(heardAgo)} ago, and ${rowsInWords} of its counts never reached this ledger.`;
  return { code: 'counts_lost', text };
}

/** The facts about the fleet for the verdict on a version, except `remarksOnUnsent`. `quiet` in ms. */
export function fleetFacts(
  view: FleetView,
  version: string,
  self: string | undefined,
  silentAfter: number,
  quiet: number,
): Omit<FleetFacts, 'remarksOnUnsent'> {
  const { instances } = view;
  const heard = instances.filter(({ state }) => state === 'heard').length;
  const load = loadElsewhere(instances, version, self);
  const notes = instances.flatMap(({ name, state, row, heardAgo = 0 }): Remark[] => {
    if (state !== 'gone' || row === undefined || row.spooled > 0 || heardAgo >= quiet) return [];
    const why = row.goneReason === undefined ? '' : ` (${printableExcerpt(row.goneReason, 200)})`;
    const text = `Gateway ${printableExcerpt(name)} is gone${why}, last heard ${inLargestUnit(heardAgo)} ago: up to 5 s of its counts may be missing.`;
    return [{ code: 'gateway_gone', text }];
  });
  return { heard, inFlight: load.in_flight, waiting: load.waiting, gaps: ledgerGaps(view, silentAfter, quiet), notes };
}
